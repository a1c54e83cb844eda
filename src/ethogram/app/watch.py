"""Watch: events as they happen, detections as they open, rise and close."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, RLock
from typing import Any

from ..config import Settings
from ..engine.contagion import Notification
from ..errors import BadUsage, EthogramError
from ..language.history import CAP
from ..language.program import Program
from ..models import Detection, Event
from ..models.mute import Mute
from ..patterns.library import Library
from .analyze import load_library
from .intake import Arrivals, Intake, utc
from .mute import FACTS, mutes
from .subject import Progress, progress_of

# Mutes live: what an entry mutes is not told, but counted.


class Muter:
    """Entries, and how many detections each has muted, as often as one would have been told."""

    def __init__(self, entries: Sequence[Mute], clock: Callable[[], datetime]) -> None:
        self.entries = tuple(entries)
        self.muted: Counter[str] = Counter()
        self._clock = clock

    def entry(self, detection: Detection, arrivals: Mapping[str, Arrivals]) -> Mute | None:
        """The first entry that mutes a detection now, or None."""
        if not self.entries:
            return None
        now, known = self._clock(), _evidence(detection, arrivals.get(detection.source))
        for entry in self.entries:
            # A path or command of an event that is no longer known could be one that nobody agreed to.
            if entry.is_expired(now) or (known is None and not FACTS.keys().isdisjoint(entry.asks)):
                continue
            if mutes(entry, detection, known or {}):
                return entry
        return None

    def is_muted(self, detection: Detection, arrivals: Mapping[str, Arrivals]) -> bool:
        """Whether a detection is not to be told; it is counted then."""
        entry = self.entry(detection, arrivals)
        if entry is not None:
            self.muted[entry.id] += 1
        return entry is not None


def _evidence(detection: Detection, arrivals: Arrivals | None) -> dict[tuple[str, str], Event] | None:
    """The events that are evidence, by source and id; None where one of them is not known any more."""
    record: dict[tuple[str, str], Event] = {}
    for evidence in detection.evidence:
        known = None if arrivals is None else arrivals.recall(evidence.event)
        if not isinstance(known, Event):
            return None
        record[detection.source, evidence.event] = known
    return record


# Telling: which detections of a watch anybody hears of, and who is called.

KEPT = 1_000
Callback = Callable[[Detection], object]
_log = logging.getLogger("ethogram")


class Teller:
    """Knows the chosen patterns, the mutes and the callback. `kept`: detections of shadow patterns."""

    def __init__(self, chosen: set[str], muter: Muter, callback: Callback | None) -> None:
        self.muter = muter
        self.kept: deque[Detection] = deque(maxlen=KEPT)
        self.errors: deque[Exception] = deque(maxlen=KEPT)
        self._chosen, self._callback = chosen, callback
        self._counting = Lock()

    def is_told(self, detection: Detection) -> bool:
        """Whether a detection is for anybody's ears, mutes aside."""
        return detection.pattern in self._chosen and detection.status != "shadow"

    def is_heard(self, detection: Detection, arrivals: Mapping[str, Arrivals]) -> bool:
        """Whether a detection is told and not muted; nothing is counted."""
        return self.is_told(detection) and self.muter.entry(detection, arrivals) is None

    def tell(self, tolds: Sequence[Notification], arrivals: Mapping[str, Arrivals]) -> list[Detection]:
        """Those of the detections that are told, after the callback has had each."""
        found = []
        for _, item in tolds:
            if not self.is_told(item):
                if item.pattern in self._chosen:
                    self.kept.append(item)
            elif not self.muter.entries or not self._is_muted(item, arrivals):
                found.append(item)
        if self._callback is not None:
            for item in found:
                self._call(self._callback, item)
        return found

    def _is_muted(self, detection: Detection, arrivals: Mapping[str, Arrivals]) -> bool:
        with self._counting:
            return self.muter.is_muted(detection, arrivals)

    def _call(self, callback: Callback, detection: Detection) -> None:
        try:
            callback(detection)
        except Exception as error:
            # The watch and the caller of `observe` have nothing to do with it.
            self.errors.append(error)
            _log.exception("a callback failed on detection %s", detection.id)


# Watch: events as they happen, and what follows from each at once.


def _now() -> datetime:
    return datetime.now(UTC)


class Watch:
    """Watches subjects live. `observe` gives what opened, rose in severity or closed with an event.

    Patterns and settings are those of `analyze`; what is found is the same once `flush` was called. What
    one of the `mutes` asks for is not told but counted. `notes` says what could not be loaded. Safe from
    several threads.

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
        mutes: Sequence[Mute] = (),
    ) -> None:
        self.settings = settings = settings or Settings()
        library = patterns if isinstance(patterns, Library) else load_library(patterns, settings)
        chosen = {program.name for program in library.programs if library.is_chosen(program)}
        self._start(
            Intake(library.programs, settings, library.kinds, clock, cap),
            Teller(chosen, Muter(_checked(mutes), clock), on_detection),
            clock,
        )

    def _start(self, intake: Intake, teller: Teller, clock: Callable[[], datetime]) -> None:
        self._intake, self._teller, self._clock = intake, teller, clock
        self._lock = RLock()
        self.notes: list[str] = []

    @classmethod
    def of_programs(
        cls, programs: Sequence[Program], settings: Settings | None = None, cap: int = CAP
    ) -> Watch:
        """A watch for compiled programs, all of them told."""
        watch = cls.__new__(cls)
        watch.settings = settings or Settings()
        teller = Teller({program.name for program in programs}, Muter((), _now), None)
        watch._start(Intake(programs, watch.settings, {}, _now, cap), teller, _now)
        return watch

    # What comes in.

    def observe(self, event: Event | Mapping[str, Any]) -> list[Detection]:
        """The detections that opened, rose in severity or closed with this event, each as it is now.

        A dict is read as an event line; without `at` it happened now, by the watch's clock. An event that
        came before is ignored; one with the same id and other content is a Conflict and changes nothing. One
        dated more than `settings.max_future` ahead of the clock raises BadEvents and changes nothing either.
        """
        intake = self._intake
        with self._lock:
            detections = intake.observe(event)
        return self._tell(detections) if detections else []

    def observe_many(self, events: Iterable[Event | Mapping[str, Any]]) -> list[Detection]:
        """What `observe` gives for each of these events in turn, all together.

        Where an event is refused, those behind it have not been observed. Those before it have: what they
        brought about has gone to the callback, and is in the error's `told`.
        """
        tolds: list[Notification] = []
        intake = self._intake
        try:
            with self._lock:
                for event in events:
                    if new := intake.observe(event):
                        tolds += new
        except EthogramError as error:
            error.told = self._tell(tolds)  # type: ignore[attr-defined]
            raise
        return self._tell(tolds)

    def tick(self, as_of: datetime | None = None) -> list[Detection]:
        """What becomes known because time has passed: silences, and combinations of what was seen.

        `as_of` is a moment up to which everything has come that will come, apart from the lateness.
        """
        as_of = self._clock() if as_of is None else utc(as_of, "as_of")
        with self._lock:
            detections = self._intake.tick(as_of)
        return self._tell(detections)

    def flush(self, as_of: datetime | None = None) -> list[Detection]:
        """What is left to tell at the end: events that waited, then all that follows up to `as_of`.

        The default is the time of the newest event. An event at or before it is late from then on.
        """
        with self._lock:
            detections = self._intake.flush(None if as_of is None else utc(as_of, "as_of"))
        return self._tell(detections)

    def forget_arrivals(self) -> None:
        """Forget which events came, for callers that number their own and send none twice."""
        with self._lock:
            for arrivals in self._intake.arrivals.values():
                arrivals.known.clear()
                arrivals.old.clear()

    def _tell(self, tolds: Sequence[Notification]) -> list[Detection]:
        return self._teller.tell(tolds, self._intake.arrivals)

    # What can be asked.

    def open(self) -> list[Detection]:
        """The detections that are open now, as far as they have come, in output order."""
        with self._lock:
            opened = list(self._intake.live.open())
            found = [item for item in opened if self._teller.is_heard(item, self._intake.arrivals)]
        return sorted(found, key=lambda item: item.order)

    def progress(self, subject: str, source: str | None = None) -> list[Progress]:
        """How far each sequence has come in each of a subject's histories: "stage 5 of 9"."""
        with self._lock:
            return progress_of(self._intake.live.engine, subject, source)

    @property
    def late(self) -> int:
        """How many events came too late."""
        return self._intake.late

    @property
    def repeated(self) -> int:
        """How many events had come before."""
        return self._intake.repeated

    @property
    def refused(self) -> int:
        """How many events were refused: bad ones, conflicts, and those dated too far ahead of the clock."""
        return self._intake.refused

    @property
    def held(self) -> int:
        """How many subjects are remembered."""
        return len(self._intake.order)

    @property
    def evicted(self) -> int:
        """How many subjects, or histories of one subject, were let go to hold `max_histories` at most."""
        return self._intake.evicted

    def __repr__(self) -> str:
        counts = ("held", "evicted", "late", "repeated", "refused")
        return f"<Watch: {', '.join(f'{getattr(self, name):,} {name}' for name in counts)}>"

    @property
    def unused(self) -> Counter[tuple[str, str]]:
        """How many readings were not used, by signal and scorer."""
        return self._intake.unused

    @property
    def kept(self) -> deque[Detection]:
        """The newest detections of shadow patterns."""
        return self._teller.kept

    @property
    def muted(self) -> dict[str, int]:
        """How many detections were not told because an entry mutes them, by the entry's id."""
        return dict(self._teller.muter.muted)

    @property
    def errors(self) -> deque[Exception]:
        """What callbacks raised, the newest of it."""
        return self._teller.errors

    # Saving.

    def save(self) -> dict[str, Any]:
        """Everything remembered, as plain JSON data; `Watch.load` goes on from there exactly."""
        from .watch_state import save

        with self._lock:
            return save(self)

    @classmethod
    def load(
        cls,
        saved: Mapping[str, Any],
        patterns: Sequence[str | Path] | Library | None = None,
        **options: Any,
    ) -> Watch:
        """A watch that goes on where another was saved; options are those of `Watch` itself.

        What another version of a pattern remembered is not used: it starts empty, and `notes` says so.
        """
        from .watch_state import load

        watch = cls(patterns, **options)
        load(watch, saved)
        return watch


def _checked(mutes: Sequence[Mute]) -> Sequence[Mute]:
    if not all(isinstance(mute, Mute) for mute in mutes):
        raise BadUsage("mutes takes Mute records; ethogram.config.mutes.read_mutes reads them from a file")
    return mutes
