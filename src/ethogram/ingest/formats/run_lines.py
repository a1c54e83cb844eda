"""Run lines: event lines of a run, as anybody can write them, with calls and results joined.

`{"subject": "agent", "thread": "r1", "kind": "action", "attributes": {"tool": "bash", "call_id": "c1", ...}}`
`{"subject": "agent", "thread": "r1", "kind": "result", "attributes": {"call_id": "c1", "exit_code": 1, ...}}`
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...models.arguments import command_in, path_in
from ..documents import dict_of
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import plain
from .jsonl import JsonLines

JOINED = ("tool", "path", "command", "batch")
_LINES = JsonLines()


@adapter("run_lines")
class RunLines(Adapter):
    """JSON lines with a `subject` and a `kind` of action whose attributes name a `tool` and `arguments`."""

    def recognises(self, head: bytes, name: str) -> bool:
        seen = look(head)
        return not seen.is_array and any("subject" in item and _is_call(item) for item in seen.objects)

    def read(self, file: Input) -> Iterator[Record]:
        """The lines as they are; an action with its path and command, a result with those of its call."""
        calls: dict[tuple[Any, ...], dict[str, Any]] = {}
        for number, told, column in _LINES.read(file):
            if isinstance(told, dict):
                _complete(told, calls)
            yield number, told, column


def _is_call(value: Any) -> bool:
    attributes = dict_of(dict_of(value).get("attributes"))
    return dict_of(value).get("kind") == "action" and "tool" in attributes and "arguments" in attributes


def _complete(record: dict[str, Any], calls: dict[tuple[Any, ...], dict[str, Any]]) -> None:
    attributes = record.get("attributes")
    if not isinstance(attributes, dict):
        return
    place = tuple(str(record.get(key)) for key in ("source", "subject", "thread"))
    key = (*place, plain(attributes.get("call_id")))
    if record.get("kind") == "action":
        arguments = dict_of(attributes.get("arguments"))
        for name, found in (("path", path_in(arguments)), ("command", command_in(arguments))):
            if found is not None:
                attributes.setdefault(name, found)
        # Without an id, a result belongs to the call before it.
        calls[key] = attributes
    elif record.get("kind") == "result" and (call := calls.pop(key, None)) is not None:
        for name in JOINED:
            if call.get(name) is not None:
                attributes.setdefault(name, call[name])
