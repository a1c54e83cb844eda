"""Edits of JSON text that leave every other character as it was, and can be undone.

A file that people write by hand keeps its layout: values are located in the text, and a change is a small
edit of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import BadInput, Fault

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[^ \t\n\r,\]}]+")
KINDS = {"{": "an object", "[": "a list", '"': "a text"}


@dataclass(frozen=True, slots=True)
class Node:
    """A value at text[start:end]. A member of an object has a `name` and starts with it at `first`.

    `members` are the values in an object or list, in order.
    """

    kind: str
    start: int
    end: int
    members: tuple[Node, ...] = ()
    text: str = ""
    name: str = ""
    first: int = 0

    def get(self, name: str) -> Node | None:
        """Return the member of an object; of several with one name the last, as JSON readers do."""
        return next((member for member in reversed(self.members) if member.name == name), None)

    def fault(self, text: str, path: str, message: str) -> Fault:
        """Return a fault at the place of this value."""
        line = text.count("\n", 0, self.start) + 1
        return Fault(path, line, self.start - text.rfind("\n", 0, self.start), message)


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of text at one place."""

    start: int
    removed: str
    added: str

    def apply(self, text: str) -> str:
        """Return the text with this edit."""
        return text[: self.start] + self.added + text[self.start + len(self.removed) :]


def undo(text: str, edits: Sequence[Edit]) -> str:
    """Return the text as it was before these edits."""
    for edit in reversed(edits):
        text = Edit(edit.start, edit.added, edit.removed).apply(text)
    return text


def parse(text: str, path: str) -> Node:
    """Return the value in a text. BadInput says where and why it is not JSON.

    >>> [member.name for member in parse('{"a": 1, "b": []}', "x.json").members]
    ['a', 'b']
    """
    try:
        json.loads(text)
        return _node(text, _skip(_SPACE, text, 0))
    except json.JSONDecodeError as error:
        raise BadInput([Fault(path, error.lineno, error.colno, f"invalid JSON: {error.msg}")]) from None
    except RecursionError:
        raise BadInput([Fault(path, 1, 1, "too many nested lists and objects")]) from None


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _node(text: str, at: int, name: str = "", first: int | None = None) -> Node:
    """The value that begins here, in a text that is valid JSON."""
    kind, first = KINDS.get(text[at], "a value"), at if first is None else first
    if kind == "a text":
        end = _skip(_STRING, text, at)
        return Node(kind, at, end, text=json.loads(text[at:end]), name=name, first=first)
    if kind == "a value":
        return Node(kind, at, _skip(_WORD, text, at), name=name, first=first)
    members, here = [], _skip(_SPACE, text, at + 1)
    while text[here] not in "]}":
        start, key = here, ""
        if kind == "an object":
            end = _skip(_STRING, text, here)
            key = json.loads(text[here:end])
            here = _skip(_SPACE, text, _skip(_SPACE, text, end) + 1)
        members.append(_node(text, here, key, start))
        here = _skip(_SPACE, text, members[-1].end)
        if text[here] == ",":
            here = _skip(_SPACE, text, here + 1)
    return Node(kind, at, here + 1, tuple(members), name=name, first=first)


def replaced(text: str, node: Node, value: Any) -> Edit:
    """Replace a value."""
    return Edit(node.start, text[node.start : node.end], json.dumps(value, ensure_ascii=False))


def removed(text: str, container: Node, member: Node) -> Edit:
    """Remove a member with its comma."""
    members = container.members
    place = members.index(member)
    start, end = container.start + 1, container.end - 1
    if place + 1 < len(members):
        start, end = member.first, members[place + 1].first
    elif place:
        start, end = members[place - 1].end, member.end
    return Edit(start, text[start:end], "")


def appended(text: str, root: Node, container: Node, value: Any, name: str = "") -> Edit:
    """Add a member at the end of an object or list, laid out like its neighbours."""
    unit, newline = _indent(text, root), "\r\n" if "\r\n" in text else "\n"
    key = f"{json.dumps(name, ensure_ascii=False)}:" if name else ""
    if container.members:
        gap = text[container.start + 1 : container.members[0].first]
        at = container.members[-1].end
        if "\n" not in gap:
            comma, item = _inline_item(text, key, value)
            return Edit(at, "", comma + item)
        base = gap[gap.rindex("\n") + 1 :]
        return Edit(at, "", f",{newline}{base}{_indented(key, value, unit or '  ', newline, base)}")
    inside = text[container.start + 1 : container.end - 1]
    if unit is None:
        return Edit(container.start + 1, inside, _inline_item(text, key, value)[1])
    line = text[text.rfind("\n", 0, container.start) + 1 :]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    item = _indented(key, value, unit, newline, outer + unit)
    return Edit(container.start + 1, inside, f"{newline}{outer}{unit}{item}{newline}{outer}")


def _indent(text: str, root: Node) -> str | None:
    """One step of indentation; None if all is on one line."""
    if not root.members:
        return "  "
    gap = text[root.start + 1 : root.members[0].first]
    return gap[gap.rindex("\n") + 1 :] or "  " if "\n" in gap else None


def _inline_item(text: str, key: str, value: Any) -> tuple[str, str]:
    """The comma and the member, spaced like the text."""
    if any(sign in text for sign in ('": ', '", ', "}, ")):
        item = json.dumps(value, ensure_ascii=False)
        return ", ", f"{key} {item}" if key else item
    return ",", key + json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _indented(key: str, value: Any, unit: str, newline: str, base: str) -> str:
    item = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + base)
    return f"{key} {item}" if key else item
