"""Program: a compiled pattern. Frozen, hashable, JSON; every runner runs the same one.

Three shapes are left for a runner of events (sequence, threshold, silence: trend and contrast have become
thresholds), and two for a runner of detections (combination, spread).
"""

from __future__ import annotations

from typing import Any

from ..models.slotted import dataclass
from . import ast
from .ast import Combination, Expr, Limits, Slot, Spread


@dataclass(frozen=True, slots=True)
class Place:
    """One event to match. `nevers` must not be met between the place before and this one."""

    step: str
    condition: Expr
    max_gap: int | None = None
    within: Limits = ()
    nevers: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Optional:
    """A step filled after the firing, between `after` (index of a place) and the place behind it."""

    step: str
    condition: Expr
    after: int


@dataclass(frozen=True, slots=True)
class SequenceProgram:
    """`collects` names the steps that gather `also` evidence."""

    places: tuple[Place, ...]
    within: Limits
    optionals: tuple[Optional, ...] = ()
    collects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThresholdProgram:
    """`counted` are the measures whose events are the evidence."""

    when: Expr
    clears: Expr | None
    stays: bool
    counted: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class SilenceProgram:
    longer_than: Expr
    after: Expr | None
    at_least: int


Body = SequenceProgram | ThresholdProgram | SilenceProgram | Combination | Spread


@dataclass(frozen=True, slots=True)
class Program:
    """What a runner needs to know of a pattern, and what a detection says about it.

    An event belongs to a history if it carries one of `signals`, or is evaluated where `evaluated` is set;
    with neither, every event of the key does. `timed_only`: without times there is insufficient data.
    """

    name: str
    pattern: str
    version: str
    group_by: tuple[str, ...]
    body: Body
    signals: tuple[str, ...] = ()
    evaluated: bool = False
    timed_only: bool = False
    confidence: Expr | None = None
    severities: tuple[tuple[str, Expr | None], ...] = (("low", None),)
    details: tuple[tuple[str, Expr], ...] = ()
    explanation: tuple[str | Slot, ...] = ()
    confirms: tuple[str, ...] = ()
    cause: str = ""
    title: str = ""
    status: str = "stable"
    recommendation: str = ""

    @property
    def is_combination(self) -> bool:
        """Whether it runs over detections instead of events."""
        return isinstance(self.body, (Combination, Spread))

    @property
    def parts(self) -> tuple[str, ...]:
        """The patterns whose detections it sees."""
        if isinstance(self.body, Combination):
            return self.body.parts
        return (self.body.first, self.body.then) if isinstance(self.body, Spread) else ()

    def to_json(self) -> Any:
        """Plain data that `from_json` turns into an equal program."""
        return encode(self)

    @classmethod
    def from_json(cls, data: Any) -> Program:
        """The program that gave this data."""
        program = decode(data)
        if not isinstance(program, cls):
            raise ValueError("this is not a program")
        return program


def _classes() -> dict[str, type]:
    nodes = {name: item for name, item in vars(ast).items() if isinstance(item, type)}
    found = {name: item for name, item in nodes.items() if hasattr(item, "__match_args__")}
    return found | {
        item.__name__: item
        for item in (Program, Place, Optional, SequenceProgram, ThresholdProgram, SilenceProgram)
    }


def encode(node: Any) -> Any:
    """Nodes as {"node": class, field: value}; tuples as lists."""
    if type(node).__name__ in _CLASSES:
        names: tuple[str, ...] = node.__match_args__
        return {"node": type(node).__name__} | {name: encode(getattr(node, name)) for name in names}
    if isinstance(node, tuple):
        return [encode(item) for item in node]
    return node


def decode(data: Any) -> Any:
    """The reverse of `encode`; only the classes of the tree and of programs can be named."""
    if isinstance(data, list):
        return tuple(decode(item) for item in data)
    if isinstance(data, dict):
        kind = _CLASSES.get(str(data.get("node")))
        if kind is None:
            raise ValueError(f"unknown node {data.get('node')!r}")
        return kind(**{name: decode(value) for name, value in data.items() if name != "node"})
    return data


_CLASSES = _classes()
