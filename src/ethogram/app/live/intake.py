"""Intake of a watch: events checked, ordered and measured, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ...config import Settings
from ...engine.contagion import Notification
from ...engine.live_detections import Live
from ...errors import BadEvents, Conflict, Fault
from ...ingest import Limits
from ...ingest.collector import future_message, latest_time
from ...ingest.errors import BadLine, shown
from ...ingest.event_parser import Rules, content_of, event_of, fields_of
from ...ingest.messages import event_line
from ...ingest.ordering import Buffer, flush, release
from ...language.program import Program
from ...models import Event, content_hash, default_id, micros, moment
from ...patterns.catalogue import known_ranges
from ...signals import Measurer, Options, plan
from ..readings import needed, only_scorers

if TYPE_CHECKING:
    from ..evaluation.live import LiveScores

REMEMBERED = 2_000
"""Newest ids of a source by which repeated events are recognized."""
MOST_UNUSED = 1_000
"""Pairs of signal and scorer whose unused readings are counted."""
CHECK_EVERY = 1_024
"""Events after which histories are counted and the clock is read again; new subjects count at once."""
LONG_AGO, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

Known = Event | tuple[str, str]
"""An event, or the subject and content hash of one from before a restart."""


class Arrivals:
    """One source: its numbering, its newest ids, and the events that wait for earlier ones."""

    __slots__ = ("buffer", "known", "last", "next_seq", "old")

    def __init__(self) -> None:
        self.next_seq = 0
        # Two halves: when the newer is full, the older is dropped whole, which costs nothing per event.
        self.known: dict[str, Known] = {}
        self.old: dict[str, Known] = {}
        self.buffer = Buffer()
        self.last: tuple[datetime, int, str] | None = None

    def recall(self, name: str) -> Known | None:
        """What is known of an id, if it is among the newest."""
        return self.known.get(name) or self.old.get(name)

    def remember(self, event: Event) -> None:
        """Add an event to the known ones."""
        if len(self.known) >= REMEMBERED:
            self.old, self.known = self.known, {}
        self.known[event.id] = event
        if event.seq >= self.next_seq:
            self.next_seq = event.seq + 1

    def subject_of(self, name: str) -> str | None:
        """The subject of a known event."""
        known = self.recall(name)
        return known.subject if isinstance(known, Event) else known and known[0]

    def release(self, newest: Event | datetime, lateness: timedelta) -> tuple[Event, ...]:
        """The events that need not wait any longer, in order."""
        self.buffer, events, _ = release(self.buffer, newest, lateness)
        return events

    def flush(self) -> tuple[Event, ...]:
        """All events that wait."""
        self.buffer, events, _ = flush(self.buffer)
        return events

    def save(self) -> dict[str, Any]:
        """The state as plain data."""
        known = [
            (name, item.subject, hash_of(item)) if isinstance(item, Event) else (name, *item)
            for name, item in (self.old | self.known).items()
        ]
        return {
            "next_seq": self.next_seq,
            "last": None if self.last is None else [micros(self.last[0]), *self.last[1:]],
            "known": [list(row) for row in known[-REMEMBERED:]],
            "newest": None if self.buffer.newest is None else micros(self.buffer.newest),
            "waiting": [event_to_json(event) for event in self.buffer.waiting],
        }

    @classmethod
    def load(cls, saved: Mapping[str, Any]) -> Arrivals:
        arrivals = cls()
        arrivals.next_seq = saved["next_seq"]
        arrivals.old = {name: (subject, content) for name, subject, content in saved["known"]}
        if saved["last"] is not None:
            us, seq, name = saved["last"]
            arrivals.last = (moment(us), seq, name)
        newest = None if saved["newest"] is None else moment(saved["newest"])
        arrivals.buffer = Buffer(tuple(map(event_from_json, saved["waiting"])), newest)
        return arrivals


def hash_of(event: Event) -> str:
    """A hash of an event's content, and of whether it has a time."""
    return f"{content_hash(event.to_dict())[:32]}{'' if event.timed else '-'}"


_TIMES = ("at", "received_at")


def event_to_json(event: Event) -> dict[str, Any]:
    """The whole event as plain data, with what an event line omits."""
    out = {name: getattr(event, name) for name in Event.__dataclass_fields__}
    for name in ("attributes", "readings", "scorers", "widths"):
        out[name] = dict(out[name])
    return out | {name: None if out[name] is None else micros(out[name]) for name in _TIMES}


def event_from_json(data: Mapping[str, Any]) -> Event:
    """The reverse of `event_to_json`."""
    times = {name: None if data[name] is None else moment(data[name]) for name in _TIMES}
    return Event(**{**data, **times})


class Intake:
    """Everything a watch remembers of its events. Not thread-safe: the watch holds the lock."""

    def __init__(
        self,
        programs: Sequence[Program],
        settings: Settings,
        kinds: Mapping[str, str],
        clock: Callable[[], datetime],
        cap: int,
        scores: LiveScores | None = None,
    ) -> None:
        self.live = Live(programs, cap)
        self.scores = scores
        self.arrivals: dict[str, Arrivals] = {}
        self.newest: datetime | None = None
        self.late = self.repeated = self.refused = self.evicted = 0
        self.unused: Counter[tuple[str, str]] = Counter()
        self.order: dict[tuple[str, str], None] = {}
        """Subjects with their sources, those longest without an event first."""
        names = needed(programs)
        self.measurer = Measurer(names, Options.of(settings)) if plan(names) else None
        if self.measurer is not None:
            self.measurer.most_threads = settings.max_histories
        self._settings, self._clock = settings, clock
        self._rules = Rules(Limits(**settings.limits), kinds, ranges=known_ranges())
        self._latest = LONG_AGO
        """The latest time an event may have, as of the last reading of the clock."""
        self._lateness = timedelta(microseconds=settings.lateness)
        self._most, self._since = settings.max_histories, 0
        self._changes = self.measurer is not None or bool(settings.scorers) or scores is not None

    def observe(self, value: Event | Mapping[str, Any]) -> list[Notification]:
        """What follows from an event, or from the one that a dict describes.

        Raises BadEvents where it is dated too far ahead of the clock, and Conflict where its id came with
        other content; then only the count of refused events has changed.
        """
        # In one piece: this and what it calls is the whole cost of most events.
        event = value if isinstance(value, Event) else self._event(value)
        name, own, at = event.source, event.id, event.at
        if at > self._latest:
            self._check_future(at)
        arrivals = self.arrivals.get(name)
        if arrivals is None:
            arrivals = self.arrivals[name] = Arrivals()
        if own in arrivals.known or own in arrivals.old:
            self._check_repeat(arrivals, event)
            self.repeated += 1
            return []
        order, us = (at, event.seq, own), micros(at)
        # An event is late if it lies before an observed event, or before something already reported.
        source = self.live.sources.get(name)
        if (arrivals.last is not None and order < arrivals.last) or (
            source is not None and source.concluded is not None and us <= source.concluded
        ):
            self.late += 1
            return []
        arrivals.remember(event)
        if self._lateness:
            return self._take_all(arrivals, arrivals.release(event, self._lateness))
        arrivals.last = order
        return self._take(arrivals, event, us)

    def _event(self, line: Mapping[str, Any]) -> Event:
        """The event that a dict describes; by default it is of now and has the next number."""
        try:
            fields = fields_of(event_line(line), self._rules)
        except BadLine as error:
            self.refused += 1
            raise BadEvents([Fault("event", 0, 0, str(error))]) from None
        source = fields.setdefault("source", self._settings.source)
        arrivals = self.arrivals.get(source)
        seq = fields.setdefault("seq", arrivals.next_seq if arrivals else 0)
        if "at" not in fields:
            # An event that is repeated without a time keeps its first one.
            known = arrivals.recall(fields["id"]) if arrivals and "id" in fields else None
            fields["at"] = known.at if isinstance(known, Event) else self._read_clock()
        if "id" not in fields:
            fields["id"] = default_id(source, seq, content_of(fields))
        return event_of(fields)

    def _read_clock(self) -> datetime:
        now = self._clock()
        self._latest = latest_time(now, self._settings.max_future) or LAST
        return now

    def _check_future(self, at: datetime) -> None:
        self._read_clock()
        if at > self._latest:
            self.refused += 1
            raise BadEvents([Fault("event", 0, 0, future_message(at, self._latest))])

    def _check_repeat(self, arrivals: Arrivals, event: Event) -> None:
        known = arrivals.recall(event.id)
        if (hash_of(known) if isinstance(known, Event) else known and known[1]) != hash_of(event):
            self.refused += 1
            raise Conflict(f"the event id {shown(event.id)} came twice with different content")

    def tick(self, as_of: datetime) -> list[Notification]:
        """What becomes known because time has passed."""
        changes: list[Notification] = []
        for source, arrivals in list(self.arrivals.items()):
            if self._lateness:
                changes += self._take_all(arrivals, arrivals.release(as_of, self._lateness))
            if source in self.arrivals:  # not evicted meanwhile
                changes += self.live.advance(source, micros(as_of) - self._settings.lateness)
        return changes

    def flush(self, as_of: datetime | None) -> list[Notification]:
        """What follows from waiting events, and up to a moment; default: the newest event's."""
        changes: list[Notification] = []
        for arrivals in list(self.arrivals.values()):
            changes += self._take_all(arrivals, arrivals.flush())
        if self.newest is None:
            return changes
        until = self.newest if as_of is None else max(self.newest, as_of)
        for source in self.arrivals:
            changes += self.live.drain(source, micros(until))
        return changes

    def _take_all(self, arrivals: Arrivals, events: Iterable[Event]) -> list[Notification]:
        changes: list[Notification] = []
        for event in events:
            arrivals.last = event.order
            changes += self._take(arrivals, event, micros(event.at))
        return changes

    def _take(self, arrivals: Arrivals, event: Event, us: int) -> list[Notification]:
        """What follows from an event whose turn it is."""
        if self.newest is None or event.at > self.newest:
            self.newest = event.at
        who, order = (event.source, event.subject), self.order
        order.pop(who, None)
        order[who] = None
        answered = arrivals.subject_of(event.reply_to) if event.reply_to else None
        if self._changes:
            event = self._measured(event)
        elif event.scorers:
            event = self._only(event)
        changes = self.live.observe(event, us, answered)
        self._since += 1
        if len(order) > self._most or self._since >= CHECK_EVERY:
            self._since = 0
            self._latest = LONG_AGO  # read the clock again: it may have been wrong for a moment
            changes = changes + self._evict()
        return changes

    def _evict(self) -> list[Notification]:
        """Forget the subjects longest without an event where too many histories are held.

        A few more than needed, since an eviction is slow. A subject that has more than half of all histories
        loses its own oldest first.
        """
        order, engine = self.order, self.live.engine
        if max(len(order), engine.held) <= self._most:
            return []
        target = self._most - self._most // 32
        changes: list[Notification] = []
        gone: set[tuple[str, str]] = set()
        newest = next(reversed(order))
        if (held := engine.held_of(*newest)) > self._most // 2:
            changes += self.live.forget(*newest, self._last(newest[0]), keep=max(1, self._most // 4))
            self.evicted += held - engine.held_of(*newest)
        for who in list(order)[:-1]:
            if max(len(order), engine.held) <= target:
                break
            del order[who]
            gone.add(who)
            changes += self.live.forget(*who, self._last(who[0]))
            if self.measurer is not None:
                self.measurer.forget(*who)
            if self.scores is not None:
                self.scores.forget(*who)
        self.evicted += len(gone)
        changes += self.live.forget_joined(gone)
        for name in {source for source, _ in gone} - {source for source, _ in order}:
            source = self.live.sources.get(name)
            if not self.arrivals[name].buffer.waiting and (source is None or not source.queue):
                del self.arrivals[name]
                self.live.forget_source(name)
        return changes

    def _last(self, source: str) -> int:
        last = self.arrivals[source].last
        return 0 if last is None else micros(last[0])

    def _measured(self, event: Event) -> Event:
        if self.scores is not None:
            event = self.scores.add(event)
        scorers = self._settings.scorers
        if event.scorers or scorers:
            event = self._only(event)
        if self.measurer is None:
            return event
        measured = self.measurer.measure(event)
        return self._only(measured) if scorers else measured

    def _only(self, event: Event) -> Event:
        (result,), unused = only_scorers([event], self._settings.scorers)
        if unused and len(self.unused) < MOST_UNUSED:
            self.unused += unused
        return result
