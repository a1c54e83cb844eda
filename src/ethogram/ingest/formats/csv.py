"""CSV: a header line that names the columns, then one event in each row. Also with ';' or tabs."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from ...models.limits import over
from ..errors import BadLine
from ..event_parser import CATEGORY
from ..format import Adapter, Input, Record, adapter
from ..streams import BOM, Line, lines
from ..tables import ATTRIBUTES, READINGS, Column, Table, usual_names

CHAT, CHATS = frozenset(("role", "thread", "text")), "conversation"
"""Columns of a table of chats, and the conversation of rows that name none."""
DELIMITERS = (",", ";", "\t")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_TRUTH = {"true": True, "false": False}
_ESCAPED = re.compile("[\udc80-\udcff]")


@adapter("csv")
class Csv(Adapter):
    """Its first line has a column `subject`; or it names chats: `conversation_id`, `role` and `content`."""

    general = True
    suffixes = (".csv", ".tsv")

    def recognises(self, head: bytes, name: str) -> bool:
        return "subject" in _header(head, delimiter_of(head))

    def read(self, file: Input) -> Iterator[Record]:
        """Yield a record for each row, at the line the row begins on."""
        rows = _rows(file)
        line, header = next(((line, row) for line, row in rows if row), (0, []))
        if not header:
            return
        try:
            if isinstance(header, str):
                raise BadLine(header)
            names = usual_names(header)
            is_chat = "subject" not in names and CHAT.issubset(names)
            table = Table.of(
                ["subject" if is_chat and name == "role" else name for name in names], file.kinds
            )
        except BadLine as bad:
            yield line, bad.message, 0
            return
        readers = [_cell_reader(column, file.kinds) for column in table.columns]
        for line, row in rows:
            if isinstance(row, str):
                yield line, row, 0
            elif row:
                file.strays.update(
                    name for place, name in table.strays.items() if any(row[place : place + 1])
                )
                event = _event_line(table, readers, row)
                yield line, _turn(event) if is_chat and isinstance(event, dict) else event, 0


Reader = Callable[[str], Any]


def _event_line(table: Table, readers: list[Reader], row: list[str]) -> dict[str, Any] | str:
    """Return the event line of a row, or what is wrong with the row."""
    if len(row) != len(readers):
        return f"expected {len(readers)} cells as in the header, found {len(row)}"
    try:
        return table.event_line(read(cell) if cell else None for read, cell in zip(readers, row, strict=True))
    except BadLine as bad:
        return bad.message


def _turn(line: dict[str, Any]) -> dict[str, Any]:
    """Return the line of a chat, whose subject is a role: somebody else in each conversation."""
    if (role := line.get("subject")) is None:
        return line
    attributes = {**line.get("attributes", {}), "role": role}
    return {
        **line,
        "kind": "message",
        "subject": f"{line.get('thread', CHATS)}/{role}",
        "attributes": attributes,
    }


def _cell_reader(column: Column, kinds: Mapping[str, str]) -> Reader:
    if column.place == READINGS:
        return str if kinds.get(column.name) == CATEGORY else reading_cell
    if column.place == ATTRIBUTES:
        return attribute_cell
    return _whole_cell if column.name == "seq" else str


def reading_cell(cell: str) -> float | str:
    """Return a number where the cell is one, or true or false; else the text. 'nan' is a NaN, to be refused.

    >>> reading_cell("0.8"), reading_cell("true"), reading_cell("ENOENT"), reading_cell("1_000")
    (0.8, 1.0, 'ENOENT', '1_000')
    """
    plain = cell.strip()
    if _NUMBER.fullmatch(plain) or _NOT_FINITE.fullmatch(plain):
        return float(plain)
    return float(_TRUTH[plain.lower()]) if plain.lower() in _TRUTH else cell


def attribute_cell(cell: str) -> float | str:
    """Return a number only where it would be written the same again, so that '007' and long ids stay texts.

    >>> attribute_cell("1"), attribute_cell("2.5"), attribute_cell("007"), attribute_cell("1e5")
    (1, 2.5, '007', '1e5')
    """
    if number := _PLAIN_NUMBER.fullmatch(cell):
        return float(cell) if number[2] else int(cell)
    return _TRUTH.get(cell.lower(), cell)


def _whole_cell(cell: str) -> int | str:
    return int(cell) if _WHOLE.fullmatch(cell.strip()) else cell


def delimiter_of(head: bytes) -> str:
    """Return the delimiter that gives a column `subject`, else the one that gives most columns."""
    headers = {delimiter: _header(head, delimiter) for delimiter in DELIMITERS}
    return max(headers, key=lambda delimiter: ("subject" in headers[delimiter], len(headers[delimiter])))


def _header(head: bytes, delimiter: str) -> list[str]:
    start = head.removeprefix(BOM).lstrip()
    line = start[: start.find(b"\n") + 1] or start
    try:
        rows = csv.reader([line.decode("utf-8", "surrogateescape")], delimiter=delimiter)
        return [cell.strip() for cell in next(rows, [])]
    except csv.Error:
        return []


def _rows(file: Input) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the line each row begins on, and the row or what is wrong with it. Blank lines are empty rows."""
    # The module's own limit is one for the whole process and below the longest text allowed.
    csv.field_size_limit(max(csv.field_size_limit(), file.limits.line))
    texts = _RowLines(file)
    reader = csv.reader(texts, delimiter=delimiter_of(texts.first()), strict=True)
    while True:
        line = texts.begin_row()
        try:
            row = next(reader)
        except StopIteration:
            return
        except (csv.Error, BadLine) as error:
            yield line, str(error) if isinstance(error, BadLine) else f"not CSV: {error}"
            continue
        yield line, "not UTF-8" if any(map(_ESCAPED.search, row)) else row


class _RowLines:
    """The lines of a file as text, at most `Limits.line` bytes of them in one row.

    Bytes that are not UTF-8 pass as surrogates, so that a quoted cell still ends where it ends.
    """

    def __init__(self, file: Input) -> None:
        self._lines: Iterator[Line] = lines(file.stream, file.limits, "row")
        self._longest = file.limits.line
        self._number = 0
        self._left = 0

    def first(self) -> bytes:
        """Return the first line that is not blank, which is read again next; b"" where it is too long."""
        for number, raw in self._lines:
            if isinstance(raw, str) or raw.strip():
                self._lines, self._number = chain([(number, raw)], self._lines), number - 1
                return b"" if isinstance(raw, str) else raw
        return b""

    def begin_row(self) -> int:
        """Return the number of the line on which the next row begins."""
        self._left = self._longest
        return self._number + 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self._number, raw = next(self._lines)
        if isinstance(raw, str):
            raise BadLine(raw)
        self._left -= len(raw)
        if self._left < 0:
            raise BadLine(over("line", self._longest, f"row longer than {self._longest} bytes"))
        return raw.decode("utf-8", "surrogateescape")
