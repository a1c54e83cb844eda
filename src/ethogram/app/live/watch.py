"""Watch: events as they happen, detections as they open, rise and close."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from ...config import Settings
from ...engine.combination import Combining
from ...engine.contagion import Notification
from ...engine.live.state import load_engine, save_engine, version_of
from ...errors import BadUsage, EthogramError
from ...language.history import CAP
from ...language.program import Program
from ...models import Detection, Event, Evidence, micros, moment
from ...models.detection import TIMES, TUPLES
from ...models.mute import Mute
from ...patterns.library import Library
from ..analyze import load_library
from ..mute import FACTS
from ..mute import mutes as is_muted_by
from ..subject import Progress, progress_of
from .intake import Arrivals, Intake

if TYPE_CHECKING:
    from ...evaluators.base import Evaluator
    from ..evaluation.live import LiveScores

FORMAT = 3
"""Of a saved watch."""
MOST_SAVED = 1_000
"""Detections of shadow patterns, and errors of callbacks."""
Callback = Callable[[Detection], object]
_log = logging.getLogger("ethogram")


def _now() -> datetime:
    return datetime.now(UTC)


class Watch:
    """Watches subjects live. `observe` returns what opened, rose in severity or closed with an event.

    Patterns and settings are those of `analyze`, and so are the detections once `flush` was called. What one
    of the `mutes` asks for is not reported but counted. `evaluator`, a name or an object, scores messages as
    they come, those that `analyze` would score, within `budget` dollars; `scores` has counts. `notes` says
    what could not be loaded. Thread-safe.

    >>> watch = Watch(patterns=["echoed_instruction"])
    >>> event = {"at": "2026-01-01T12:00:00Z", "subject": "ann", "readings": {"MAN_INJECTION": 0.8}}
    >>> [(detection.pattern, detection.state) for detection in watch.observe(event)]
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
        evaluator: str | Evaluator | None = None,
        budget: float | None = None,
    ) -> None:
        settings = settings or Settings()
        library = patterns if isinstance(patterns, Library) else load_library(patterns, settings)
        chosen = {program.name for program in library.programs if library.is_chosen(program)}
        if not all(isinstance(entry, Mute) for entry in mutes):
            raise BadUsage(
                "mutes takes Mute records; ethogram.config.mutes.read_mutes reads them from a file"
            )
        scores = None
        if evaluator is not None:
            from ..evaluation.live import LiveScores
            from ..evaluation.scoring import evaluator_of, paying_for, settings_for

            item = evaluator_of(settings, evaluator) if isinstance(evaluator, str) else evaluator
            if item is not None:
                scores = LiveScores(item, paying_for(item, settings, library, budget=budget))
                settings = settings_for(settings, item.scorer)
        elif budget is not None:
            raise BadUsage("budget needs an evaluator")
        self._start(
            library.programs, chosen, settings, library.kinds, clock, cap, on_detection, mutes, scores
        )

    def _start(
        self,
        programs: Sequence[Program],
        chosen: set[str],
        settings: Settings,
        kinds: Mapping[str, str],
        clock: Callable[[], datetime],
        cap: int,
        callback: Callback | None = None,
        mutes: Sequence[Mute] = (),
        scores: LiveScores | None = None,
    ) -> None:
        self.settings = settings
        self.notes: list[str] = []
        self.kept: deque[Detection] = deque(maxlen=MOST_SAVED)
        """The newest detections of shadow patterns."""
        self.errors: deque[Exception] = deque(maxlen=MOST_SAVED)
        """The newest exceptions that callbacks raised."""
        self._intake = Intake(programs, settings, kinds, clock, cap, scores)
        self._chosen, self._callback, self._clock = chosen, callback, clock
        self._mutes = tuple(mutes)
        self._muted: Counter[str] = Counter()
        self._lock = RLock()

    @classmethod
    def of_programs(
        cls, programs: Sequence[Program], settings: Settings | None = None, cap: int = CAP
    ) -> Watch:
        """A watch for compiled programs, all of which are reported."""
        watch = cls.__new__(cls)
        names = {program.name for program in programs}
        watch._start(programs, names, settings or Settings(), {}, _now, cap)
        return watch

    def observe(self, event: Event | Mapping[str, Any]) -> list[Detection]:
        """The detections that opened, rose in severity or closed with this event, each as it is now.

        A dict is read as an event line; without `at` it happened now, by the watch's clock. An event that
        came before is ignored; one with the same id and other content is a Conflict and changes nothing. One
        dated more than `settings.max_future` ahead of the clock raises BadEvents and changes nothing either.
        """
        with self._lock:
            changes = self._intake.observe(event)
        return self._report(changes) if changes else []

    def observe_many(self, events: Iterable[Event | Mapping[str, Any]]) -> list[Detection]:
        """The results of `observe` for each of these events in turn, all together.

        Where an event is refused, those behind it have not been observed. Those before it have: their
        detections went to the callback, and are the error's `detections`.
        """
        changes: list[Notification] = []
        intake = self._intake
        try:
            with self._lock:
                for event in events:
                    if new := intake.observe(event):
                        changes += new
        except EthogramError as error:
            error.detections = self._report(changes)  # type: ignore[attr-defined]
            raise
        return self._report(changes)

    def tick(self, as_of: datetime | None = None) -> list[Detection]:
        """What becomes known because time has passed: silences, and combinations of earlier detections.

        `as_of` is a moment up to which everything has come that will come, apart from the lateness.
        """
        as_of = self._clock() if as_of is None else _utc(as_of)
        with self._lock:
            changes = self._intake.tick(as_of)
        return self._report(changes)

    def flush(self, as_of: datetime | None = None) -> list[Detection]:
        """What is left to report at the end: events that waited, then all that follows up to `as_of`.

        The default is the time of the newest event. An event at or before it is late from then on.
        """
        with self._lock:
            changes = self._intake.flush(None if as_of is None else _utc(as_of))
        return self._report(changes)

    def forget_arrivals(self) -> None:
        """Forget which events came, for callers that number their own and send none twice."""
        with self._lock:
            for arrivals in self._intake.arrivals.values():
                arrivals.known.clear()
                arrivals.old.clear()

    def _report(self, changes: Sequence[Notification]) -> list[Detection]:
        """The detections to report, after the callback has had each."""
        detections = []
        with self._lock:
            for _, detection in changes:
                if detection.pattern not in self._chosen:
                    continue
                if detection.status == "shadow":
                    self.kept.append(detection)
                elif (entry := self._mute(detection)) is not None:
                    self._muted[entry.id] += 1
                else:
                    detections.append(detection)
        if self._callback is None:
            return detections
        for detection in detections:
            try:
                self._callback(detection)
            except Exception as error:
                # Neither the watch nor the caller of `observe` is responsible for it.
                self.errors.append(error)
                _log.exception("a callback failed on detection %s", detection.id)
        return detections

    def _mute(self, detection: Detection) -> Mute | None:
        """The first entry that mutes a detection now."""
        if not self._mutes:
            return None
        now, events = self._clock(), self._evidence(detection)
        for entry in self._mutes:
            # A path or command of a forgotten event may be one that the entry does not allow.
            if entry.is_expired(now) or (events is None and not FACTS.keys().isdisjoint(entry.criteria)):
                continue
            if is_muted_by(entry, detection, events or {}):
                return entry
        return None

    def _evidence(self, detection: Detection) -> dict[tuple[str, str], Event] | None:
        """The events of the evidence by source and id; None where one of them was forgotten."""
        arrivals = self._intake.arrivals.get(detection.source)
        events: dict[tuple[str, str], Event] = {}
        for evidence in detection.evidence:
            known = None if arrivals is None else arrivals.recall(evidence.event)
            if not isinstance(known, Event):
                return None
            events[detection.source, evidence.event] = known
        return events

    def open(self) -> list[Detection]:
        """The detections that are open now, as far as they have come, in output order."""
        with self._lock:
            detections = [
                item
                for item in self._intake.live.open()
                if item.pattern in self._chosen and item.status != "shadow" and self._mute(item) is None
            ]
        return sorted(detections, key=lambda item: item.order)

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
        """How many subjects, or histories of one subject, were forgotten to hold `max_histories` at most."""
        return self._intake.evicted

    @property
    def unused(self) -> Counter[tuple[str, str]]:
        """How many readings were not used, by signal and scorer."""
        return self._intake.unused

    @property
    def scores(self) -> LiveScores | None:
        """What was scored, and what stopped the evaluator; None without one."""
        return self._intake.scores

    @property
    def muted(self) -> dict[str, int]:
        """How many detections were muted, by the id of the entry."""
        return dict(self._muted)

    def __repr__(self) -> str:
        counts = ("held", "evicted", "late", "repeated", "refused")
        return f"<Watch: {', '.join(f'{getattr(self, name):,} {name}' for name in counts)}>"

    def save(self) -> dict[str, Any]:
        """The whole state as plain JSON data; `Watch.load` continues from it exactly."""
        with self._lock:
            intake, table = self._intake, _DetectionTable()
            live = intake.live
            return {
                "format": FORMAT,
                "engine": save_engine(live.engine),
                "joins": {
                    join.program.name: {"version": version_of(join.program), "state": join.save(table.pack)}
                    for join in live.joins
                },
                "sources": {
                    name: [
                        source.timed,
                        source.concluded,
                        source.recent,
                        [table.pack(item[-1]) for item in sorted(source.queue, key=lambda item: item[:3])],
                    ]
                    for name, source in live.sources.items()
                },
                "arrivals": {name: arrivals.save() for name, arrivals in intake.arrivals.items()},
                "signals": None if intake.measurer is None else intake.measurer.save(),
                "newest": None if intake.newest is None else micros(intake.newest),
                "late": intake.late,
                "repeated": intake.repeated,
                "refused": intake.refused,
                "evicted": intake.evicted,
                "order": [list(who) for who in intake.order],
                "muted": self.muted,
                "scores": None if intake.scores is None else intake.scores.save(),
                "detections": table.rows,
            }

    @classmethod
    def load(
        cls,
        saved: Mapping[str, Any],
        patterns: Sequence[str | Path] | Library | None = None,
        **options: Any,
    ) -> Watch:
        """A watch that continues from a saved state; options are those of `Watch` itself.

        The saved state of another version of a pattern is not used: the pattern starts empty, and `notes`
        says so.
        """
        watch = cls(patterns, **options)
        watch.restore(saved)
        return watch

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue a new watch from a saved state."""
        if saved.get("format") != FORMAT:
            raise BadUsage(f"invalid format of a saved watch {saved.get('format')!r:.40}: expected {FORMAT}")
        intake, table = self._intake, _DetectionTable(list(saved["detections"]))
        live = intake.live
        lost = load_engine(live.engine, saved["engine"])
        for join in live.joins:
            data = saved["joins"].get(join.program.name)
            if data is None:
                continue
            if data["version"] != version_of(join.program):
                lost.append(join.program.name)
            elif isinstance(join, Combining):
                join.load(data["state"], table.unpack, moment)
            else:
                join.load(data["state"], table.unpack)
        for name, (timed, concluded, recent, queue) in saved["sources"].items():
            source = live.source(name)
            source.timed, source.concluded = timed, concluded
            source.recent = [(us, a, b) for us, a, b in recent]
            for number in queue:
                live._push(source, table.unpack(number))
        intake.arrivals.update({name: Arrivals.load(item) for name, item in saved["arrivals"].items()})
        intake.newest = None if saved["newest"] is None else moment(saved["newest"])
        for name in ("late", "repeated", "refused", "evicted"):
            setattr(intake, name, saved[name])
        intake.order = dict.fromkeys((source, subject) for source, subject in saved["order"])
        self._muted.update(saved["muted"])
        self.notes += [
            f"{name}: saved under another version of the pattern; it starts empty" for name in lost
        ]
        if intake.scores is not None and saved.get("scores") is not None:
            intake.scores.load(saved["scores"])
        if intake.measurer is not None and saved["signals"] is not None:
            unused = intake.measurer.load(saved["signals"])
            self.notes += [f"signal {name}: saved by another version; it starts empty" for name in unused]


def _utc(as_of: datetime) -> datetime:
    if as_of.tzinfo is None:
        raise BadUsage("as_of needs a time zone: datetime(..., tzinfo=UTC)")
    return as_of.astimezone(UTC)


class _DetectionTable:
    """Detections as rows of plain data, each written once; the rows hold what their JSON form omits."""

    def __init__(self, rows: list[Any] | None = None) -> None:
        self.rows: list[Any] = [] if rows is None else rows
        self._numbers: dict[int, tuple[int, Detection]] = {}  # by identity, with the object kept alive
        self._read: dict[int, Detection] = {}

    def pack(self, detection: Detection) -> int:
        """The number of a detection's row."""
        if id(detection) not in self._numbers:
            self._numbers[id(detection)] = (len(self.rows), detection)
            row = {field.name: getattr(detection, field.name) for field in fields(detection)}
            row |= {name: None if row[name] is None else micros(row[name]) for name in TIMES}
            row["evidence"] = [[e.step, e.event, micros(e.at), dict(e.readings)] for e in detection.evidence]
            self.rows.append(row | {"details": dict(detection.details), "history": dict(detection.history)})
        return self._numbers[id(detection)][0]

    def unpack(self, number: int) -> Detection:
        """The detection of a row."""
        if number not in self._read:
            row = self.rows[number]
            times = {name: None if (us := row.get(name)) is None else moment(us) for name in TIMES}
            evidence = tuple(
                Evidence(step, event, moment(us), dict(r)) for step, event, us, r in row["evidence"]
            )
            tuples = {name: tuple(row[name]) for name in TUPLES}
            self._read[number] = Detection(**{**row, **times, **tuples, "evidence": evidence})
        return self._read[number]
