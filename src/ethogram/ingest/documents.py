"""JSON documents: values as one object, an array, or lines.

Other programs write these files, so they are read more leniently than event lines: NaN becomes null.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .errors import BadLine
from .format import Input
from .streams import BLANK, BOM, after_blanks, decode, lines, parse_array, parse_at, parse_only, read_whole


class Broken(str):
    """In place of a value: what is wrong with that line."""

    __slots__ = ()


Document = tuple[int, Any, int]
"""(line, a value, 0), or (line, a Broken, column)."""


def documents(file: Input) -> Iterator[Document]:
    """Yield each value of a file: each element of an array, each line, or each object spread over lines.

    A run is held in memory whole, so the limit of one is `Limits.whole`, on a line as well as in a file.
    """
    start = file.head.removeprefix(BOM).lstrip()
    first, _, rest = start.partition(b"\n")
    if start.startswith(b"[") and not (rest.lstrip().startswith(b"[") and _is_value(first)):
        yield from ((line, value, column) for line, value, column, _ in array_elements(file, lenient=True))
    elif start.startswith(b"{") and b"\n" in start.rstrip() and not _is_value(first):
        yield from _objects(file)
    else:
        yield from _lines(file)


def _is_value(line: bytes) -> bool:
    try:
        parse_only(decode(line), lenient=True)
    except BadLine:
        return False
    return True


def _lines(file: Input) -> Iterator[Document]:
    for number, raw in lines(file.stream, replace(file.limits, line=file.limits.whole)):
        if isinstance(raw, str):
            yield number, Broken(raw), 0
        elif line := raw.strip(BLANK.encode()):
            try:
                yield number, parse_only(decode(line), lenient=True), 0
            except BadLine as bad:
                yield number, Broken(bad.message), bad.column


def array_elements(file: Input, *, lenient: bool = False) -> Iterator[tuple[int, Any, int, int]]:
    """Yield line, value, column and size of each element of an array; a Broken where reading stops."""
    text, line, counted = _text(file), 1, 0
    if isinstance(text, tuple):
        yield *text, 0
        return
    try:
        for start, value, end in parse_array(text, lenient=lenient):
            line, counted = line + text.count("\n", counted, start), start
            yield line, value, 0, end - start
    except BadLine as bad:
        line, column = _place(text, bad.column) if bad.column else (line, 0)
        yield line, Broken(f"{bad.message}; the rest of the file was not read"), column, 0


def _objects(file: Input) -> Iterator[Document]:
    """Yield one object or, as exporters write them to a console, one after the other."""
    text = _text(file)
    if isinstance(text, tuple):
        yield text
        return
    line, counted, at = 1, 0, after_blanks(text, 0)
    while at < len(text):
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = parse_at(text, at, lenient=True)
        except BadLine as bad:
            line, column = _place(text, bad.column) if bad.column else (line, 0)
            yield line, Broken(bad.message), column
            return
        yield line, value, 0
        at = after_blanks(text, end)


def _text(file: Input) -> str | Document:
    """Return the text of a whole file, or the place of its first invalid byte."""
    raw = read_whole(file.stream, file.limits).removeprefix(BOM)
    try:
        return decode(raw)
    except BadLine as bad:
        return raw.count(b"\n", 0, bad.column) + 1, Broken(bad.message), 0


def _place(text: str, position: int) -> tuple[int, int]:
    """Return line and column, from 1, of the character at a position from 1."""
    return text.count("\n", 0, position - 1) + 1, position - 1 - text.rfind("\n", 0, position - 1)
