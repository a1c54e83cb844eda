"""Matches: where a program holds in a history, with the values read there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, overload

from ..language.ast import Attribute, Difference, Expr, Indicator, Signal
from ..language.program import Program, SequenceProgram, SilenceProgram
from ..language.visitor import MEASURES, named, walk
from ..models.event import Event, Value
from ..models.slotted import dataclass, field

OPENED, ROSE, CLOSED = "opened", "rose", "closed"
MOST_COUNTED = 20
"""Events that are listed as evidence of a threshold."""
MOST_TEXT = 200
"""Characters that a text takes in an explanation."""


@dataclass(frozen=True, slots=True)
class Match:
    """One episode of a program in a history; times are microseconds.

    `fired` is the event at which it fired or opened (a silence: the event before). `evidence` is
    (step, event) in the order it is listed. `closed_at` is None while it is open.
    """

    program: Program
    source: str
    key: tuple[Value, ...]
    fired: Event
    first: str
    last: str
    last_at: int
    count: int
    severity: str
    confidence: float
    fired_confidence: float
    opened_at: int
    detected_at: int
    closed_at: int | None
    evidence: tuple[tuple[str, Event], ...]
    details: Mapping[str, Any]
    explanation: str


class Change(NamedTuple):
    """What happened to a match: opened, rose or closed. A sequence closes as it opens: closed, once."""

    what: str
    match: Match


NO_TIMES = "the source has no times, and the pattern needs them"


@dataclass(frozen=True, slots=True)
class Insufficient:
    """A history in which a program could not be judged."""

    program: Program
    source: str
    key: tuple[Value, ...]
    have: int
    need: int
    reason: str

    @property
    def order(self) -> tuple[str, str, tuple[str, ...]]:
        """Sort key: pattern, source, key of the history."""
        return self.program.name, self.source, tuple(map(str, self.key))


class Unjudged(NamedTuple):
    """Histories in which a program could not be judged: source and key of each, and its number of events."""

    program: Program
    need: int
    reason: str
    keys: Sequence[tuple[str, tuple[Value, ...]]]
    have: Sequence[int]


class InsufficientHistories(Sequence[Insufficient]):
    """Histories in which programs could not be judged, in output order; each is made when it is read."""

    __slots__ = ("groups",)

    def __init__(self, groups: Iterable[Unjudged] = ()) -> None:
        self.groups = [group for group in groups if len(group.have)]

    def __len__(self) -> int:
        return sum(len(group.have) for group in self.groups)

    def __iter__(self) -> Iterator[Insufficient]:
        by_pattern = sorted(self.groups, key=_pattern)
        for _, groups in groupby(by_pattern, _pattern):
            items = (
                Insufficient(program, *key, have, need, reason)
                for program, need, reason, keys, counts in groups
                for key, have in zip(keys, counts, strict=True)
            )
            yield from sorted(items, key=lambda item: item.order)

    @overload
    def __getitem__(self, index: int) -> Insufficient: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Insufficient]: ...
    def __getitem__(self, index: int | slice) -> Insufficient | Sequence[Insufficient]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InsufficientHistories) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def of(self, patterns: Collection[str]) -> InsufficientHistories:
        """Those of some patterns."""
        return InsufficientHistories(group for group in self.groups if _pattern(group) in patterns)

    def counts(self) -> Counter[tuple[str, str]]:
        """How many there are by pattern and reason."""
        counts: Counter[tuple[str, str]] = Counter()
        for group in self.groups:
            counts[group.program.name, group.reason] += len(group.have)
        return counts


def _pattern(group: Unjudged) -> str:
    return group.program.name


@dataclass(slots=True)
class Outcome:
    """What a run over events found. `checked` counts histories by program name."""

    matches: list[Match] = field(default_factory=list)
    unjudged: list[Unjudged] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)

    @property
    def insufficient(self) -> InsufficientHistories:
        return InsufficientHistories(self.unjudged)


def lacking(program: Program) -> tuple[int, str]:
    """How many readings a program needs at least, and what to say where it could not be judged."""
    match program.body:
        case SequenceProgram(places=places):
            step, condition = places[0].step, places[0].condition
            return _unjudged(condition, f"step '{step}'")
        case SilenceProgram() as body:
            need = max(body.at_least, readings_needed(body.longer_than))
            return need, "too few events to know what is usual"
        case body:
            when: Expr = body.when  # type: ignore[union-attr]
            return _unjudged(when, "its condition")


def _unjudged(condition: Expr, what: str) -> tuple[int, str]:
    need, text = readings_needed(condition), f"{what} could not be judged anywhere"
    names = [name for kind in (Signal, Indicator, Attribute) for name in named(condition, kind)]
    if not names:
        return need, text
    return need, f"{text}: it needs {f'{need} readings of ' if need > 1 else ''}{', '.join(names)}"


def readings_needed(expr: Expr) -> int:
    """The largest number of readings that an aggregate of a condition needs."""
    needs = [1]
    for item in walk(expr):
        if isinstance(item, Difference):
            needs.append(2 * max(2, item.at_least))
        elif isinstance(item, MEASURES):
            needs.append(item.window.at_least)
    return max(needs)
