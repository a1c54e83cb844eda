"""Parquet: columns as in CSV, and `readings` and `attributes` as structs, maps or JSON text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from ...errors import MissingExtra
from ...models import format_time
from ...models.limits import FREE_RECORDS, Limits, over
from ..errors import BadLine, Unreadable
from ..format import Adapter, Input, Record, adapter
from ..streams import size_of, too_large, whole
from ..tables import Column, columns_of, kind_of, line_of, strays_of

MAGIC = b"PAR1"
ROWS = 4096
"""Rows held at once."""
TIGHT = 10
"""Times as many records for each byte as in other compressed files: columns of a kind pack well."""
HELD = 32 * 2**20
"""Bytes of nested texts that one batch of rows may come to."""
DICTIONARIES = frozenset({"PLAIN_DICTIONARY", "RLE_DICTIONARY"})


@adapter("parquet")
class Parquet(Adapter):
    """Begins with PAR1. Needs the package pyarrow."""

    general = True
    suffixes = (".parquet",)

    def recognises(self, head: bytes, name: str) -> bool:
        return head.startswith(MAGIC)

    def read(self, file: Input) -> Iterator[Record]:
        """One record for each row; `line` is the row's number from 1."""
        if not file.head.startswith(MAGIC):
            raise Unreadable("not a Parquet file: it does not begin with PAR1")
        table, most = _open(file)
        try:
            columns = columns_of(names := table.schema_arrow.names, file.kinds)
        except BadLine as bad:
            yield 0, bad.message, 0
            return
        strays, kind = strays_of(names, columns, file.kinds), kind_of(columns)
        number = 0
        for rows in _batches(table, _rows_at_once(table.metadata)):
            most -= sum(map(_characters, rows))
            if most < 0:
                raise Unreadable(over("ratio", file.limits.ratio, _TOO_LARGE.format(file.limits.ratio)))
            for place, name in strays:
                file.strays[name] += sum(value is not None for value in rows[place])
            for number, values in enumerate(zip(*rows, strict=True), number + 1):  # noqa: B020
                yield number, _event_line(columns, values, kind), 0


_TOO_LARGE = "its texts come to more than {} times its size"


def _open(file: Input) -> tuple[Any, int]:
    """The file, and how many characters its texts may come to; Unreadable where it claims too much."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "reading Parquet files") from None
    # The schema stands at the end of the file, so a pipe has to be held whole.
    stream = file.stream if file.stream.seekable() else io.BytesIO(whole(file.stream, file.limits))
    try:
        metadata = pyarrow.parquet.read_metadata(stream)
        _check(metadata, size := size_of(stream), file.limits)
        # A text that many rows share is held once: unpacked, a kilobyte could fill the memory.
        shared = [name for name, nested, _ in _texts(metadata) if not nested]
        table = pyarrow.parquet.ParquetFile(stream, metadata=metadata, read_dictionary=shared)
        return table, file.limits.most_unpacked(size)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"not a whole Parquet file: {_first_line(error)}") from None


def _check(metadata: Any, size: int, limits: Limits) -> None:
    """Raise Unreadable where the metadata claim more than a file of so many bytes can say."""
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    if rows > limits.events:
        raise Unreadable(over("events", limits.events, f"{rows:,} rows: expected at most {limits.events}"))
    if rows > (most := FREE_RECORDS + TIGHT * limits.density * size):
        what = f"{rows:,} rows in {size:,} bytes: expected at most {most:,}"
        raise Unreadable(over("density", limits.density, what))
    if sum(group.total_byte_size for group in groups) > limits.most_unpacked(size):
        raise Unreadable(too_large(limits, size))


def _texts(metadata: Any) -> Iterator[tuple[str, bool, int]]:
    """Each column of texts kept as a dictionary: its name, whether it is nested, and its bytes unpacked."""
    for k in range(metadata.num_row_groups):
        group = metadata.row_group(k)
        for column in map(group.column, range(group.num_columns)):
            if column.physical_type == "BYTE_ARRAY" and not DICTIONARIES.isdisjoint(column.encodings):
                path = column.path_in_schema
                yield path, "." in path, column.total_uncompressed_size


def _rows_at_once(metadata: Any) -> int:
    """How many rows are held at once: fewer where each may repeat a long text in a nested column."""
    longest = max((size for _, nested, size in _texts(metadata) if nested), default=0)
    return max(4, min(ROWS, HELD // (longest + 1)))


def _characters(values: list[Any]) -> int:
    return sum(len(value) for value in values if type(value) is str)


def _batches(table: Any, size: int) -> Iterator[list[list[Any]]]:
    """The columns of a few thousand rows at a time, as Python values."""
    import pyarrow

    try:
        for batch in table.iter_batches(batch_size=size):
            yield [_values(column) for column in batch.columns]
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"the Parquet file is damaged: {_first_line(error)}") from None


def _values(column: Any) -> list[Any]:
    import pyarrow

    if pyarrow.types.is_timestamp(column.type) and column.type.unit == "ns":
        # Events are kept in whole microseconds; Python has no finer time.
        column = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    if pyarrow.types.is_dictionary(column.type):
        indices = column.indices.to_pylist()
        words = {index: _value(column.dictionary[index]) for index in set(indices) if index is not None}
        return [words.get(index) for index in indices]
    try:
        values: list[Any] = column.to_pylist()
    except (pyarrow.ArrowException, ValueError, OverflowError, KeyError):
        return [_value(cell) for cell in column]
    return values


def _value(cell: Any) -> Any:
    """One cell, after its column as a whole could not be read: only the bad ones are lost."""
    try:
        return cell.as_py()
    except Exception as error:  # pyarrow raises whatever the conversion raised
        return BadLine(f"a cell cannot be read: {_first_line(error)}")


def _event_line(
    columns: tuple[Column, ...], values: tuple[Any, ...], kind: str | None
) -> dict[str, Any] | str:
    try:
        line = line_of(columns, list(map(_plain, columns, values)))
    except BadLine as bad:
        return bad.message
    return line if kind is None else {"kind": kind, **line}


def _plain(column: Column, value: Any) -> Any:
    """The value as JSON would say it; `at` stays a time, to be checked for its zone."""
    if isinstance(value, BadLine):
        raise value
    if isinstance(value, datetime):
        return value if column == Column("", "at") else _time_text(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {name: _plain(_INNER, item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(_INNER, item) for item in value]
    if isinstance(value, tuple):
        return tuple(_plain(_INNER, item) for item in value)
    return value


_INNER = Column("", "")


def _time_text(at: datetime) -> str:
    return at.isoformat() if at.tzinfo is None else format_time(at)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
