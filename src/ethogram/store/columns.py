"""Rows of a store as columns of events."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import DecodeError
from msgspec.json import Decoder

from ..ingest.batch import EventList, EventSequence, without_readings
from ..ingest.event_columns import MANY_SIGNALS, THIN, Coded, Column, EventColumns, Readings, Sparse, in_order
from ..models import INPUT_SCORER, Event, Reading
from ..models.slotted import replace
from .records import Source, Who
from .rows import COLUMNS, MARK, NOT_KEPT, STEPS, Row, is_preferred

_NUMBERS = Decoder(list[dict[str, float] | None])


def columns_of(
    rows: Sequence[Row],
    subjects: Mapping[int, Who],
    sources: Mapping[str, Source],
    measured: Mapping[int, list[Reading]],
    without: Collection[str],
    scorers: Mapping[str, str],
) -> EventSequence:
    """Return the events of rows, in order; `measured` has readings of the table `readings` by key.

    Readings by our own signals that `without` names are left out, and steps of a run without their texts get
    another kind. Readings by the wanted `scorers` come before all others.
    """
    if not rows:
        return EventList()
    lists: dict[str, Any] = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    number = {key: code for code, key in enumerate(dict.fromkeys(lists["subject"]))}
    codes = np.array([number[key] for key in lists["subject"]], np.int32)
    whose = [subjects[key] for key in number]
    names = list(dict.fromkeys(source for source, _ in whose))
    fields: dict[str, Column] = {
        name: lists[name]
        for name in ("target", "thread", "session", "reply_to", "text")
        if lists[name].count(None) < len(rows)
    }
    fields["subject"] = Coded(codes, [name for _, name in whose])
    attributes = _decoded(lists["attributes"])
    kinds = lists["kind"]
    if attributes is not None:
        fields["attributes"] = attributes
        kinds = [
            f"{kind}{NOT_KEPT}" if own and kind in STEPS and MARK in own else kind
            for kind, own in zip(kinds, attributes, strict=True)
        ]
    fields["kind"] = kinds
    timed: Any = sources[names[0]].timed
    if len(names) > 1:
        of = np.array([names.index(source) for source, _ in whose], np.int32)[codes]
        fields["source"] = Coded(of, names)
        timed = np.array([sources[name].timed for name in names])[of]
    readings, scored = _readings(lists["readings"])
    events = EventColumns(
        names[0],
        np.array(lists["at_us"], np.int64),
        np.array(lists["seq"], np.int64),
        lists["id"],
        fields,
        readings,
        timed=timed,
    )
    events.measured = _scored_events(events, lists["key"], scored, measured, without, scorers)
    # Where most readings name their scorers, columns of the others are of no use.
    return in_order(events) if 2 * len(events.measured) < len(rows) else EventList(in_order(events))


def _decoded(texts: Sequence[str | None]) -> list[Any] | None:
    if texts.count(None) == len(texts):
        return None
    # As one text: the decoder is called once.
    decoded: list[Any] = json.loads(f"[{','.join([text or 'null' for text in texts])}]")
    return decoded


def _readings(texts: Sequence[str | None]) -> tuple[dict[str, Readings], dict[int, list[Reading]]]:
    """Return the readings by name, and those that name their scorer by row."""
    whole = f"[{','.join([text or 'null' for text in texts])}]"
    scored: dict[int, list[Reading]] = {}
    rows: Sequence[dict[str, Any] | None]
    try:
        rows = _NUMBERS.decode(whole)
    except DecodeError:
        rows = json.loads(whole)
        for row, readings in enumerate(rows):
            for name, value in (readings or {}).items():
                if isinstance(value, dict) and readings is not None:
                    readings[name] = value["value"]
                    scorer, width = value.get("scorer", INPUT_SCORER), value.get("width")
                    scored.setdefault(row, []).append(Reading(name, value["value"], scorer, width))
    cells: dict[str, tuple[list[int], list[Any]]] = {}
    for row, readings in enumerate(rows):
        for name, value in (readings or {}).items():
            at, values = cells.setdefault(name, ([], []))
            at.append(row)
            values.append(value)
    wide = len(cells) > MANY_SIGNALS
    return {name: _column(len(rows), *cells[name], wide) for name in sorted(cells)}, scored


def _column(size: int, rows: list[int], values: list[Any], is_thin: bool) -> Readings:
    if set(map(type, values)) <= {float, int}:
        if is_thin and THIN * len(rows) < size:
            return Sparse(np.array(rows, np.int64), np.array(values, np.float64), size)
        numbers = np.full(size, np.nan)
        numbers[rows] = values
        return numbers
    out: list[Any] = [None] * size
    for row, value in zip(rows, values, strict=True):
        out[row] = value
    return out


def _scored_events(
    events: EventColumns,
    keys: Sequence[int],
    scored: Mapping[int, list[Reading]],
    measured: Mapping[int, list[Reading]],
    without: Collection[str],
    wanted: Mapping[str, str],
) -> dict[int, Event]:
    """Return the events with readings that name their scorer, by row; what came with an event wins."""
    rows = {*scored, *(row for row, key in enumerate(keys) if key in measured)} if measured else set(scored)

    def drop(name: str, scorer: str) -> bool:
        return name in without and scorer.startswith(f"{name}@")

    out: dict[int, Event] = {}
    for row in rows:
        event = events.event(row)
        readings, scorers, widths = dict(event.readings), {}, {}
        own = measured.get(keys[row], ())
        first = [item for item in own if is_preferred(item, wanted)]
        later = [item for item in own if item.signal not in readings]
        for item in (*first, *scored.get(row, ()), *later):
            if item.signal not in scorers:
                readings[item.signal], scorers[item.signal] = item.value, item.scorer
                if item.width is not None:
                    widths[item.signal] = item.width
        event = replace(event, readings=readings, scorers=scorers, widths=widths)
        out[row] = without_readings(event, drop, Counter())
    return out
