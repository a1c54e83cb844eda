"""A JSON array of event objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...models.limits import over
from ..errors import BadLine, type_name
from ..format import Adapter, Input, Record, adapter, with_gz
from ..streams import BOM, after_blanks, decode, parse_at, whole
from .jsonl import SUFFIXES as LINES


@adapter("json")
class JsonArray(Adapter):
    """Begins with '[', and is not named as JSON lines.

    Held in memory at once, so large inputs are better written as JSON lines.
    """

    general = True
    suffixes = (".json",)

    def recognises(self, head: bytes, name: str) -> bool:
        is_lines = name.lower().endswith(with_gz(LINES))
        return not is_lines and head.removeprefix(BOM).lstrip().startswith(b"[")

    def read(self, file: Input) -> Iterator[Record]:
        """One record for each element, at the line it begins on. Stops where the text is not JSON."""
        raw = whole(file.stream, file.limits).removeprefix(BOM)
        try:
            text = decode(raw)
        except BadLine as bad:
            yield raw.count(b"\n", 0, bad.column) + 1, bad.message, 0
            return
        line, counted = 1, 0
        try:
            for start, value, end in elements(text):
                line, counted = line + text.count("\n", counted, start), start
                yield line, *_checked(value, end - start, file.limits.line)
        except BadLine as bad:
            line, column = place_of(text, bad.column) if bad.column else (line, 0)
            yield line, f"{bad.message}; the rest of the file was not read", column


def _checked(value: Any, size: int, longest: int) -> tuple[dict[str, Any] | str, int]:
    if size > longest:
        return over("line", longest, f"element longer than {longest} characters"), 0
    if isinstance(value, dict):
        return value, 0
    return f"an event is an object {{...}}, not {type_name(value)}", 0


def place_of(text: str, position: int) -> tuple[int, int]:
    """Line and column, from 1, of the character at a position from 1."""
    return text.count("\n", 0, position - 1) + 1, position - 1 - text.rfind("\n", 0, position - 1)


def elements(text: str, *, lenient: bool = False) -> Iterator[tuple[int, Any, int]]:
    """Each element of the array with the positions where it begins and ends."""
    begin = after_blanks(text, 0)
    if not text.startswith("[", begin):
        if begin == len(text):
            return
        raise BadLine("not JSON: an array begins with '['", begin + 1)
    at = after_blanks(text, begin + 1)
    more = text[at : at + 1] != "]"
    while more:
        value, end = parse_at(text, at, lenient=lenient)
        yield at, value, end
        at = after_blanks(text, end)
        if text[at : at + 1] not in (",", "]"):
            raise BadLine("not JSON: ',' or ']' is missing after an element", at + 1)
        more = text[at] == ","
        at = after_blanks(text, at + 1) if more else at
    if (rest := after_blanks(text, at + 1)) != len(text):
        raise BadLine("not JSON: something stands after its end", rest + 1)
