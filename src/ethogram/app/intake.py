"""Intake of a watch: events checked, ordered and measured, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ..config import Settings
from ..engine.contagion import Notification
from ..engine.live_detections import Live
from ..errors import BadEvents, BadUsage, Conflict, Fault
from ..ingest import Limits
from ..ingest.collector import future_message, latest_time
from ..ingest.errors import BadLine, shown
from ..ingest.event_parser import Rules, content_of, fields_of
from ..ingest.ordering import Buffer, flush, release
from ..language.program import Program
from ..models import Event, content_hash, default_id, micros, moment
from ..patterns.catalogue import known_ranges
from ..signals import Measurer, Options, plan
from .analyze import names_used
from .readings import only_scorers

# Arrival: what comes live becomes an event, once, in its place in the order.

REMEMBERED = 2_000
"""So many of a source's newest ids are known again, and whose events they were."""

Known = Event | tuple[str, str]
"""An event, or the subject of one and the hash of its content."""


class Arrivals:
    """One source: its numbering, its newest ids, and the events that still wait for earlier ones."""

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
        """Know an event again."""
        if len(self.known) >= REMEMBERED:
            self.old, self.known = self.known, {}
        self.known[event.id] = event
        if event.seq >= self.next_seq:
            self.next_seq = event.seq + 1

    def whose(self, name: str) -> str | None:
        """The subject of an event that is known."""
        known = self.recall(name)
        return known.subject if isinstance(known, Event) else known[0] if known is not None else None

    def check_repeat(self, event: Event) -> None:
        """Raise Conflict where an event whose id is known said something else when it came before."""
        known = self.recall(event.id)
        said = hash_of(known) if isinstance(known, Event) else known and known[1]
        if said != hash_of(event):
            raise Conflict(f"the event id {shown(event.id)} came twice with different content")

    def let_go(self, came: Event | datetime, lateness: timedelta) -> tuple[Event, ...]:
        """The events that need not wait any longer, in order."""
        self.buffer, gone, _ = release(self.buffer, came, lateness)
        return gone

    def flush(self) -> tuple[Event, ...]:
        """Everything that still waits."""
        self.buffer, gone, _ = flush(self.buffer)
        return gone

    # Saving.

    def save(self) -> dict[str, Any]:
        """Everything as plain data."""
        known = (self.old | self.known).items()
        return {
            "next_seq": self.next_seq,
            "last": None if self.last is None else [micros(self.last[0]), *self.last[1:]],
            "known": [_known_to_json(name, item) for name, item in known][-REMEMBERED:],
            "newest": None if self.buffer.newest is None else micros(self.buffer.newest),
            "waiting": [event_to_json(event) for event in self.buffer.waiting],
        }

    @classmethod
    def load(cls, saved: Mapping[str, Any]) -> Arrivals:
        """What was saved."""
        item = cls()
        item.next_seq = saved["next_seq"]
        item.old = {name: (subject, said) for name, subject, said in saved["known"]}
        if saved["last"] is not None:
            us, seq, name = saved["last"]
            item.last = (moment(us), seq, name)
        waiting = tuple(event_from_json(data) for data in saved["waiting"])
        newest = None if saved["newest"] is None else moment(saved["newest"])
        item.buffer = Buffer(waiting, newest)
        return item


def _known_to_json(name: str, known: Known) -> list[str]:
    return [name, known.subject, hash_of(known)] if isinstance(known, Event) else [name, *known]


def hash_of(event: Event) -> str:
    """A hash of what an event says, and of whether it has a time."""
    return f"{content_hash(event.to_dict())[:32]}{'' if event.timed else '-'}"


def event_from_line(
    line: Mapping[str, Any], source: str, arrivals: Mapping[str, Arrivals], rules: Rules, now: datetime
) -> Event:
    """The event that a dict describes. Without a time it is now, without a number the next one."""
    try:
        fields = fields_of(line, rules)
    except BadLine as bad:
        raise BadEvents([Fault("event", 0, 0, str(bad))]) from None
    source = fields.setdefault("source", source)
    of_source = arrivals.get(source)
    seq = fields.setdefault("seq", of_source.next_seq if of_source else 0)
    known = of_source.recall(fields["id"]) if of_source and "id" in fields else None
    if "at" not in fields:
        # Told again without a time, an event keeps the time it was given first.
        again = known if isinstance(known, Event) else None
        fields["at"] = now if again is None else again.at
    if "id" not in fields:
        fields["id"] = default_id(source, seq, content_of(fields))
    return Event(**fields)


def in_future(at: datetime, latest: datetime) -> BadEvents:
    """What is wrong with an event that lies after the latest time allowed."""
    return BadEvents([Fault("event", 0, 0, future_message(at, latest))])


def rules_of(limits: Mapping[str, int], kinds: Mapping[str, str]) -> Rules:
    """What dicts are checked against."""
    return Rules(Limits(**limits), kinds, ranges=known_ranges())


def utc(at: datetime, what: str) -> datetime:
    """The moment in UTC; BadUsage where it has no zone."""
    if at.tzinfo is None:
        raise BadUsage(f"{what} needs a time zone: datetime(..., tzinfo=UTC)")
    return at.astimezone(UTC)


_TIMES = ("at", "received_at")


def event_to_json(event: Event) -> dict[str, Any]:
    """The whole event as plain data, with what an event line leaves out."""
    out = {name: getattr(event, name) for name in Event.__dataclass_fields__}
    for name in ("attributes", "readings", "scorers", "widths"):
        out[name] = dict(out[name])
    return out | {name: None if out[name] is None else micros(out[name]) for name in _TIMES}


def event_from_json(data: Mapping[str, Any]) -> Event:
    """The reverse of `event_to_json`."""
    times = {name: None if data[name] is None else moment(data[name]) for name in _TIMES}
    return Event(**{**data, **times})


# Intake: what comes to a watch, once and in order, on its way through signals and programs.

MOST_UNUSED = 1_000
LOOKED = 1_024
"""Events after which histories are counted and the clock is asked again; new subjects count at once."""
LONG_AGO, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class Intake:
    """Everything a watch remembers of what came. Not safe from several threads: the watch has the lock."""

    def __init__(
        self,
        programs: Sequence[Program],
        settings: Settings,
        kinds: Mapping[str, str],
        clock: Callable[[], datetime],
        cap: int,
    ) -> None:
        self.live = Live(programs, cap)
        self.arrivals: dict[str, Arrivals] = {}
        self.newest: datetime | None = None
        self.late = 0
        self.repeated = 0
        self.refused = 0
        self.unused: Counter[tuple[str, str]] = Counter()
        names = {name for program in programs for name in names_used(program)}
        options = Options.of(settings)
        self.measurer = Measurer(names, options) if plan(names) else None
        self._settings, self._clock = settings, clock
        self._rules = rules_of(settings.limits, kinds)
        self._latest = LONG_AGO
        """The latest time an event may have, by what the clock said last; it is asked about later ones."""
        self._lateness = timedelta(microseconds=settings.lateness)
        self.evicted = 0
        self.order: dict[tuple[str, str], None] = {}
        """Subjects with their sources, those longest without an event first."""
        self._most, self._since = settings.max_histories, 0
        if self.measurer is not None:
            self.measurer.most_threads = settings.max_histories
        self._changes = self.measurer is not None or bool(settings.scorers)

    def observe(self, value: Event | Mapping[str, Any]) -> list[Notification]:
        """What follows from an event that has come, or from the one that a dict describes.

        Raises BadEvents where it is dated too far ahead of the clock, and Conflict where its id came with
        other content; nothing has changed then but the count of what was refused.
        """
        # Written out in one piece: this and what it calls is all that is done for most events.
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
        # Late is what comes before an event that was observed, or before something that was told.
        source = self.live.sources.get(name)
        if (arrivals.last is not None and order < arrivals.last) or (
            source is not None and source.concluded is not None and us <= source.concluded
        ):
            self.late += 1
            return []
        arrivals.remember(event)
        if self._lateness:
            return self._released(arrivals, arrivals.let_go(event, self._lateness))
        arrivals.last = order
        return self._take(arrivals, event, us)

    def _asked(self) -> datetime:
        """What the clock says."""
        now = self._clock()
        self._latest = latest_time(now, self._settings.max_future) or LAST
        return now

    def _check_future(self, at: datetime) -> None:
        self._asked()
        if at > self._latest:
            self.refused += 1
            raise in_future(at, self._latest)

    def _event(self, record: Mapping[str, Any]) -> Event:
        try:
            return event_from_line(record, self._settings.source, self.arrivals, self._rules, self._asked())
        except BadEvents:
            self.refused += 1
            raise

    def _check_repeat(self, arrivals: Arrivals, event: Event) -> None:
        try:
            arrivals.check_repeat(event)
        except Conflict:
            self.refused += 1
            raise

    def tick(self, as_of: datetime) -> list[Notification]:
        """What becomes known because time has passed."""
        tolds: list[Notification] = []
        for source, arrivals in list(self.arrivals.items()):
            if self._lateness:
                tolds += self._released(arrivals, arrivals.let_go(as_of, self._lateness))
            if source in self.arrivals:  # nobody of it was let go
                tolds += self.live.advance(source, micros(as_of) - self._settings.lateness)
        return tolds

    def flush(self, as_of: datetime | None) -> list[Notification]:
        """Events that waited, then all that follows up to a moment; default: the newest event's."""
        tolds: list[Notification] = []
        for arrivals in list(self.arrivals.values()):
            tolds += self._released(arrivals, arrivals.flush())
        if self.newest is None:
            return tolds
        until = self.newest if as_of is None else max(self.newest, as_of)
        for source in self.arrivals:
            tolds += self.live.drain(source, micros(until))
        return tolds

    def _released(self, arrivals: Arrivals, events: Iterable[Event]) -> list[Notification]:
        tolds: list[Notification] = []
        for event in events:
            arrivals.last = event.order
            tolds += self._take(arrivals, event, micros(event.at))
        return tolds

    def _take(self, arrivals: Arrivals, event: Event, us: int) -> list[Notification]:
        """What an event brings about whose turn it is."""
        if self.newest is None or event.at > self.newest:
            self.newest = event.at
        whose, order = (event.source, event.subject), self.order
        order.pop(whose, None)
        order[whose] = None
        answered = arrivals.whose(event.reply_to) if event.reply_to else None
        if self._changes:
            event = self._measured(event)
        elif event.scorers:
            event = self._only(event)
        tolds = self.live.observe(event, us, answered)
        self._since += 1
        if len(order) > self._most or self._since >= LOOKED:
            self._since = 0
            self._latest = LONG_AGO  # a clock that was wrong for a moment is asked again
            tolds = tolds + self._evict()
        return tolds

    def _evict(self) -> list[Notification]:
        """Let go of the subjects longest without an event where too many histories are held.

        A few more than needed, since looking for what is left of them takes long. A subject that has more
        than half of all histories by itself pushes out its own oldest first.
        """
        order, engine = self.order, self.live.engine
        if max(len(order), engine.held) <= self._most:
            return []
        target = self._most - self._most // 32
        tolds: list[Notification] = []
        gone: set[tuple[str, str]] = set()
        newest = next(reversed(order))
        if engine.held_of(*newest) > self._most // 2:
            tolds += self._trim(newest, self._most // 4)
        for whose in list(order)[:-1]:
            if max(len(order), engine.held) <= target:
                break
            del order[whose]
            gone.add(whose)
            tolds += self.live.forget(*whose, self._last(whose[0]))
            if self.measurer is not None:
                self.measurer.forget(*whose)
        self.evicted += len(gone)
        tolds += self.live.forget_joined(gone)
        self._forget_sources({source for source, _ in gone})
        return tolds

    def _trim(self, whose: tuple[str, str], keep: int) -> list[Notification]:
        before = self.live.engine.held_of(*whose)
        told = self.live.forget(*whose, self._last(whose[0]), keep=max(1, keep))
        self.evicted += before - self.live.engine.held_of(*whose)
        return told

    def _last(self, source: str) -> int:
        last = self.arrivals[source].last
        return 0 if last is None else micros(last[0])

    def _forget_sources(self, sources: set[str]) -> None:
        """Let go of sources that nobody is left of, unless something waits there for its turn."""
        for name in sources - {source for source, _ in self.order}:
            source = self.live.sources.get(name)
            if not self.arrivals[name].buffer.waiting and (source is None or not source.queue):
                del self.arrivals[name]
                self.live.forget_source(name)

    def _measured(self, event: Event) -> Event:
        scorers = self._settings.scorers
        if event.scorers or scorers:
            event = self._only(event)
        if self.measurer is None:
            return event
        measured = self.measurer.measure(event)
        return self._only(measured) if scorers else measured

    def _only(self, event: Event) -> Event:
        (kept,), unused = only_scorers([event], self._settings.scorers)
        if unused and len(self.unused) < MOST_UNUSED:
            self.unused += unused
        return kept
