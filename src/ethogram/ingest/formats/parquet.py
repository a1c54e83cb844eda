"""Parquet: columns as in CSV, and `readings` and `attributes` as structs, maps or JSON text."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from typing import Any

from ...errors import MissingExtra
from ...models import format_time
from ...models.limits import FREE_RECORDS, Limits, over
from ..errors import BadLine, Unreadable
from ..format import Adapter, Input, Record, adapter
from ..streams import seekable, too_large
from ..tables import Column, Table

MAGIC = b"PAR1"
ROWS = 4096
"""Rows held at once."""
DENSITY = 10
"""Times as many records for each byte as in other compressed files: columns compress well."""
HELD = 32 * 2**20
"""Bytes of nested texts that one batch of rows may come to."""
NUMBER = 4
"""Bytes that the number of a text takes at most, in a column of texts that come again and again."""
SHORT = 256
"""Bytes of a text that every row may hold."""
DICTIONARIES = frozenset({"PLAIN_DICTIONARY", "RLE_DICTIONARY"})


@adapter("parquet")
class Parquet(Adapter):
    """Begins with PAR1. Needs the package pyarrow."""

    general = True
    suffixes = (".parquet",)
    is_text = False

    def recognises(self, head: bytes, name: str) -> bool:
        return head.startswith(MAGIC)

    def read(self, file: Input) -> Iterator[Record]:
        """Yield a record for each row; `line` is the row's number from 1."""
        if not file.head.startswith(MAGIC):
            raise Unreadable("not a Parquet file: expected PAR1 at its beginning")
        parquet, most = open_parquet(file)
        try:
            table = Table.of(parquet.schema_arrow.names, file.kinds)
        except BadLine as bad:
            yield 0, bad.message, 0
            return
        number = 0
        for columns in _batches(parquet, _rows_at_once(parquet.metadata)):
            most -= sum(len(value) for values in columns for value in values if type(value) is str)
            if most < 0:
                ratio = file.limits.ratio
                raise Unreadable(over("ratio", ratio, f"its texts come to more than {ratio} times its size"))
            for place, name in table.strays.items():
                file.strays[name] += sum(value is not None for value in columns[place])
            for number, row in enumerate(zip(*columns, strict=True), number + 1):  # noqa: B020
                try:
                    yield number, table.event_line(list(map(_plain, table.columns, row))), 0
                except BadLine as bad:
                    yield number, bad.message, 0


def open_parquet(file: Input) -> tuple[Any, int]:
    """Return the file, and how many characters its texts may come to; Unreadable where it claims too much."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "reading Parquet files") from None
    # The schema stands at the end of the file, so a pipe has to be held whole.
    stream, size = seekable(file.stream, file.limits)
    try:
        metadata = pyarrow.parquet.read_metadata(stream)
        _check(metadata, size, file.limits)
        # A text that many rows share is held once: unpacked, a kilobyte could fill the memory.
        shared = {name for name, _ in _dictionaries(metadata) if "." not in name}
        form = {"metadata": metadata, "pre_buffer": False}
        parquet = pyarrow.parquet.ParquetFile(stream, read_dictionary=list(shared), **form)
        if few := _hardly_shared(parquet, shared):
            parquet = pyarrow.parquet.ParquetFile(stream, read_dictionary=list(shared - few), **form)
        return parquet, file.limits.most_unpacked(size)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"not a whole Parquet file: {_first_line(error)}") from None


def _check(metadata: Any, size: int, limits: Limits) -> None:
    """Raise Unreadable where the metadata claim more than a file of that many bytes can hold."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    if rows > limits.events:
        raise Unreadable(over("events", limits.events, f"{rows:,} rows: expected at most {limits.events}"))
    if rows > (most := FREE_RECORDS + DENSITY * limits.density * size):
        what = f"{rows:,} rows in {size:,} bytes: expected at most {most:,}"
        raise Unreadable(over("density", limits.density, what))
    if sum(group.total_byte_size for group in groups) > limits.most_unpacked(size):
        raise Unreadable(too_large(limits, size))


def _dictionaries(metadata: Any) -> Iterator[tuple[str, int]]:
    """Yield name and unpacked bytes of each text column stored as a dictionary; nested ones have a dot."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            if column.physical_type == "BYTE_ARRAY" and not DICTIONARIES.isdisjoint(column.encodings):
                yield column.path_in_schema, column.total_uncompressed_size


def _hardly_shared(parquet: Any, names: Collection[str]) -> set[str]:
    """Return the columns of short texts that seldom come again: their dictionaries would only cost time.

    Elsewhere a row takes the bytes of a number.
    """
    metadata, sizes, rows = parquet.metadata, dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    for column in (group.column(place) for group in groups for place in range(group.num_columns)):
        if (name := column.path_in_schema) in sizes:
            sizes[name] += column.total_uncompressed_size
            rows[name] += column.num_values
    few = {name for name, size in sizes.items() if size > NUMBER * rows[name] > NUMBER * ROWS}
    for group in range(len(groups)):
        if not few:
            break
        # With its first row comes the whole dictionary of a row group.
        for batch in islice(parquet.iter_batches(1, row_groups=[group], columns=sorted(few)), 1):
            few = {name for name in few if _longest(batch.column(name).dictionary) <= SHORT}
    return few


def _longest(texts: Any) -> int:
    """Return the bytes of the longest text."""
    from pyarrow.compute import binary_length
    from pyarrow.compute import max as largest

    return largest(binary_length(texts)).as_py() or 0


def _rows_at_once(metadata: Any) -> int:
    """Return how many rows to hold: fewer where each may repeat a long text in a nested column."""
    longest = max((size for name, size in _dictionaries(metadata) if "." in name), default=0)
    return max(4, min(ROWS, HELD // (longest + 1)))


def _batches(parquet: Any, size: int) -> Iterator[list[list[Any]]]:
    """Yield the columns of that many rows at a time, as Python values."""
    import pyarrow

    try:
        for batch in parquet.iter_batches(batch_size=size):
            yield [_values(column) for column in batch.columns]
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"the Parquet file is damaged: {_first_line(error)}") from None


def _values(column: Any) -> list[Any]:
    import pyarrow

    if pyarrow.types.is_timestamp(column.type) and column.type.unit == "ns":
        # Events have whole microseconds; Python has no finer time.
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
    """Return a cell whose column could not be read as a whole: only the bad ones are lost."""
    try:
        return cell.as_py()
    except Exception as error:  # pyarrow raises whatever the conversion raised
        return BadLine(f"a cell cannot be read: {_first_line(error)}")


def _plain(column: Column | None, value: Any) -> Any:
    """Return the value as JSON has it; `at` stays a time, to be checked for its zone."""
    if isinstance(value, BadLine):
        raise value
    if isinstance(value, datetime):
        if column == Column("", "at"):
            return value
        return value.isoformat() if value.tzinfo is None else format_time(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {name: _plain(None, item) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return type(value)(_plain(None, item) for item in value)
    return value


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
