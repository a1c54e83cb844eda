"""Where a subject stands: what it did, where its readings go, what was detected, what is under way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..config import Settings
from ..errors import BadUsage, did_you_mean
from ..library.load import Library
from ..records import Detection, Event, Value, format_time
from ..shapes.program import SequenceProgram
from ..shapes.statistics import mean, rise, tau
from ..stores.protocol import Store, SubjectRow
from .measured import measured_events
from .scorers import only_scorers
from .stages import Stage, stages

LAST = 50
"""Readings that averages and trends are taken over."""
STEADY = 0.2
"""A tau of less than this, either way, is no trend."""


@dataclass(frozen=True, slots=True)
class SignalContext:
    """One signal of a subject over its newest readings. A category has `values`, a number the rest.

    `rise` is what a straight line through them gains, `tau` from -1 (always falling) to 1 (always rising).
    """

    signal: str
    count: int
    latest: Value
    mean: float | None = None
    rise: float | None = None
    tau: float | None = None
    values: Mapping[str, int] = field(default_factory=dict)

    @property
    def trend(self) -> str:
        """rising, falling or steady; '' where there is none to speak of."""
        if self.tau is None:
            return ""
        return "steady" if abs(self.tau) < STEADY else "rising" if self.tau > 0 else "falling"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        out: dict[str, Any] = {"signal": self.signal, "count": self.count, "latest": self.latest}
        if self.values:
            return {**out, "values": dict(self.values)}
        return {**out, "mean": self.mean, "rise": self.rise, "tau": self.tau, "trend": self.trend}


@dataclass(frozen=True, slots=True)
class SubjectContext:
    """What is known of a subject at a moment: for evaluators, and for `ethogram subject`."""

    source: str
    subject: str
    as_of: datetime
    events: int
    timed: bool
    first_at: datetime | None
    last_at: datetime | None
    kinds: Mapping[str, int]
    targets: Mapping[str, int]
    threads: int
    signals: tuple[SignalContext, ...]
    detections: tuple[Detection, ...]
    stages: tuple[Stage, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "record": "subject",
            "source": self.source,
            "subject": self.subject,
            "as_of": format_time(self.as_of),
            "events": self.events,
            "timed": self.timed,
            "first_at": None if self.first_at is None else format_time(self.first_at),
            "last_at": None if self.last_at is None else format_time(self.last_at),
            "kinds": dict(self.kinds),
            "targets": dict(self.targets),
            "threads": self.threads,
            "signals": [one.to_dict() for one in self.signals],
            "detections": [one.to_dict() for one in self.detections],
            "stages": [one.to_dict() for one in self.stages],
        }


def subject_context(
    store: Store,
    source: str,
    name: str,
    as_of: datetime,
    *,
    library: Library | None = None,
    settings: Settings | None = None,
) -> SubjectContext:
    """Where a subject stands at a moment, from the store alone; of a subject without events, an empty one.

    `library` are the patterns whose stages are told; without it none are. Detections are those that sweeps
    kept; what was detected later than `as_of` is left out.
    """
    settings = settings or Settings()
    programs = [] if library is None else [one for one in library.programs if library.is_chosen(one)]
    staged = [one for one in programs if isinstance(one.body, SequenceProgram)]
    given = list(store.events([(source, name)], until=as_of))
    supplied, _ = only_scorers(given, settings.scorers)
    measured, _ = measured_events(supplied, staged, settings)
    events, _ = only_scorers(measured, settings.scorers)
    kept = store.detections(subjects=[(source, name)], parts=False)
    told = [one for one in kept if one.detected_at <= as_of and one.status != "test"]
    if told and store.has_verdicts():
        from .calibrating import with_probabilities  # which brings in numpy

        told = with_probabilities(told, store, settings)
    return SubjectContext(
        source=source,
        subject=name,
        as_of=as_of,
        events=len(events),
        timed=all(event.timed for event in events),
        first_at=events[0].at if events else None,
        last_at=events[-1].at if events else None,
        kinds=_counted(event.kind for event in given),
        targets=_counted(event.target for event in events if event.target is not None),
        threads=len({event.thread for event in events if event.thread is not None}),
        signals=tuple(signal_contexts(events)),
        detections=tuple(told),
        stages=tuple(stages(staged, events, as_of)),
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def signal_contexts(events: Sequence[Event], last: int = LAST) -> list[SignalContext]:
    """Every signal the events carry, by name."""
    readings: dict[str, list[Value]] = {}
    for event in events:
        for signal, value in event.readings.items():
            readings.setdefault(signal, []).append(value)
    return [_signal(name, values, last) for name, values in sorted(readings.items())]


def _signal(name: str, values: list[Value], last: int) -> SignalContext:
    newest = values[-last:]
    numbers = [float(one) for one in newest if not isinstance(one, str)]
    if len(numbers) < len(newest):
        return SignalContext(name, len(values), values[-1], values=_counted(str(one) for one in newest))
    middle, gained, order = (_rounded(measure(numbers)) for measure in (mean, rise, tau))
    return SignalContext(name, len(values), values[-1], middle, gained, order)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def find_subject(store: Store, name: str, source: str | None = None) -> SubjectRow:
    """The one subject of that name; BadUsage where there is none, or one in each of several sources."""
    found = store.subjects(name, source)
    if len(found) == 1:
        return found[0]
    if found:
        sources = ", ".join(one.source for one in found)
        raise BadUsage(f"{name!r:.80} is a subject of several sources ({sources}); say which with --source")
    every = [one.name for one in store.sources().values()]
    if source is not None and source not in every:
        near = did_you_mean(source, every) or f"; there are {', '.join(every[:5])}"
        raise BadUsage(f"no source {source!r:.80} in the store{near}")
    known = [one.name for one in store.subjects(source=source)]
    raise BadUsage(f"no subject {name!r:.80} in the store{did_you_mean(name, known)}")
