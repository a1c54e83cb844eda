"""Watch: events as they happen, and what follows from each at once."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import RLock
from typing import Any

from ..config import Settings
from ..detections.live import Live
from ..detections.spread_live import Told
from ..library.load import Library
from ..records import Detection, Event, micros
from ..shapes.history import CAP
from ..shapes.program import Program
from ..signals import Measurer, Options, plan
from .analyze import load_library, names_used
from .arrival import Arrivals, event_from_line, rules_of, utc
from .progress import Progress, progress_of
from .scorers import only_scorers

KEPT = 1_000
Callback = Callable[[Detection], object]
_log = logging.getLogger("ethogram")


def _now() -> datetime:
    return datetime.now(UTC)


class Watch:
    """Watches subjects live. `observe` gives what opened, rose in level or closed with an event.

    Patterns and settings are those of `analyze`; what is found is the same once `flush` was called. `late`
    counts events that came too late, `kept` holds the newest detections of patterns under test, `notes`
    what could not be loaded, `errors` what callbacks raised. Safe from several threads.

    >>> watch = Watch(patterns=["echoed_instruction"])
    >>> event = {"at": "2026-01-01T12:00:00Z", "subject": "ann", "readings": {"MAN_INJECTION": 0.8}}
    >>> [(found.pattern, found.state) for found in watch.observe(event)]
    [('echoed_instruction', 'closed')]
    """

    def __init__(
        self,
        patterns: Sequence[str | Path] | Library | None = None,
        *,
        settings: Settings | None = None,
        on_detection: Callback | None = None,
        clock: Callable[[], datetime] = _now,
        cap: int = CAP,
    ) -> None:
        self.settings = settings = settings or Settings()
        library = patterns if isinstance(patterns, Library) else load_library(patterns, settings)
        chosen = {one.name for one in library.programs if library.is_chosen(one)}
        self._start(library.programs, chosen, library.kinds, on_detection, clock, cap)

    def _start(
        self,
        programs: Sequence[Program],
        chosen: set[str],
        kinds: Mapping[str, str],
        on_detection: Callback | None,
        clock: Callable[[], datetime],
        cap: int,
    ) -> None:
        settings = self.settings
        self._chosen, self._callback, self._clock = chosen, on_detection, clock
        self._live = Live(programs, cap)
        self._rules = rules_of(settings.limits, kinds)
        names = {name for program in programs for name in names_used(program)}
        options = Options(time_zone=settings.time_zone, session_inactivity=settings.session_inactivity)
        self._measurer = Measurer(names, options) if plan(names) else None
        self._lateness = timedelta(microseconds=settings.lateness)
        self._arrivals: dict[str, Arrivals] = {}
        self._lock = RLock()
        self._newest: datetime | None = None
        self.late = 0
        self.repeated = 0
        self.unused: Counter[tuple[str, str]] = Counter()
        self.kept: deque[Detection] = deque(maxlen=KEPT)
        self.errors: deque[Exception] = deque(maxlen=KEPT)
        self.notes: list[str] = []

    @classmethod
    def of_programs(
        cls, programs: Sequence[Program], settings: Settings | None = None, cap: int = CAP
    ) -> Watch:
        """A watch for compiled programs, all of them told."""
        watch = cls.__new__(cls)
        watch.settings = settings or Settings()
        watch._start(programs, {one.name for one in programs}, {}, None, _now, cap)
        return watch

    # What comes in.

    def observe(self, event: Event | Mapping[str, Any]) -> list[Detection]:
        """The detections that opened, rose in level or closed with this event, each as it is now.

        A dict is read as an event line; without `at` it happened now, by the watch's clock. An event that
        came before is ignored; one with the same id and other content is a Conflict and changes nothing.
        """
        with self._lock:
            told = self._arrive(self._event(event))
        return self._tell(told)

    def tick(self, as_of: datetime | None = None) -> list[Detection]:
        """What becomes known because time has passed: silences, and combinations of what was seen.

        `as_of` is a moment up to which everything has come that will come, apart from the lateness.
        """
        as_of = self._clock() if as_of is None else utc(as_of, "as_of")
        told: list[Told] = []
        with self._lock:
            for source, arrivals in self._arrivals.items():
                if self._lateness:
                    told += self._released(arrivals, arrivals.let_go(as_of, self._lateness))
                told += self._live.advance(source, micros(as_of) - self.settings.lateness)
        return self._tell(told)

    def flush(self, as_of: datetime | None = None) -> list[Detection]:
        """What is left to tell at the end: events that waited, then all that follows up to `as_of`.

        The default is the time of the newest event. An event at or before it is late from then on.
        """
        told: list[Told] = []
        with self._lock:
            for arrivals in self._arrivals.values():
                told += self._released(arrivals, arrivals.flush())
            newest = self._newest
            if as_of is not None and newest is not None:
                newest = max(newest, utc(as_of, "as_of"))
            for source in self._arrivals if newest is not None else ():
                told += self._live.drain(source, micros(newest))  # type: ignore[arg-type]
        return self._tell(told)

    # What can be asked.

    def open(self) -> list[Detection]:
        """The detections that are open now, as far as they have come, in output order."""
        with self._lock:
            found = [one for one in self._live.open() if self._is_told(one)]
        return sorted(found, key=lambda one: one.order)

    def progress(self, subject: str, source: str | None = None) -> list[Progress]:
        """How far each sequence has come in each of a subject's histories: "stage 5 of 9"."""
        with self._lock:
            return progress_of(self._live.stream, subject, source)

    def save(self) -> dict[str, Any]:
        """Everything remembered, as plain JSON data; `Watch.load` goes on from there exactly."""
        from .live_save import save

        with self._lock:
            return save(self)

    @classmethod
    def load(
        cls,
        saved: Mapping[str, Any],
        patterns: Sequence[str | Path] | Library | None = None,
        *,
        settings: Settings | None = None,
        on_detection: Callback | None = None,
        clock: Callable[[], datetime] = _now,
        cap: int = CAP,
    ) -> Watch:
        """A watch that goes on where another was saved.

        What another version of a pattern remembered is not used: it starts empty, and `notes` says so.
        """
        from .live_save import load

        watch = cls(patterns, settings=settings, on_detection=on_detection, clock=clock, cap=cap)
        load(watch, saved)
        return watch

    # Inside.

    def _event(self, given: Event | Mapping[str, Any]) -> Event:
        if isinstance(given, Event):
            return given
        return event_from_line(given, self.settings.source, self._arrivals, self._rules, self._clock())

    def _arrive(self, event: Event) -> list[Told]:
        arrivals = self._arrivals.get(event.source)
        if arrivals is None:
            arrivals = self._arrivals[event.source] = Arrivals()
        if (event.id in arrivals.known or event.id in arrivals.old) and arrivals.is_repeat(event):
            self.repeated += 1
            return []
        if self._is_late(event, arrivals):
            self.late += 1
            return []
        arrivals.remember(event)
        if not self._lateness:
            return self._released(arrivals, (event,))
        return self._released(arrivals, arrivals.let_go(event, self._lateness))

    def _is_late(self, event: Event, arrivals: Arrivals) -> bool:
        """Whether an event comes before one that was observed, or before something that was told."""
        if arrivals.last is not None and event.order < arrivals.last:
            return True
        concluded = self._live.source(event.source).concluded
        return concluded is not None and micros(event.at) <= concluded

    def _released(self, arrivals: Arrivals, events: Iterable[Event]) -> list[Told]:
        told: list[Told] = []
        for event in events:
            arrivals.last = event.order
            if self._newest is None or event.at > self._newest:
                self._newest = event.at
            answered = arrivals.recall(event.reply_to) if event.reply_to else None
            told += self._live.observe(self._measured(event), None if answered is None else answered[0])
        return told

    def _measured(self, event: Event) -> Event:
        scorers = self.settings.scorers
        if event.scorers or scorers:
            event = self._only(event)
        if self._measurer is None:
            return event
        measured = self._measurer.measure(event)
        return self._only(measured) if scorers else measured

    def _only(self, event: Event) -> Event:
        (kept,), unused = only_scorers([event], self.settings.scorers)
        if unused and len(self.unused) < KEPT:
            self.unused += unused
        return kept

    def _is_told(self, one: Detection) -> bool:
        return one.pattern in self._chosen and one.status != "test"

    def _tell(self, told: Sequence[Told]) -> list[Detection]:
        if not told:
            return []
        found = []
        for _, one in told:
            if self._is_told(one):
                found.append(one)
            elif one.pattern in self._chosen:
                self.kept.append(one)
        for one in found if self._callback is not None else ():
            try:
                self._callback(one)  # type: ignore[misc]
            except Exception as error:
                # The watch and the caller of `observe` have nothing to do with it.
                self.errors.append(error)
                _log.exception("a callback failed on detection %s", one.id)
        return found
