"""Columns of a flat Parquet file, each read when it is needed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from ...records import TRAITS, is_indicator_name
from ..history import FIELDS
from .columns import Codes, Floats, Ints, Texts, Values
from .table import TableColumns

AT_ONCE = 131_072
"""Rows of a column read in one piece."""


def from_parquet(path: Path | str, *, signals: Collection[str] = (), source: str = "input") -> TableColumns:
    """A flat Parquet file: fields of events, readings (traits, indicators, `signals`), else attributes.

    Rows of one subject must stand in order of time, or they are put so; columns are read when needed.
    """
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    names = list(file.schema_arrow.names)
    known = {*FIELDS, "id", "at", "seq"}
    readings = [n for n in names if n not in known and (n in TRAITS or is_indicator_name(n) or n in signals)]
    texts = Texts()
    timed = "at" in names
    seq = _ints(file, "seq") if "seq" in names else None
    subjects, people = _subjects(file)
    rows = len(subjects)
    times = _times(file) if timed else (np.arange(rows) if seq is None else seq) * 1_000_000
    order = in_order(times, subjects, np.arange(rows) if seq is None else seq)

    def put(values: Any) -> Any:
        return values if order is None else values[order]

    def load(name: str) -> Values:
        found = _values(file, name, texts)
        return found if order is None else found.at(order)

    said: list[Any] = []

    def event_id(row: int) -> str | None:
        if not said:
            # Many texts that only detections ask for.
            said.append(_column_of(file, "id") if "id" in names else None)
        found = None if said[0] is None else said[0][row if order is None else int(order[row])].as_py()
        return None if found is None else str(found)

    if order is not None:
        seq = order if seq is None else seq[order]
    return TableColumns(
        put(times),
        put(subjects).astype(np.int64),
        people,
        load,
        readings=readings,
        attributes=[n for n in names if n not in known and n not in readings],
        fields=[n for n in names if n in known],
        seq=seq,
        ids=event_id,
        source=source,
        timed=timed,
        texts=texts,
    )


def in_order(times: Ints, subjects: Codes, seq: Ints) -> Ints | None:
    """An order by subject, time and sequence, or None where rows of each subject are so already."""
    if not len(times):
        return None
    same = subjects[1:] == subjects[:-1]
    later = (times[1:] > times[:-1]) | ((times[1:] == times[:-1]) & (seq[1:] >= seq[:-1]))
    together = int(np.count_nonzero(~same)) + 1 == len(np.unique(subjects))
    if together and bool((later | ~same).all()):
        return None
    return np.lexsort((seq, times, subjects))


def _column_of(file: Any, name: str) -> Any:
    table = file.read(columns=[name])
    return table.column(0).combine_chunks() if table.num_rows else table.column(0)


def _ints(file: Any, name: str) -> Ints:
    return np.asarray(_column_of(file, name).to_numpy(zero_copy_only=False)).astype(np.int64)


def _times(file: Any) -> Ints:
    import pyarrow

    column = _column_of(file, "at")
    if pyarrow.types.is_timestamp(column.type):
        column = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    return np.asarray(column.cast(pyarrow.int64()).to_numpy(zero_copy_only=False))


def _subjects(file: Any) -> tuple[Codes, list[str]]:
    column = _column_of(file, "subject").dictionary_encode()
    codes = np.asarray(column.indices.to_numpy(zero_copy_only=False)).astype(np.int32)
    return codes, [str(name) for name in column.dictionary.to_pylist()]


def _values(file: Any, name: str, texts: Texts) -> Values:
    import pyarrow

    kind = file.schema_arrow.field(name).type
    if pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind):
        found = _numbers(file, name, np.float32 if kind == pyarrow.float32() else np.float64)
        return Values(found, None, full=not len(found) or not np.isnan(found.min()))
    column = _column_of(file, name)
    if not pyarrow.types.is_dictionary(kind):
        column = column.dictionary_encode()
    new = texts.encode([str(one) for one in column.dictionary.to_pylist()])
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Values(None, np.where(codes < 0, -1, new[codes] if len(new) else -1).astype(np.int32))


def _numbers(file: Any, name: str, kind: Any) -> Floats:
    """A column of numbers, filled piece by piece, so that it is in memory only once."""
    out = np.empty(file.metadata.num_rows, kind)
    start = 0
    for batch in file.iter_batches(AT_ONCE, columns=[name]):
        column = batch.column(0)
        if column.type == "bool":
            column = column.cast("int8")
        out[start : start + len(column)] = column.to_numpy(zero_copy_only=False)
        start += len(column)
    return out
