"""JSON text: changes of a JSON file that leave every other character of it as it was.

A file that people write by hand is theirs: reading it and writing it anew would lay it out differently. So
its parts are found with their places, and a change is a small edit of the text, which can be undone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import BadInput, Fault

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[^ \t\n\r,\]}]+")
KINDS = {"{": "an object", "[": "a list", '"': "a text"}


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place: text[start:end]. `members` are those of an object or a list, in order."""

    kind: str
    start: int
    end: int
    members: tuple[Member, ...] = ()
    text: str = ""

    def get(self, name: str) -> Node | None:
        """The member of an object; of several with one name the last, as every reader has it."""
        return next((one.node for one in reversed(self.members) if one.name == name), None)

    def place_of(self, name: str) -> int:
        """Which of the members `get` gives."""
        return max(n for n, one in enumerate(self.members) if one.name == name)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The values inside."""
        return tuple(one.node for one in self.members)


@dataclass(frozen=True, slots=True)
class Member:
    """A part of an object or a list; it starts at its name, if it has one."""

    name: str
    start: int
    node: Node


@dataclass(frozen=True, slots=True)
class Edit:
    """At a place of a text some of it goes, and something else comes."""

    start: int
    removed: str
    added: str

    def done(self, text: str) -> str:
        """The text with this edit."""
        return text[: self.start] + self.added + text[self.start + len(self.removed) :]

    def undone(self, text: str) -> str:
        """The text as it was before this edit."""
        return text[: self.start] + self.removed + text[self.start + len(self.added) :]


def undo(text: str, edits: Sequence[Edit]) -> str:
    """The text as it was before all of these."""
    for one in reversed(edits):
        text = one.undone(text)
    return text


def parse(text: str, path: str) -> Node:
    """The value that a text holds. BadInput says where and why it is no JSON.

    >>> [one.name for one in parse('{"a": 1, "b": []}', "x.json").members]
    ['a', 'b']
    """
    try:
        json.loads(text)
        return _node(text, _past_space(text, 0))
    except json.JSONDecodeError as error:
        said = f"this is not JSON: {error.msg}; mend it, then try again"
        raise BadInput([Fault(path, error.lineno, error.colno, said)]) from None
    except RecursionError:
        raise BadInput([Fault(path, 1, 1, "too many lists and objects inside each other")]) from None


def fault(text: str, path: str, node: Node, message: str) -> Fault:
    """A fault at the place of a value."""
    line = text.count("\n", 0, node.start) + 1
    return Fault(path, line, node.start - (text.rfind("\n", 0, node.start) + 1) + 1, message)


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _node(text: str, at: int) -> Node:
    """The value that begins here, in a text that is known to be JSON."""
    kind = KINDS.get(text[at], "a value")
    if kind == "a text":
        end = _end(_STRING, text, at)
        return Node(kind, at, end, text=json.loads(text[at:end]))
    if kind == "a value":
        return Node(kind, at, _end(_WORD, text, at))
    members, here = [], _past_space(text, at + 1)
    while text[here] not in "]}":
        start, name = here, ""
        if kind == "an object":
            end = _end(_STRING, text, here)
            name = json.loads(text[here:end])
            here = _past_space(text, _past_space(text, end) + 1)
        inner = _node(text, here)
        members.append(Member(name, start, inner))
        here = _past_space(text, inner.end)
        if text[here] == ",":
            here = _past_space(text, here + 1)
    return Node(kind, at, here + 1, tuple(members))


def _end(what: re.Pattern[str], text: str, at: int) -> int:
    found = what.match(text, at)
    return found.end() if found else at


# Edits.


def replaced(text: str, node: Node, value: Any) -> Edit:
    """Another value in the place of one."""
    return Edit(node.start, text[node.start : node.end], json.dumps(value, ensure_ascii=False))


def removed(text: str, container: Node, place: int) -> Edit:
    """A member gone, with its comma."""
    members = container.members
    start, end = container.start + 1, container.end - 1
    if place + 1 < len(members):
        start, end = members[place].start, members[place + 1].start
    elif place:
        start, end = members[place - 1].node.end, members[place].node.end
    return Edit(start, text[start:end], "")


def appended(text: str, root: Node, container: Node, value: Any, name: str = "") -> Edit:
    """A member more at the end of an object or a list, laid out as its neighbours are."""
    unit, newline = _unit(text, root), "\r\n" if "\r\n" in text else "\n"
    key = f"{json.dumps(name, ensure_ascii=False)}:" if name else ""
    if container.members:
        gap = text[container.start + 1 : container.members[0].start]
        at = container.members[-1].node.end
        if "\n" not in gap:
            comma, item = _on_one_line(text, key, value)
            return Edit(at, "", comma + item)
        base = gap[gap.rindex("\n") + 1 :]
        return Edit(at, "", f",{newline}{base}{_laid_out(key, value, unit or '  ', newline, base)}")
    inside = text[container.start + 1 : container.end - 1]
    if unit is None:
        return Edit(container.start + 1, inside, _on_one_line(text, key, value)[1])
    line = text[text.rfind("\n", 0, container.start) + 1 :]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    item = _laid_out(key, value, unit, newline, outer + unit)
    return Edit(container.start + 1, inside, f"{newline}{outer}{unit}{item}{newline}{outer}")


def _unit(text: str, root: Node) -> str | None:
    """One step of indentation; None where all stands on one line."""
    if not root.members:
        return "  "
    gap = text[root.start + 1 : root.members[0].start]
    return gap[gap.rindex("\n") + 1 :] or "  " if "\n" in gap else None


def _on_one_line(text: str, key: str, value: Any) -> tuple[str, str]:
    if any(one in text for one in ('": ', '", ', "}, ")):
        item = json.dumps(value, ensure_ascii=False)
        return ", ", f"{key} {item}" if key else item
    return ",", key + json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _laid_out(key: str, value: Any, unit: str, newline: str, base: str) -> str:
    item = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + base)
    return f"{key} {item}" if key else item


def told(faults: Iterable[Fault]) -> None:
    """Nothing, or BadInput with all of the faults."""
    if found := list(faults):
        raise BadInput(sorted(found))
