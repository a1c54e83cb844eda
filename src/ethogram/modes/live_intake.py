"""Intake: what comes to a watch, once and in order, on its way through signals and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ..config import Settings
from ..detections.live import Live
from ..detections.spread_live import Told
from ..errors import BadEvents, Conflict
from ..ingest.future import latest_time
from ..records import Event, micros
from ..shapes.program import Program
from ..signals import Measurer, Options, plan
from .analyze import names_used
from .arrival import Arrivals, event_from_line, in_future, rules_of
from .scorers import only_scorers

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

    def observe(self, given: Event | Mapping[str, Any]) -> list[Told]:
        """What follows from an event that has come, or from the one that a dict describes.

        Raises BadEvents where it is dated too far ahead of the clock, and Conflict where its id came with
        other content; nothing has changed then but the count of what was refused.
        """
        # Written out in one piece: this and what it calls is all that is done for most events.
        event = given if isinstance(given, Event) else self._event(given)
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

    def _event(self, given: Mapping[str, Any]) -> Event:
        try:
            return event_from_line(given, self._settings.source, self.arrivals, self._rules, self._asked())
        except BadEvents:
            self.refused += 1
            raise

    def _check_repeat(self, arrivals: Arrivals, event: Event) -> None:
        try:
            arrivals.check_repeat(event)
        except Conflict:
            self.refused += 1
            raise

    def tick(self, as_of: datetime) -> list[Told]:
        """What becomes known because time has passed."""
        told: list[Told] = []
        for source, arrivals in list(self.arrivals.items()):
            if self._lateness:
                told += self._released(arrivals, arrivals.let_go(as_of, self._lateness))
            if source in self.arrivals:  # nobody of it was let go
                told += self.live.advance(source, micros(as_of) - self._settings.lateness)
        return told

    def flush(self, as_of: datetime | None) -> list[Told]:
        """Events that waited, then all that follows up to a moment; default: the newest event's."""
        told: list[Told] = []
        for arrivals in list(self.arrivals.values()):
            told += self._released(arrivals, arrivals.flush())
        if self.newest is None:
            return told
        until = self.newest if as_of is None else max(self.newest, as_of)
        for source in self.arrivals:
            told += self.live.drain(source, micros(until))
        return told

    def _released(self, arrivals: Arrivals, events: Iterable[Event]) -> list[Told]:
        told: list[Told] = []
        for event in events:
            arrivals.last = event.order
            told += self._take(arrivals, event, micros(event.at))
        return told

    def _take(self, arrivals: Arrivals, event: Event, us: int) -> list[Told]:
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
        told = self.live.observe(event, us, answered)
        self._since += 1
        if len(order) > self._most or self._since >= LOOKED:
            self._since = 0
            self._latest = LONG_AGO  # a clock that was wrong for a moment is asked again
            told = told + self._evict()
        return told

    def _evict(self) -> list[Told]:
        """Let go of the subjects longest without an event where too many histories are held.

        A few more than needed, since looking for what is left of them takes long. A subject that has more
        than half of all histories by itself pushes out its own oldest first.
        """
        order, stream = self.order, self.live.stream
        if max(len(order), stream.held) <= self._most:
            return []
        target = self._most - self._most // 32
        told: list[Told] = []
        gone: set[tuple[str, str]] = set()
        newest = next(reversed(order))
        if stream.held_of(*newest) > self._most // 2:
            told += self._trim(newest, self._most // 4)
        for whose in list(order)[:-1]:
            if max(len(order), stream.held) <= target:
                break
            del order[whose]
            gone.add(whose)
            told += self.live.forget(*whose, self._last(whose[0]))
            if self.measurer is not None:
                self.measurer.forget(*whose)
        self.evicted += len(gone)
        told += self.live.forget_joined(gone)
        self._forget_sources({source for source, _ in gone})
        return told

    def _trim(self, whose: tuple[str, str], keep: int) -> list[Told]:
        before = self.live.stream.held_of(*whose)
        told = self.live.forget(*whose, self._last(whose[0]), keep=max(1, keep))
        self.evicted += before - self.live.stream.held_of(*whose)
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
