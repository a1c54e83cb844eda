"""Comparing an engine with the plain reading, field by field."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import naive
from ethogram.engine.detect import find
from ethogram.engine.match import NO_TIMES
from ethogram.ingest.event_columns import EventColumns, Readings
from ethogram.language.compiler import compile_patterns
from ethogram.models import EPOCH, Detection, Event, micros
from strategies import Case

Row = dict[str, Any]


def product(case: Case, engine: str = "live") -> tuple[list[Row], set[tuple[str, tuple[Any, ...]]]]:
    """What the product finds, as rows; and the histories without times it cannot judge."""
    events = sorted(case.events, key=lambda event: event.order)
    as_of = case.as_of or max((event.at for event in events), default=EPOCH)
    seen: Sequence[Event] = [event for event in events if event.at <= as_of]
    if engine == "lines":
        seen, engine = as_lines(seen), "columns"
    found = find(compile_patterns(case.patterns), seen, as_of=as_of, cap=case.cap, engine=engine)
    untimed = {(item.program.name, item.key) for item in found.insufficient if item.reason == NO_TIMES}
    return [row_of(detection) for detection in found.detections], untimed


def as_lines(events: Sequence[Event]) -> Sequence[Event]:
    """The events as a reader of event lines has them; as they are where lines are read one by one."""
    sources = {event.source for event in events}
    kinds = {(name, type(value)) for event in events for name, value in event.readings.items()}
    names = dict.fromkeys(name for name, _ in kinds)
    if not events or len(names) != len(kinds):
        return events
    fields: dict[str, Sequence[Any]] = {
        name: [getattr(event, name) for event in events]
        for name in ("source", "subject", "target", "reply_to", "thread", "session", "kind", "text")
    }
    fields["attributes"] = [dict(event.attributes) or None for event in events]
    readings: dict[str, Readings] = {}
    for name in names:
        values: list[Any] = [event.readings.get(name) for event in events]
        readings[name] = values if (name, str) in kinds else np.array(values, np.float64)
    timed: Any = np.array([event.timed for event in events])
    if len(sources) == 1:
        del fields["source"]
        timed = events[0].timed
    return EventColumns(
        events[0].source,
        np.array([micros(event.at) for event in events], np.int64),
        np.array([event.seq for event in events], np.int64),
        [event.id for event in events],
        {name: column for name, column in fields.items() if column.count(None) < len(events)},
        readings,
        timed=timed,
    )


def plain_reading(case: Case) -> tuple[list[Row], set[tuple[str, tuple[Any, ...]]]]:
    """What the plain reading finds, as rows of the same form."""
    found, insufficient = case.expected or naive.run(
        case.patterns, case.events, as_of=case.as_of, cap=case.cap
    )
    return [row_of(item) for item in found], insufficient


def row_of(detection: Detection | naive.Found) -> Row:
    history = tuple(detection.history.values()) if isinstance(detection, Detection) else detection.history
    evidence = (
        tuple((entry.step, entry.event) for entry in detection.evidence)
        if isinstance(detection, Detection)
        else detection.evidence
    )
    names = (
        "pattern", "id", "state", "severity", "confidence", "opened_at", "detected_at", "closed_at",
        "first_event", "last_event", "last_at", "count", "parts",
    )  # fmt: skip
    row = {name: getattr(detection, name) for name in names}
    return row | {"history": history, "evidence": evidence, "details": dict(detection.details)}


def differences(ours: Sequence[Row], theirs: Sequence[Row]) -> list[str]:
    """Sentences that say where two lists of rows differ; numbers may differ in the sixth place."""
    if [row["id"] for row in ours] != [row["id"] for row in theirs]:
        return [f"ids differ: {[_short(r) for r in ours]} and {[_short(r) for r in theirs]}"]
    return [
        f"{mine['pattern']} {name}: {mine[name]!r} and {his[name]!r}"
        for mine, his in zip(ours, theirs, strict=True)
        for name in mine
        if not _same(mine[name], his[name])
    ]


def _short(row: Row) -> str:
    return f"{row['pattern']}{row['history']} {row['first_event']}-{row['last_event']}"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        # Six places are what is promised; a number halfway between two may round either way.
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=2e-6)
    return bool(a == b)
