"""Events of a run in a line each. They get their ids, places and times when they are put into a history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ..models import Event

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
EVERY = timedelta(seconds=10)
MEGABYTE = 1_000_000
UNNUMBERED = ""
"""The id of an event that has not been put into a history yet."""
TOOLS = {
    "command": "bash",
    "file_delete": "delete_file",
    "file_edit": "edit_file",
    "file_list": "list_files",
    "file_read": "read_file",
    "file_search": "search_files",
    "file_write": "write_file",
    "network": "fetch",
}
"""What an action is called here, and the tool that does it; any other name is that of a tool."""
ARGUMENTS = ("path", "command", "url", "query", "old_string", "new_string")
"""What is also an argument of the call."""


def action(
    what: str, *, subject: str = "agent", thread: str = "run", target: str | None = None, **extra: Any
) -> Event:
    """One step of an agent, with what came of it: `error=`, or `result=`.

    `path`, `command`, `url`, `query`, `old_string` and `new_string` are arguments of the call; `readings`
    gives readings; everything else is an attribute, such as `exit_code` or `tokens`. `memory_usage` with
    `value`, in megabytes, is no step but what a run uses.

    >>> step = action("file_read", path="src/a.py", error="not_found")
    >>> step.kind, step.attributes["tool"], step.attributes["error"]
    ('action', 'read_file', 'not_found')
    """
    readings = extra.pop("readings", {})
    kind, attributes = "action", dict(extra)
    if what == "memory_usage":
        kind, attributes = "usage", {**extra, "memory": extra.get("value", 0) * MEGABYTE}
        attributes.pop("value", None)
    else:
        arguments = {name: extra[name] for name in ARGUMENTS if name in extra}
        attributes = {"tool": TOOLS.get(what, what), "arguments": arguments, **extra}
    return _event(kind, subject, thread, target=target, attributes=attributes, readings=readings)


def says(
    text: str,
    *,
    role: str = "assistant",
    subject: str = "",
    thread: str = "run",
    target: str | None = None,
    **extra: Any,
) -> Event:
    """A message; of the agent, or of the person with role="user"."""
    who = subject or ("user" if role == "user" else "agent")
    readings = extra.pop("readings", {})
    attributes = {"role": role, **extra}
    return _event("message", who, thread, target=target, text=text, attributes=attributes, readings=readings)


def _event(kind: str, subject: str, thread: str, **more: Any) -> Event:
    return Event(UNNUMBERED, START, subject, kind=kind, thread=thread, source="testing", **more)


def numbered(events: Iterable[Event], *, every: timedelta = EVERY) -> list[Event]:
    """The events with ids, places and times, one `every` after the other; those that have an id keep all."""
    return [
        replace(event, id=f"e{n}", seq=n, at=START + every * (n - 1)) if event.id == UNNUMBERED else event
        for n, event in enumerate(events, start=1)
    ]
