"""JSON lines: one event object on each line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ...models.limits import Limits
from ..errors import BadLine, type_name
from ..format import Adapter, Input, Record, adapter, with_gz
from ..streams import BLANK, BOM, Line, decode, lines, parse, too_blank

BLANKS = BLANK.encode()
SUFFIXES = (".jsonl", ".ndjson")
OTHERS = (".json", ".csv", ".tsv", ".parquet", ".md", ".rst", ".html", ".yaml", ".yml", ".toml", ".py", ".js")
"""Ends of names of files that are something else unless they begin with '{', whatever follows."""
LOOKED = 50
"""Lines at which a file that begins with something else may still show that it is of JSON lines."""
SPREAD = "an object over several lines; write one event per line, or a JSON array [...] of them"


@adapter("jsonl")
class JsonLines(Adapter):
    """Begins with '{', or one of its first lines does and its name does not say another format."""

    general = True
    suffixes = SUFFIXES

    def recognises(self, head: bytes, name: str) -> bool:
        start = head.removeprefix(BOM).lstrip()
        if start.startswith(b"{") or name.lower().endswith(with_gz(OTHERS)):
            return start.startswith(b"{")
        return b"\0" not in start and any(map(_OBJECT.match, _first_lines(start)))

    def read(self, file: Input) -> Iterator[Record]:
        """One record for each line that is not blank; one in all for an object spread over lines."""
        for number, raw in _each_object(lines(file.stream, file.limits), file.limits):
            if isinstance(raw, str):
                yield number, raw, 0
                continue
            try:
                value = parse(decode(raw))
            except BadLine as bad:
                yield number, bad.message, bad.column
                continue
            if isinstance(value, dict):
                yield number, value, 0
            else:
                yield number, f"an event is an object {{...}}, not {type_name(value)}", 0


_OBJECT = re.compile(rb'\{\s*(["}]|$)')


def _first_lines(start: bytes) -> Iterator[bytes]:
    """The first lines of a text that are not blank, without the blanks before them."""
    filled = (line for raw in start.splitlines() if (line := raw.lstrip()))
    return islice(filled, LOOKED)


def _each_object(record: Iterator[Line], limits: Limits) -> Iterator[Line]:
    """Lines that are not blank. In place of an object spread over several: SPREAD, at its first line.

    It ends with a '}' that is not indented, or before a line that may be a whole event.
    """
    inside, swallowed = False, 0
    for number, raw in record:
        if isinstance(raw, str):
            yield number, raw
            continue
        line = (raw.removeprefix(BOM) if number == 1 else raw).rstrip(BLANKS)
        if inside and not line.startswith(b"{"):
            inside, swallowed = not line.startswith(b"}"), swallowed + 1
            if swallowed > limits.blank:
                raise too_blank(limits)
        elif inside := line == b"{":
            yield number, SPREAD
        elif line:
            yield number, line
