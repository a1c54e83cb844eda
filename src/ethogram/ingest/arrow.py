"""Arrow tables as columns of events: Parquet files, and DataFrames of any library that speaks Arrow."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import BadUsage, MissingExtra
from .column_reader import NAMES, Irregular, Sink
from .event_columns import Coded, Column
from .event_parser import Rules
from .table_reader import TableReader

BATCH_ROWS = 131_072


def as_table(data: Any) -> Any:
    """Return the Arrow table of anything that exports an Arrow stream: DataFrames of pandas, Polars, ..."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "reading DataFrames and Arrow tables") from None
    try:
        return pyarrow.RecordBatchReader.from_stream(data).read_all()
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise BadUsage(f"the DataFrame cannot be read as an Arrow table: {error}") from None


def parquet_bytes(table: Any) -> BinaryIO:
    """Return a table as a Parquet file in memory, to be read row by row."""
    import pyarrow
    import pyarrow.parquet

    content = io.BytesIO()
    try:
        pyarrow.parquet.write_table(table, content)
    except (pyarrow.ArrowException, ValueError) as error:
        raise BadUsage(f"the DataFrame holds values that are no part of events: {error}") from None
    content.seek(0)
    return content


class ArrowReader(TableReader):
    """Takes in record batches; Irregular where a value needs to be looked at by itself."""

    def __init__(self, source: str, rules: Rules, names: Iterable[str], sink: Sink | None = None) -> None:
        super().__init__(source, rules, names, sink)
        self._dictionaries: dict[str, tuple[Any, list[str]]] = {}
        """By field the last dictionary of its texts: within a row group that of each batch begins with it."""

    def take(self, batches: Iterable[Any]) -> Iterator[None]:
        """Take in record batches, one at a time."""
        import pyarrow

        try:
            for batch in batches:
                self.add_columns(batch.num_rows, batch.columns)
                yield
        except (pyarrow.ArrowException, OSError, ValueError):
            raise Irregular from None

    def readings_of(self, name: str, column: Any) -> Sequence[Any] | NDArray[np.float64]:
        from pyarrow import float64, types

        if types.is_null(column.type):
            return np.full(len(column), np.nan)
        if not (types.is_floating(column.type) or types.is_integer(column.type)):
            return _texts(column)
        values: NDArray[np.float64] = _numbers(column.cast(float64(), safe=False), np.nan)
        if int(np.count_nonzero(values != values)) != column.null_count:
            raise Irregular  # not a number, which is not the same as absent
        return values

    def attributes_of(self, column: Any) -> Sequence[Any]:
        from pyarrow.types import is_boolean, is_floating, is_integer

        if not any(is_plain(column.type) for is_plain in (is_boolean, is_integer, is_floating)):
            return _texts(column)
        values: list[Any] = column.to_pylist()
        return values

    def field_of(self, name: str, column: Any) -> Column:
        if name not in NAMES:
            return _texts(column, is_number=name == "seq")
        indices, dictionary = _encoded(column)
        last, words = self._dictionaries.get(name, (dictionary.slice(0, 0), []))
        if not dictionary.slice(0, len(last)).equals(last):
            words = []
        words += _words(dictionary.slice(len(words)))
        self._dictionaries[name] = dictionary, words
        return Coded(indices, words)

    def times_of(self, column: Any) -> NDArray[np.int64] | None:
        import pyarrow

        kind = column.type
        if column.null_count == len(column):
            return None
        if column.null_count or not pyarrow.types.is_timestamp(kind) or kind.tz is None:
            raise Irregular
        if kind.unit != "us":
            column = column.cast(pyarrow.timestamp("us", kind.tz), safe=False)
        times: NDArray[np.int64] = _numbers(column.cast(pyarrow.int64()))
        return times

    def count_empty(self, column: Any) -> int:
        return int(column.null_count)


def _texts(column: Any, *, is_number: bool = False) -> list[Any]:
    """Return the texts of a column, equal ones shared; Irregular where it holds anything else."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_null(kind) or (is_number and pyarrow.types.is_integer(kind)):
        values: list[Any] = column.to_pylist()
        if any(value is not None and not 0 <= value < 2**63 for value in values):
            raise Irregular
        return values
    indices, dictionary = _encoded(column)
    known = [*_words(dictionary), None]
    return [known[index] for index in indices.tolist()]


def _encoded(column: Any) -> tuple[NDArray[np.int64], Any]:
    """Return the number of the text in each row, -1 where absent, and the different texts, in Arrow."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_null(kind):
        return np.full(len(column), -1), pyarrow.array([], pyarrow.string())
    if not pyarrow.types.is_dictionary(kind):
        text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
        if not text and not getattr(pyarrow.types, "is_string_view", lambda _: False)(kind):
            raise Irregular
        column = column.cast(pyarrow.large_string()).dictionary_encode()
    return _numbers(column.indices.cast(pyarrow.int64()), -1), column.dictionary


def _words(dictionary: Any) -> list[str]:
    words: list[str] = dictionary.to_pylist()
    if set(map(type, words)) - {str} or "\0" in "".join(words):
        raise Irregular
    return words


def _numbers(column: Any, absent: float = 0) -> Any:
    """Return the numbers of a column. Not by to_numpy(), which imports pandas if it can; so do nulls."""
    return np.from_dlpack(column.fill_null(absent) if column.null_count else column)
