"""Entries: what a coding agent's settings say of our hook, put in and taken out of the text of the file.

    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "...", "timeout": 10}]}]}}

Other people's hooks stand in the same lists and are left as they are. So is a command of ours that somebody
wrapped into one of their own: it counts as installed, and is theirs to change.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ..errors import Fault
from .json_text import Edit, Node, appended, fault, parse, removed, replaced, told

WITH_TOOLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
EVENTS = (*WITH_TOOLS, "UserPromptSubmit", "PreCompact", "Stop", "SubagentStop", "SessionEnd")
TIMEOUT = 10
NAMES = ("ethogram", "ethogram.exe")


def entry(event: str, command: str) -> dict[str, Any]:
    """What is put into the list of an event."""
    own = {"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT}]}
    return {"matcher": "*", **own} if event in WITH_TOOLS else own


def kind_of(command: str) -> str:
    """'ours', 'wrapped' (ours inside something else) or '' for a command of somebody else.

    >>> kind_of("'/a b/ethogram' hook"), kind_of("timeout 5 ethogram hook"), kind_of("ethogram hooks")
    ('ours', 'wrapped', '')
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    if words[-1:] != ["hook"]:
        return ""
    if words[-3:-1] == ["-m", "ethogram"]:
        return "ours" if words[1:-3] in ([], ["-P"]) else "wrapped"
    if len(words) > 1 and PurePath(words[-2].replace("\\", "/")).name in NAMES:
        return "ours" if len(words) == 2 else "wrapped"
    return ""


@dataclass(frozen=True, slots=True)
class Found:
    """A command of ours in the settings, with the lists it stands in."""

    event: str
    events: Node
    groups: Node
    group: int
    handlers: Node
    handler: int
    command: Node
    kind: str


def found(root: Node) -> Iterator[Found]:
    """Every command of ours, in order; what has another form than expected holds none."""
    events = root.get("hooks")
    for event in dict.fromkeys(one.name for one in _inside(events, "an object")):
        groups = events.get(event) if events else None
        for group, outer in enumerate(_inside(groups, "a list")):
            handlers = outer.node.get("hooks")
            for handler, inner in enumerate(_inside(handlers, "a list")):
                command = inner.node.get("command")
                if events and groups and handlers and command and (kind := kind_of(command.text)):
                    yield Found(event, events, groups, group, handlers, handler, command, kind)


def _inside(node: Node | None, kind: str) -> tuple[Any, ...]:
    return node.members if node is not None and node.kind == kind else ()


# The form of a file that something is to be added to.


def check(text: str, path: str) -> Node:
    """The settings that a text holds; BadInput where their form leaves no place for a hook."""
    root = parse(text, path)
    told(_faults(text, path, root))
    return root


def _faults(text: str, path: str, root: Node) -> Iterator[Fault]:
    def wrong(node: Node, what: str, right: str) -> Fault:
        return fault(text, path, node, f"{what} is {right}; here is {node.kind}")

    if root.kind != "an object":
        yield wrong(root, "a settings file", 'an object, like {"hooks": {}}')
        return
    events = root.get("hooks")
    if events is not None and events.kind != "an object":
        yield wrong(events, "'hooks'", 'an object, like {"Stop": []}')
        return
    for event in EVENTS:
        groups = events.get(event) if events is not None else None
        if groups is None:
            continue
        if groups.kind != "a list":
            yield wrong(groups, f"'hooks.{event}'", "a list")
            continue
        for group in groups.nodes:
            handlers = group.get("hooks")
            if group.kind != "an object":
                yield wrong(group, f"an entry of 'hooks.{event}'", 'an object, like {"hooks": []}')
            elif handlers is None:
                yield fault(
                    text, path, group, f"an entry of 'hooks.{event}' has a list 'hooks'; here is none"
                )
            elif handlers.kind != "a list":
                yield wrong(handlers, f"'hooks' in an entry of 'hooks.{event}'", "a list")


# In and out again.


def with_hook(text: str, path: str, command: str) -> tuple[str, list[Edit]]:
    """The text with our entries, and the edits that led there; none where all stood there already."""
    edits: list[Edit] = []
    while edit := _addition(text, check(text, path), command):
        edits.append(edit)
        text = edit.done(text)
    return text, edits


def _addition(text: str, root: Node, command: str) -> Edit | None:
    events = root.get("hooks")
    if events is None:
        return appended(text, root, root, {one: [entry(one, command)] for one in EVENTS}, "hooks")
    ours = list(found(root))
    for event in EVENTS:
        here = [one for one in ours if one.event == event]
        plain = [one for one in here if one.kind == "ours"]
        groups = events.get(event)
        if plain and plain[0].command.text != command:
            return replaced(text, plain[0].command, command)
        if len(plain) > 1:
            return _removal(text, root, plain[1], frozenset(EVENTS) | {""})
        if not here and groups is None:
            return appended(text, root, events, [entry(event, command)], event)
        if not here and groups is not None:
            return appended(text, root, groups, entry(event, command))
    return None


def without_hook(text: str, path: str, keep: frozenset[str] = frozenset()) -> str:
    """The text without our entries. Lists that this leaves empty go, too, but for those of events in `keep`;
    '' there keeps the object that holds them all."""
    while True:
        root = parse(text, path)
        ours = next((one for one in found(root) if one.kind == "ours"), None)
        if ours is None:
            return text
        text = _removal(text, root, ours, keep).done(text)


def _removal(text: str, root: Node, one: Found, keep: frozenset[str]) -> Edit:
    if len(one.handlers.members) > 1:
        return removed(text, one.handlers, one.handler)
    if len(one.groups.members) > 1 or one.event in keep:
        return removed(text, one.groups, one.group)
    if len(one.events.members) > 1 or "" in keep:
        return removed(text, one.events, one.events.place_of(one.event))
    return removed(text, root, root.place_of("hooks"))


def kept_apart(text: str, path: str) -> frozenset[str]:
    """What stands in a file besides our entries: its events, and '' for the object that holds them."""
    events = parse(without_hook(text, path), path).get("hooks")
    return frozenset() if events is None else frozenset({"", *(one.name for one in events.members)})
