"""Traces: how the signals that counted went over time, for whoever draws the detections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from ..language.history import FIELDS, attribute
from ..models import Detection, Event, Value
from ..models.slotted import dataclass, field

MOST = 500
"""Points kept of one signal in one history."""

Who = tuple[str, str]
Whose = tuple[str, tuple[tuple[str, Value], ...]]
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
    """What stands behind the detections.

    `moments` are the times of all events of each (source, subject) with a detection, at most MOST;
    `as_of` is the moment of the question by source; `untimed` are sources whose times only keep order.
    """

    lines: tuple[Trace, ...] = ()
    moments: Mapping[Who, tuple[datetime, ...]] = field(default_factory=dict)
    as_of: Mapping[str, datetime] = field(default_factory=dict)
    untimed: frozenset[str] = frozenset()


def trace(detections: Sequence[Detection], events: Iterable[Event], as_of: datetime) -> Traces:
    """The traces of the signals named in the detections' evidence. Events must be measured and in order."""
    wanted, proof = _wanted(detections)
    moments: dict[Who, list[tuple[datetime, bool]]] = {
        (detection.source, detection.subject): [] for detection in detections
    }
    record: dict[tuple[Whose, str], list[tuple[datetime, float, bool]]] = {}
    untimed = set()
    for event in events:
        who = (event.source, event.subject)
        if who not in moments:
            continue
        moments[who].append((event.at, (event.source, event.id) in proof))
        if not event.timed:
            untimed.add(event.source)
        for whose, signals in wanted.get(who, {}).items():
            if _is_in(event, whose):
                for signal in signals:
                    value = event.readings.get(signal)
                    if isinstance(value, (int, float)):
                        counted = (event.source, event.id) in proof
                        record.setdefault((whose, signal), []).append((event.at, float(value), counted))
    lines = tuple(_line(whose, signal, points) for (whose, signal), points in sorted(record.items(), key=str))
    seen = {who: tuple(at for at, _ in thin(times, MOST)) for who, times in moments.items()}
    return Traces(lines, seen, {detection.source: as_of for detection in detections}, frozenset(untimed))


def joined_traces(some: Iterable[Traces], who: Iterable[Who]) -> Traces:
    """The traces of several lots of subjects that share none, as `trace` gives them, in order of `who`."""
    every = list(some)
    lines = [line for item in every for line in item.lines]
    lines.sort(key=lambda line: str(((line.source, tuple(line.history.items())), line.signal)))
    moments = {name: times for item in every for name, times in item.moments.items()}
    as_of = {source: at for item in every for source, at in item.as_of.items()}
    untimed = frozenset(source for item in every for source in item.untimed)
    return Traces(tuple(lines), {name: moments[name] for name in who}, as_of, untimed)


def thin(points: Sequence[T], most: int) -> list[T]:
    """At most `most` points, evenly chosen, with all whose last item is true, and both ends.

    Of more proofs than `most`, evenly chosen ones.

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


def _wanted(
    detections: Sequence[Detection],
) -> tuple[dict[Who, dict[Whose, dict[str, None]]], set[tuple[str, str]]]:
    """Signals by history by subject; and the (source, id) of every event that is evidence."""
    wanted: dict[Who, dict[Whose, dict[str, None]]] = {}
    proof: set[tuple[str, str]] = set()
    for detection in detections:
        whose = (detection.source, tuple(detection.history.items()))
        signals = wanted.setdefault((detection.source, detection.subject), {}).setdefault(whose, {})
        for evidence in detection.evidence:
            proof.add((detection.source, evidence.event))
            signals |= dict.fromkeys(
                name for name, value in evidence.readings.items() if not isinstance(value, str)
            )
    return wanted, proof


def _is_in(event: Event, whose: Whose) -> bool:
    """Whether an event belongs to a history, by the values of its fields."""
    return all(_field(event, name) == value for name, value in whose[1])


def _field(event: Event, name: str) -> Value | None:
    reading = None if name in FIELDS else event.readings.get(name)
    return attribute(event, name) if reading is None else reading


def _line(whose: Whose, signal: str, points: list[tuple[datetime, float, bool]]) -> Trace:
    history = dict(whose[1])
    kept = tuple((at, value) for at, value, _ in thin(points, MOST))
    return Trace(whose[0], str(history.get("subject", "")), history, signal, kept, len(points))
