"""JSON lines: one event object on each line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ...models.limits import Limits
from ..errors import BadLine, type_name
from ..format import Adapter, Input, Record, adapter, with_gz
from ..streams import BLANK, BOM, Line, decode, lines, parse, too_blank
from ..values import words

SUFFIXES = (".jsonl", ".ndjson")
_OTHERS = with_gz(words(".json .csv .tsv .parquet .md .rst .html .yaml .yml .toml .py .js"))
"""Files of other formats, unless they begin with '{'."""
HEAD_LINES = 50
"""Lines in which a file that begins with something else may still show that it is JSON lines."""
MULTILINE = "an object over several lines: expected one event per line, or a JSON array [...] of them"
_OBJECT = re.compile(rb'\{\s*(["}]|$)')


@adapter("jsonl")
class JsonLines(Adapter):
    """Begins with '{', or one of its first lines does and its name is not of another format."""

    general = True
    suffixes = SUFFIXES

    def recognises(self, head: bytes, name: str) -> bool:
        start = head.removeprefix(BOM).lstrip()
        if start.startswith(b"{") or name.lower().endswith(_OTHERS):
            return start.startswith(b"{")
        filled = (line for raw in start.splitlines() if (line := raw.lstrip()))
        return b"\0" not in start and any(map(_OBJECT.match, islice(filled, HEAD_LINES)))

    def read(self, file: Input) -> Iterator[Record]:
        """Yield a record for each line that is not blank; one in all for an object spread over lines."""
        for number, raw in _objects(lines(file.stream, file.limits), file.limits):
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


def _objects(numbered: Iterator[Line], limits: Limits) -> Iterator[Line]:
    """Yield lines that are not blank, and MULTILINE at the first line of an object spread over several.

    It ends with a '}' that is not indented, or before a line that may be a whole event.
    """
    inside, swallowed = False, 0
    for number, raw in numbered:
        if isinstance(raw, str):
            yield number, raw
            continue
        line = raw.rstrip(BLANK.encode())
        if inside and not line.startswith(b"{"):
            inside, swallowed = not line.startswith(b"}"), swallowed + 1
            if swallowed > limits.blank:
                raise too_blank(limits)
        elif inside := line == b"{":
            yield number, MULTILINE
        elif line:
            yield number, line
