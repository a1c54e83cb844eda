"""Rows of a store as columns of events."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from msgspec import DecodeError
from msgspec.json import Decoder
from numpy.typing import NDArray

from ..ingest.batch import EventList, EventSequence, without_readings
from ..ingest.event_columns import MANY_SIGNALS, THIN, Coded, Column, EventColumns, Readings, Sparse, in_order
from ..models import INPUT_SCORER, Event, Reading
from ..models.slotted import replace
from .blocks import NUMBERS, TEXTS, Cells, RowColumns
from .records import Source, Who
from .rows import COLUMNS, MARK, NOT_KEPT, STEPS, Row, is_preferred

_NUMBERS = Decoder(list[dict[str, float] | None])


def columns_of(
    rows: RowColumns,
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
    size = len(rows)
    if not size:
        return EventList()
    keys, codes = np.unique(rows.numbers["subject"], return_inverse=True)
    whose = [subjects[key] for key in keys.tolist()]
    names = list(dict.fromkeys(source for source, _ in whose))
    fields: dict[str, Column] = {
        name: rows.texts[name]
        for name in ("target", "thread", "session", "reply_to", "text")
        if name in rows.texts
    }
    fields["subject"] = Coded(codes.astype(np.int32), [name for _, name in whose])
    kinds = rows.texts["kind"]
    if "attributes" in rows.texts:
        attributes = _decoded(rows.texts["attributes"])
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
    wide = len(rows.cells) > MANY_SIGNALS
    events = EventColumns(
        names[0],
        rows.numbers["at_us"],
        rows.numbers["seq"],
        rows.texts["id"],
        fields,
        {name: _column(size, *rows.cells[name], wide) for name in sorted(rows.cells)},
        timed=timed,
    )
    event_keys = rows.numbers["key"].tolist() if measured or rows.scored else ()
    events.measured = _scored_events(events, event_keys, rows.scored, measured, without, scorers)
    # Where most readings name their scorers, columns of the others are of no use.
    return in_order(events) if 2 * len(events.measured) < size else EventList(in_order(events))


def row_columns(rows: Sequence[Row]) -> RowColumns:
    """Rows of the columns in COLUMNS, by column."""
    lists: dict[str, Any] = dict(
        zip(COLUMNS, zip(*rows, strict=True) if rows else [()] * len(COLUMNS), strict=True)
    )
    numbers = {name: np.array(lists[name], np.int64) for name in NUMBERS}
    texts = {name: lists[name] for name in TEXTS if lists[name].count(None) < len(rows)}
    return RowColumns(numbers, texts, *_readings(lists["readings"]))


def _decoded(texts: Sequence[str | None]) -> list[Any]:
    # As one text: the decoder is called once.
    decoded: list[Any] = json.loads(f"[{','.join([text or 'null' for text in texts])}]")
    return decoded


def _readings(texts: Sequence[str | None]) -> tuple[dict[str, Cells], dict[int, list[Reading]]]:
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
    return _cells([readings or {} for readings in rows]), scored


def _cells(rows: Sequence[dict[str, Any]]) -> dict[str, Cells]:
    """The readings by name; without a step of the interpreter for each of them."""
    names = list(chain.from_iterable(rows))
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    code = np.fromiter(map(codes.__getitem__, names), np.int32, len(names))
    order = np.argsort(code, kind="stable")
    at = np.repeat(np.arange(len(rows)), np.fromiter(map(len, rows), np.int64, len(rows)))[order]
    values = _numbers(list(chain.from_iterable(map(dict.values, rows))))
    cells: dict[str, Cells] = {}
    start = 0
    for name, count in zip(codes, np.bincount(code).tolist(), strict=True):
        places = order[start : start + count]
        if isinstance(values, np.ndarray):
            cells[name] = (at[start : start + count], values[places])
        else:
            cells[name] = (at[start : start + count], _numbers([values[place] for place in places.tolist()]))
        start += count
    return cells


def _numbers(values: list[Any]) -> NDArray[np.float64] | list[Any]:
    return np.array(values, np.float64) if set(map(type, values)) <= {float, int} else values


def _column(
    size: int, rows: NDArray[np.int64], values: NDArray[np.float64] | list[Any], is_thin: bool
) -> Readings:
    if isinstance(values, np.ndarray):
        if is_thin and THIN * len(rows) < size:
            return Sparse(rows, values, size)
        numbers = np.full(size, np.nan)
        numbers[rows] = values
        return numbers
    out: list[Any] = [None] * size
    for row, value in zip(rows.tolist(), values, strict=True):
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
