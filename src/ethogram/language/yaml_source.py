"""YAML with the position of every value, for untrusted files.

Only plain data: no aliases (they can explode), no tags, no duplicate keys, one document, limits on size and
depth. Scalars are resolved as in YAML 1.2: `on` and `no` are words.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import BadInput, BadPattern, Fault
from ..files import read_text
from ..models.slotted import dataclass

MAX_BYTES = 128 * 1024
MAX_DEPTH = 24
MAX_NODES = 20_000
NO_ALIASES = "anchors and aliases are not allowed; write the value out"

_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_UNUSUAL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]|\ufeff|\ufffe|\uffff|^%", re.M)
_BRACKET = re.compile(r"[\[\]{}]")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value. `line` and `column` count from 1 and point at its first character."""

    text: str
    line: int
    column: int
    style: str | None = None
    raw: str = ""

    @property
    def value(self) -> Any:
        """None, bool, int, float or str; quoted and block scalars are always str."""
        return self.text if self.style else _resolve(self.text)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column in the file of the character at `offset` of the text.

        Folded and quoted text is not the file's text, so both are walked side by side.
        """
        start = {">": self.raw.find("\n") + 1, "|": self.raw.find("\n") + 1, "'": 1, '"': 1}.get(
            self.style or "", 0
        )
        at = start
        for char in self.text[: offset + 1]:
            while at < len(self.raw) and not _same(char, self.raw[at]):
                at += 1
            at += 1
        before = self.raw[: max(at - 1, start)]
        lines = before.count("\n")
        column = len(before) - before.rfind("\n") if lines else self.column + len(before)
        return self.line + lines, column


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[Node, ...]
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping; keys are scalars and differ."""

    entries: tuple[tuple[Scalar, Node], ...]
    line: int
    column: int

    def get(self, name: str) -> Node | None:
        """The value under a key, or None."""
        for key, node in self.entries:
            if key.text == name:
                return node
        return None

    def key(self, name: str) -> Scalar | None:
        """The key itself, for its place."""
        return next((key for key, _ in self.entries if key.text == name), None)

    def names(self) -> list[str]:
        return [key.text for key, _ in self.entries]


Node = Scalar | Items | Fields


def plain(node: Node | None, *, as_text: bool = False) -> Any:
    """The node as plain Python data; `as_text` leaves scalars as they are written.

    >>> plain(read_yaml("a: [1, x, 0.5]", "f"))
    {'a': [1, 'x', 0.5]}
    """
    if node is None:
        return None
    if isinstance(node, Scalar):
        return node.text if as_text else node.value
    if isinstance(node, Items):
        return [plain(item, as_text=as_text) for item in node.items]
    return {key.text: plain(value, as_text=as_text) for key, value in node.entries}


def read_yaml_file(path: str | Path, error: type[BadInput] = BadPattern, *, until: str | None = None) -> Node:
    """Parse the document of a file, up to a text where given; `error` is raised with every fault."""
    name = str(path)
    if os.path.isdir(name):  # noqa: PTH112 (a name may be no path at all)
        raise error([Fault(name, 0, 0, "is a folder, not a file")])
    if os.path.exists(name) and not os.path.isfile(name):  # noqa: PTH110, PTH113
        raise error([Fault(name, 0, 0, "is not a plain file")])
    text = read_text(name, MAX_BYTES, error)
    return read_yaml(text.partition(until)[0] if until else text, name, error)


def read_yaml(text: str, path: str, error: type[BadInput] = BadPattern) -> Node:
    """Parse the document of a text. Empty text is an empty mapping."""
    if len(text) > MAX_BYTES:
        raise error([Fault(path, 1, 1, f"is larger than {MAX_BYTES // 1024} KB; split it")])
    if deep := _too_deep(text):
        raise error([Fault(path, *deep, f"is nested deeper than {MAX_DEPTH} levels")])
    import yaml

    # libyaml takes a tenth of the time; what it may read differently or refuses goes to the other parser,
    # which reports more precise positions.
    if yaml.__with_libyaml__ and not _UNUSUAL.search(text):
        with contextlib.suppress(yaml.YAMLError, UnicodeEncodeError):
            return _build(yaml.parse(text, Loader=yaml.CSafeLoader), text, path, error)
    try:
        return _build(yaml.parse(text, Loader=yaml.SafeLoader), text, path, error)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise error([Fault(path, line, column, f"is not YAML: {fault.problem}")]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        before = text[: getattr(fault, "position", 0)]
        place = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise error([Fault(path, *place, f"is not YAML: {str(fault).splitlines()[0]}")]) from None


def _build(events: Iterable[Any], text: str, path: str, error: type[BadInput]) -> Node:
    builder = _Builder(text, path, error)
    for event in events:
        builder.take(event)
    return builder.result()


def _too_deep(text: str) -> tuple[int, int] | None:
    # Before parsing, since the parser's look-ahead is slow on thousands of open brackets.
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            before = text[: bracket.start()]
            return before.count("\n") + 1, len(before) - before.rfind("\n")
    return None


@lru_cache(maxsize=4096)
def _resolve(text: str) -> Any:
    if text.lower() in _WORDS and (text == text.lower() or text.istitle()):
        return _WORDS[text.lower()]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else text
    return text


def _same(char: str, raw: str) -> bool:
    return char == raw or (char.isspace() and raw.isspace())


class _Builder:
    """Builds nodes from parser events, and refuses what plain data does not need."""

    def __init__(self, text: str, path: str, error: type[BadInput]) -> None:
        self.text = text
        self.path = path
        self.error = error
        self.faults: list[Fault] = []
        self.stack: list[tuple[int, int, list[Node]]] = []
        self.roots: list[Node] = []
        self.nodes = 0

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        start = event.start_mark
        line, column = start.line + 1, start.column + 1
        if kind == "ScalarEvent":
            self._check(line, column, event)
            self._put(
                Scalar(event.value, line, column, event.style, self.text[start.index : event.end_mark.index])
            )
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            self._check(line, column, event)
            if len(self.stack) >= MAX_DEPTH:
                self._refuse(line, column, f"is nested deeper than {MAX_DEPTH} levels")
            self.stack.append((line, column, []))
        elif kind == "SequenceEndEvent":
            line, column, children = self.stack.pop()
            self._put(Items(tuple(children), line, column))
        elif kind == "MappingEndEvent":
            line, column, children = self.stack.pop()
            self._put(Fields(tuple(self._pairs(children)), line, column))
        elif kind == "AliasEvent":
            self._refuse(line, column, NO_ALIASES)

    def _check(self, line: int, column: int, event: Any) -> None:
        self.nodes += 1
        if event.anchor is not None:
            self._refuse(line, column, NO_ALIASES)
        if self.nodes > MAX_NODES:
            self._refuse(line, column, f"holds more than {MAX_NODES} values; split the file")
        if event.tag is not None:
            self._refuse(line, column, f"tag {str(event.tag)!r} is not allowed; write a plain value")

    def _put(self, node: Node) -> None:
        (self.stack[-1][2] if self.stack else self.roots).append(node)

    def _pairs(self, children: list[Node]) -> Iterator[tuple[Scalar, Node]]:
        seen: dict[str, Scalar] = {}
        for key, value in zip(children[::2], children[1::2], strict=True):
            if not isinstance(key, Scalar):
                self.faults.append(Fault(self.path, key.line, key.column, "a key must be a plain word"))
                continue
            if key.text in seen:
                first = seen[key.text].line
                message = f"key {key.text!r} stands twice (first in line {first}); remove one"
                self.faults.append(Fault(self.path, key.line, key.column, message))
                continue
            seen[key.text] = key
            yield key, value

    def _refuse(self, line: int, column: int, message: str) -> None:
        raise self.error([*self.faults, Fault(self.path, line, column, message)])

    def result(self) -> Node:
        if len(self.roots) > 1:
            second = self.roots[1]
            message = "a second document begins here; one per file"
            self.faults.append(Fault(self.path, second.line, second.column, message))
        if self.faults:
            raise self.error(sorted(self.faults))
        return self.roots[0] if self.roots else Fields((), 1, 1)
