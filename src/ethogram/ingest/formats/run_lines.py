"""Run lines: event lines of a run, as anybody can write them, with calls and results joined.

`{"subject": "agent", "thread": "r1", "kind": "action", "attributes": {"tool": "bash", "call_id": "c1", ...}}`
`{"subject": "agent", "thread": "r1", "kind": "result", "attributes": {"call_id": "c1", "exit_code": 1, ...}}`
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...models.arguments import command_in, path_in
from ..format import Head, Input, JsonAdapter, Record, adapter
from ..values import as_dict, as_name
from .jsonl import JsonLines

JOINED = ("tool", "path", "command", "batch")


@adapter("run_lines")
class RunLines(JsonAdapter):
    """JSON lines with a `subject` and a `kind` of action whose attributes name a `tool` and `arguments`."""

    def matches(self, head: Head) -> bool:
        return not head.is_array and any(
            "subject" in line
            and line.get("kind") == "action"
            and as_dict(line.get("attributes")).keys() >= {"tool", "arguments"}
            for line in head.objects
        )

    def read(self, file: Input) -> Iterator[Record]:
        """Yield the lines; an action with its path and command, a result with those of its call."""
        calls: dict[tuple[Any, ...], dict[str, Any]] = {}
        for number, line, column in JsonLines().read(file):
            if isinstance(line, dict) and isinstance(line.get("attributes"), dict):
                _complete(line, line["attributes"], calls)
            yield number, line, column


def _complete(
    line: dict[str, Any], attributes: dict[str, Any], calls: dict[tuple[Any, ...], dict[str, Any]]
) -> None:
    source, subject, thread = (str(line.get(name)) for name in ("source", "subject", "thread"))
    key = (source, subject, thread, as_name(attributes.get("call_id")))
    added: dict[str, Any] = {}
    if line.get("kind") == "action":
        arguments = as_dict(attributes.get("arguments"))
        added = {"path": path_in(arguments), "command": command_in(arguments)}
        # Without an id, a result belongs to the call before it.
        calls[key] = attributes
    elif line.get("kind") == "result" and (call := calls.pop(key, None)) is not None:
        added = {name: call.get(name) for name in JOINED}
    for name, value in added.items():
        if value is not None:
            attributes.setdefault(name, value)
