"""JSON lines: one event object on each line."""

from __future__ import annotations

from collections.abc import Iterator

from .adapter import Adapter, Input, Record, adapter
from .errors import BadLine, type_name
from .limits import over
from .streams import lines
from .strict_json import BLANK, BOM, decode, parse

BLANKS = BLANK.encode()


@adapter("jsonl")
class JsonLines(Adapter):
    """Begins with '{'."""

    general = True

    def recognises(self, head: bytes, name: str) -> bool:
        return head.removeprefix(BOM).lstrip().startswith(b"{")

    def read(self, file: Input) -> Iterator[Record]:
        """One record for each line that is not blank."""
        too_long = over("line", file.limits.line, f"line longer than {file.limits.line} bytes")
        for number, raw in lines(file.stream, file.limits.line):
            if raw is None:
                yield number, too_long, 0
                continue
            if number == 1:
                raw = raw.removeprefix(BOM)
            raw = raw.rstrip(BLANKS)
            if not raw:
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
