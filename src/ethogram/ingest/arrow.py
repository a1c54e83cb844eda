"""Arrow tables as columns of events: Parquet files, and DataFrames of any library that speaks Arrow."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import BadUsage, MissingExtra
from .column_reader import NAMES, Irregular, Sink, Steps, Words
from .event_columns import Coded, Column, coded
from .event_parser import Rules
from .table_reader import TableReader

BATCH_ROWS = 131_072
MANY_READS = 8
"""Texts are decoded all at once when one in so many was read."""
SPACE, LAST_ASCII = 0x20, 0x7F


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

    def take(self, batches: Iterable[Any]) -> Steps:
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
        if self.sink is None:
            return ArrowNames([_in_arrow(column)])
        indices, dictionary = _encoded(column)
        last, words = self._dictionaries.get(name, (dictionary.slice(0, 0), []))
        if not dictionary.slice(0, len(last)).equals(last):
            words = []
        words += _words(dictionary.slice(len(words)))
        self._dictionaries[name] = dictionary, words
        return Coded(indices, words)

    def _names(self, name: str, column: Coded) -> Coded:
        if not isinstance(column, ArrowNames) or name == "source":
            return super()._names(name, column)
        is_sound = column.are_sound(self.rules.limits.name, is_subject=name == "subject")
        return column if is_sound else super()._names(name, column)

    def new_words(self) -> Words:
        return ArrowWords()

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


class ArrowTexts(Sequence[str]):
    """Texts that are decoded when they are read: one by one, or all of them once many were."""

    __slots__ = ("_array", "_reads", "_texts")

    def __init__(self, array: Any) -> None:
        self._array, self._reads = array, 0
        self._texts: list[str] | None = None

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, number: Any) -> Any:
        self._reads += 1
        if self._texts is None and self._reads * MANY_READS < len(self) and not isinstance(number, slice):
            return self._array[int(number)].as_py()
        return self._decoded()[number]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded())

    def _decoded(self) -> list[str]:
        if self._texts is None:
            self._texts = self._array.to_pylist()
        return self._texts


class ArrowNames(Coded):
    """A column of texts in Arrow, part by part; they are numbered when that is needed, which may be never."""

    __slots__ = ("_numbered", "parts")

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts
        self._numbered = any(_different(part) is not part for part in parts)
        """Whether rows are better taken by their numbers."""

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getattr__(self, name: str) -> Any:
        if name not in ("codes", "words"):
            raise AttributeError(name)
        self.codes, self.words = self._encoded()
        self._numbered = True
        return getattr(self, name)

    def __getitem__(self, row: Any) -> Any:
        import pyarrow

        if self._numbered:
            return super().__getitem__(row)
        texts = pyarrow.chunked_array(self.parts, pyarrow.large_string())
        if isinstance(row, int):
            return texts[row].as_py()
        rows = np.arange(len(self))[row] if isinstance(row, slice) else row
        return ArrowNames(texts.take(_in_buffer(rows)).chunks)

    def count(self, value: object) -> int:
        return sum(part.null_count for part in self.parts) if value is None else super().count(value)

    def are_sound(self, most: int, *, is_subject: bool) -> bool:
        """Whether all texts can stay as they are: none is empty, blank or longer than `most` bytes.

        False also where that cannot be seen without decoding them.
        """
        from pyarrow.compute import binary_length, min_max

        for texts in map(_different, self.parts):
            lengths = min_max(binary_length(texts)).as_py()
            if lengths["min"] is None:
                continue
            begins = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset :][: len(texts) + 1]
            content = np.frombuffer(texts.buffers()[2], np.uint8)
            used = content[begins[0] : begins[-1]]
            if not 1 <= lengths["min"] <= lengths["max"] <= most or used.min() == 0:
                return False
            if used.max() > LAST_ASCII:
                texts.validate(full=True)
            if is_subject:
                # What begins with something to be seen is not blank.
                first = content[begins[:-1]] if not texts.null_count else used[:0]
                if not len(first) or first.min() <= SPACE or first.max() >= LAST_ASCII:
                    return False
        return True

    def _encoded(self) -> tuple[NDArray[np.int64], ArrowTexts]:
        import pyarrow

        texts: list[Any] = []
        numbers: list[NDArray[np.int64]] = []
        begin = 0
        for part in self.parts:
            own = _different(part)
            if own is not part and texts and own.slice(0, len(texts[-1])).equals(texts[-1]):
                texts[-1] = own  # within a row group the dictionary of each batch begins with the last
            else:
                begin += len(texts[-1]) if texts else 0
                texts.append(own)
            if own is part:
                numbers.append(np.arange(begin, begin + len(part)))
            else:
                indices = _numbers(part.indices.cast(pyarrow.int64()), -1)
                numbers.append(np.where(indices < 0, -1, indices + begin))
        joined = pyarrow.concat_arrays(texts).dictionary_encode()
        codes = np.append(_numbers(joined.indices.cast(pyarrow.int64()), -1), -1)
        return codes[np.concatenate(numbers)], ArrowTexts(joined.dictionary)


class ArrowWords(Words):
    """The texts of a column under construction, left in Arrow."""

    def __init__(self) -> None:
        super().__init__()
        self._arrays: list[Any] = []

    def add(self, row: int, column: Column) -> None:
        import pyarrow

        if row > self._rows:
            self._arrays.append(pyarrow.nulls(row - self._rows, pyarrow.large_string()))
        if not isinstance(column, ArrowNames):
            own = coded(column)
            texts = pyarrow.array(list(own.words), pyarrow.large_string())
            column = ArrowNames([pyarrow.DictionaryArray.from_arrays(_in_buffer(own.codes), texts)])
        self._arrays += column.parts
        self._rows = row + len(column)

    def column(self, rows: int) -> Coded | None:
        self.add(rows, ArrowNames([]))
        column = ArrowNames(self._arrays)
        return column if column.count(None) < rows else None


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

    column = _in_arrow(column)
    if _different(column) is column:
        column = column.dictionary_encode()
    return _numbers(column.indices.cast(pyarrow.int64()), -1), column.dictionary


def _in_arrow(column: Any) -> Any:
    """Return a column of texts as large strings, or a dictionary of them; Irregular where it holds others."""
    import pyarrow
    from pyarrow import types

    kind = column.type
    is_dictionary = types.is_dictionary(kind)
    kind = kind.value_type if is_dictionary else kind
    is_view = getattr(types, "is_string_view", lambda _: False)
    if not any(is_text(kind) for is_text in (types.is_null, types.is_string, types.is_large_string, is_view)):
        raise Irregular
    if not is_dictionary or column.dictionary.null_count:
        return column.cast(pyarrow.large_string())
    texts = column.dictionary.cast(pyarrow.large_string())
    return pyarrow.DictionaryArray.from_arrays(column.indices, texts)


def _different(column: Any) -> Any:
    """Return the dictionary of a column that has one, else the column."""
    return getattr(column, "dictionary", column)


def _words(dictionary: Any) -> list[str]:
    words: list[str] = dictionary.to_pylist()
    if set(map(type, words)) - {str} or "\0" in "".join(words):
        raise Irregular
    return words


def _in_buffer(numbers: NDArray[np.integer[Any]]) -> Any:
    """Return numbers from 0 on in Arrow, others as absent. Not by array(), which imports pandas if it can."""
    import pyarrow

    known = pyarrow.py_buffer(np.packbits(numbers >= 0, bitorder="little"))
    content = pyarrow.py_buffer(np.ascontiguousarray(numbers, np.int64))
    return pyarrow.Array.from_buffers(pyarrow.int64(), len(numbers), [known, content])


def _numbers(column: Any, absent: float = 0) -> Any:
    """Return the numbers of a column. Not by to_numpy(), which imports pandas if it can; so do nulls."""
    return np.from_dlpack(column.fill_null(absent) if column.null_count else column)
