"""A JSON array of event objects."""

from __future__ import annotations

from collections.abc import Iterator

from ...models.limits import over
from ..documents import Broken, array_elements
from ..errors import type_name
from ..format import Adapter, Input, Record, adapter, with_gz
from ..streams import BOM
from .jsonl import SUFFIXES as LINE_SUFFIXES


@adapter("json")
class JsonArray(Adapter):
    """Begins with '[', and is not named as JSON lines.

    Held in memory at once, so large inputs are better written as JSON lines.
    """

    general = True
    suffixes = (".json",)

    def recognises(self, head: bytes, name: str) -> bool:
        is_lines = name.lower().endswith(with_gz(LINE_SUFFIXES))
        return not is_lines and head.removeprefix(BOM).lstrip().startswith(b"[")

    def read(self, file: Input) -> Iterator[Record]:
        """Yield a record for each element, at the line it begins on. Stops where the text is not JSON."""
        longest = file.limits.line
        for line, value, column, size in array_elements(file):
            if isinstance(value, Broken):
                yield line, str(value), column
            elif size > longest:
                yield line, over("line", longest, f"element longer than {longest} characters"), 0
            elif isinstance(value, dict):
                yield line, value, 0
            else:
                yield line, f"an event is an object {{...}}, not {type_name(value)}", 0
