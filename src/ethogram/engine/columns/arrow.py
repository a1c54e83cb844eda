"""Tables of Arrow columns and Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...language.history import FIELDS
from ...models import TRAITS, is_indicator_name
from .table import Column, EventTable, Ints, PlainColumns, Texts, in_order

BATCH_ROWS = 131_072
"""Rows of a Parquet column that are read at a time."""


def from_parquet(path: Path | str, *, signals: Collection[str] = (), source: str = "input") -> EventTable:
    """The table of a flat Parquet file; each column is read when it is needed."""
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    names = file.schema_arrow.names

    def load(name: str) -> Any:
        batches = [batch.column(0) for batch in file.iter_batches(BATCH_ROWS, columns=[name])]
        return pyarrow.chunked_array(batches, file.schema_arrow.field(name).type).combine_chunks()

    return from_arrow(names, load, signals=signals, source=source)


def from_arrow(
    names: Sequence[str], load: Callable[[str], Any], *, signals: Collection[str] = (), source: str = "input"
) -> EventTable:
    """The table of Arrow columns that `load` gives by name: fields of events, readings, else attributes.

    Traits, indicators and `signals` are readings. Rows are sorted by subject, time and `seq` where they are
    not yet. Without a column `at` the source has no times.
    """
    own = {*FIELDS, "id", "at", "seq"}
    texts, timed = Texts(), "at" in names
    readings = [n for n in names if n not in own and (n in TRAITS or is_indicator_name(n) or n in signals)]
    people = load("subject").dictionary_encode()
    who = np.asarray(people.indices.to_numpy(zero_copy_only=False)).astype(np.int64)
    seq = np.asarray(load("seq").to_numpy(zero_copy_only=False)).astype(np.int64) if "seq" in names else None
    count = np.arange(len(who)) if seq is None else seq
    times = _times(load("at")) if timed else count * 1_000_000
    order = in_order(times, who, count)
    identifiers: list[Any] = []

    def put(values: Any) -> Any:
        return values if order is None else values[order]

    def column(name: str) -> Column:
        result = _column(load(name), texts)
        result = result if order is None else result.at(order)
        return replace(result, rounded=name not in readings)

    def event_id(row: int) -> str | None:
        if not identifiers:
            # Many texts that only detections ask for.
            identifiers.append(load("id") if "id" in names else None)
        column = identifiers[0]
        value = None if column is None else column[row if order is None else int(order[row])].as_py()
        return None if value is None else str(value)

    return PlainColumns(
        put(times),
        put(who),
        [str(name) for name in people.dictionary.to_pylist()],
        column,
        readings=readings,
        attributes=[name for name in names if name not in own and name not in readings],
        fields=[name for name in names if name in own],
        seq=seq if order is None else count[order],
        ids=event_id,
        source=source,
        timed=timed,
        texts=texts,
    )


def _times(column: Any) -> Ints:
    import pyarrow

    if pyarrow.types.is_timestamp(column.type):
        column = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    return np.asarray(column.cast(pyarrow.int64()).to_numpy(zero_copy_only=False))


def _column(column: Any, texts: Texts) -> Column:
    import pyarrow

    kind = column.type
    if pyarrow.types.is_boolean(kind):
        column = column.cast("int8")
    if pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind):
        num = column.to_numpy(zero_copy_only=False)
        return Column(num if kind == pyarrow.float32() else num.astype(np.float64, copy=False))
    if not pyarrow.types.is_dictionary(kind):
        column = column.dictionary_encode()
    new = texts.encode([str(text) for text in column.dictionary.to_pylist()])
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Column(code=np.where(codes < 0, -1, new[codes] if len(new) else -1).astype(np.int32))
