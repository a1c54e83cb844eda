"""Traces: readings over time of the signals behind detections, for charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from ..ingest.batch import sequence_of
from ..language.history import is_in
from ..models import Detection, Event, Value
from ..models.slotted import dataclass, field

MOST = 500
"""Points of one signal in one history."""

HistoryKey = tuple[str, tuple[tuple[str, Value], ...]]
"""A source and the fields of a history."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trace:
    """One signal in one history: (time, value) in order, at most MOST; `total` says of how many."""

    source: str
    subject: str
    history: Mapping[str, Value]
    signal: str
    points: tuple[tuple[datetime, float], ...]
    total: int


@dataclass(frozen=True, slots=True)
class Traces:
    """The readings and events behind detections.

    `moments` are the times of all events of each history with a detection, at most MOST;
    `as_of` is the moment of the evaluation by source; `untimed` are sources without times.
    """

    lines: tuple[Trace, ...] = ()
    moments: Mapping[HistoryKey, tuple[datetime, ...]] = field(default_factory=dict)
    as_of: Mapping[str, datetime] = field(default_factory=dict)
    untimed: frozenset[str] = frozenset()


def history_key(detection: Detection) -> HistoryKey:
    """Return the history in which a detection was made."""
    return (detection.source, tuple(detection.history.items()))


def trace(detections: Sequence[Detection], events: Iterable[Event], as_of: datetime) -> Traces:
    """The traces of the signals named in the detections' evidence. Events must be measured and in order."""
    wanted: dict[tuple[str, str], dict[HistoryKey, dict[str, None]]] = {}  # subject -> history -> signals
    proof: set[tuple[str, str]] = set()  # source and id of every event that is evidence
    for detection in detections:
        key = history_key(detection)
        signals = wanted.setdefault((detection.source, detection.subject), {}).setdefault(key, {})
        for evidence in detection.evidence:
            proof.add((detection.source, evidence.event))
            signals |= dict.fromkeys(
                name for name, value in evidence.readings.items() if not isinstance(value, str)
            )
    moments: dict[HistoryKey, list[tuple[datetime, bool]]] = {
        key: [] for histories in wanted.values() for key in histories
    }
    points: dict[tuple[HistoryKey, str], list[tuple[datetime, float, bool]]] = {}
    untimed = set()
    for event in sequence_of(events).of_subjects(wanted):
        is_proof = (event.source, event.id) in proof
        if not event.timed:
            untimed.add(event.source)
        for key, signals in wanted[event.source, event.subject].items():
            if is_in(dict(key[1]), event):
                moments[key].append((event.at, is_proof))
                for signal in signals:
                    if isinstance(value := event.readings.get(signal), (int, float)):
                        points.setdefault((key, signal), []).append((event.at, float(value), is_proof))
    return Traces(
        tuple(_trace(key, signal, own) for (key, signal), own in sorted(points.items(), key=str)),
        {key: tuple(at for at, _ in thin(times, MOST)) for key, times in moments.items()},
        {detection.source: as_of for detection in detections},
        frozenset(untimed),
    )


def joined_traces(some: Iterable[Traces], keys: Iterable[HistoryKey]) -> Traces:
    """The traces of disjoint sets of histories as one, in order of `keys`."""
    every = list(some)
    lines = [line for item in every for line in item.lines]
    lines.sort(key=lambda line: str(((line.source, tuple(line.history.items())), line.signal)))
    moments = {key: times for item in every for key, times in item.moments.items()}
    as_of = {source: at for item in every for source, at in item.as_of.items()}
    untimed = frozenset(source for item in every for source in item.untimed)
    return Traces(tuple(lines), {key: moments[key] for key in keys}, as_of, untimed)


def thin(points: Sequence[T], most: int) -> list[T]:
    """At most `most` points, evenly chosen, with all whose last item is true, and both ends.

    Where more than `most` are true, evenly chosen ones of them.

    >>> thin([(1, False), (2, False), (3, True), (4, False), (5, False)], 3)
    [(1, False), (3, True), (5, False)]
    """
    if len(points) <= most:
        return list(points)
    indexes = [index for index, point in enumerate(points) if point[-1]]  # type: ignore[index]
    if len(indexes) > most:
        return [points[indexes[i * len(indexes) // most]] for i in range(most)]
    others = [index for index, point in enumerate(points) if not point[-1]]  # type: ignore[index]
    room = most - len(indexes)
    even = [others[round(i * (len(others) - 1) / max(room - 1, 1))] for i in range(min(room, len(others)))]
    return [points[index] for index in sorted({*indexes, *even})]


def _trace(key: HistoryKey, signal: str, points: list[tuple[datetime, float, bool]]) -> Trace:
    source, history = key[0], dict(key[1])
    shown = tuple((at, value) for at, value, _ in thin(points, MOST))
    return Trace(source, str(history.get("subject", "")), history, signal, shown, len(points))
