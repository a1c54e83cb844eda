"""Documents: JSON that holds whole runs, as one object, as an array, or as lines of either.

Other programs write it, so it is read more leniently than event lines are: a NaN becomes null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from .adapter import Input
from .errors import BadLine, type_name
from .json_array import elements, place_of
from .streams import lines, whole
from .strict_json import BLANK, BOM, after_blanks, decode, parse_at

Told = tuple[int, Any, int]
"""(line, a value, 0), or (line, a Broken, column)."""
T = TypeVar("T")


_KINDS = {"dict": "an object", "list": "a list", "str": "text"}


class Broken(str):
    """In place of a value: what is wrong with that line."""

    __slots__ = ()


def documents(file: Input) -> Iterator[Told]:
    """Each value of a file: each element of an array, each line, or each object spread over lines.

    A run is held in memory whole, so the limit of one is `whole`, on a line as well as in a file.
    """
    start = file.head.removeprefix(BOM).lstrip()
    if start.startswith(b"[") and not (_next_line(start).startswith(b"[") and _is_line(start)):
        yield from _document(file, _array)
    elif start.startswith(b"{") and b"\n" in start.rstrip() and not _is_line(start):
        yield from _document(file, _objects)
    else:
        yield from _lines(file)


def _next_line(start: bytes) -> bytes:
    return start.partition(b"\n")[2].lstrip()


def _is_line(start: bytes) -> bool:
    """Whether the first line is a value of its own."""
    try:
        one_of(decode(start.partition(b"\n")[0]))
    except BadLine:
        return False
    return True


def one_of(text: str) -> Any:
    """The one value a text holds; BadLine where it is not JSON.

    >>> one_of('{"a": NaN} ')
    {'a': None}
    """
    value, end = parse_at(text, 0, lenient=True)
    if (rest := after_blanks(text, end)) != len(text):
        raise BadLine("not JSON: something stands after its end", rest + 1)
    return value


def _lines(file: Input) -> Iterator[Told]:
    for number, raw in lines(file.stream, replace(file.limits, line=file.limits.whole)):
        if isinstance(raw, str):
            yield number, Broken(raw), 0
            continue
        line = (raw.removeprefix(BOM) if number == 1 else raw).strip(BLANK.encode())
        if not line:
            continue
        try:
            yield number, one_of(decode(line)), 0
        except BadLine as bad:
            yield number, Broken(bad.message), bad.column


def _document(file: Input, read: Callable[[str], Iterator[Told]]) -> Iterator[Told]:
    raw = whole(file.stream, file.limits).removeprefix(BOM)
    try:
        text = decode(raw)
    except BadLine as bad:
        yield raw.count(b"\n", 0, bad.column) + 1, Broken(bad.message), 0
        return
    yield from read(text)


def _array(text: str) -> Iterator[Told]:
    line, counted = 1, 0
    try:
        for start, value, _ in elements(text, lenient=True):
            line, counted = line + text.count("\n", counted, start), start
            yield line, value, 0
    except BadLine as bad:
        line, column = place_of(text, bad.column) if bad.column else (line, 0)
        yield line, Broken(f"{bad.message}; the rest of the file was not read"), column


def _objects(text: str) -> Iterator[Told]:
    """One object or, as exporters write them to a console, one after the other."""
    line, counted, at = 1, 0, after_blanks(text, 0)
    while at < len(text):
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = parse_at(text, at, lenient=True)
        except BadLine as bad:
            line, column = place_of(text, bad.column) if bad.column else (line, 0)
            yield line, Broken(bad.message), column
            return
        yield line, value, 0
        at = after_blanks(text, end)


def need(value: Any, kind: type[T], what: str) -> T:
    """The value, if it is of this kind; BadLine says what it is instead.

    >>> need({"a": 1}, dict, "a step")
    {'a': 1}
    """
    if isinstance(value, kind):
        return value
    wanted = _KINDS.get(kind.__name__, kind.__name__)
    raise BadLine(f"{what} must be {wanted}, not {type_name(value)}")


def dict_of(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text_at(value: Any, *keys: str) -> str | None:
    """The first of these keys of an object that holds text which is not empty.

    >>> text_at({"a": "", "b": 1, "c": "x"}, "a", "b", "c")
    'x'
    """
    found = dict_of(value)
    return next((one for key in keys if isinstance(one := found.get(key), str) and one), None)
