"""A condition at one event, taken apart: every comparison with the values on both of its sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from ..records import Value
from ..shapes.evaluate import NO_CHAIN, Chain, number, reader
from ..shapes.history import History
from ..shapes.tree import And, AnyOf, Compare, Expr, Known, Member, Not, Number, Or, OrElse, Text
from ..shapes.walk import MEASURES, children, walk
from ..shapes.write import write


@dataclass(frozen=True, slots=True)
class Spot:
    """An event of a history; `position` counts from 1."""

    event: str
    at: datetime
    position: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One yes/no question inside a condition, its answer (None: unknown), and the values that decided it.

    With `op` (<, >= ...) the values are its left and right side; without, whatever it looks at.
    """

    text: str
    truth: bool | None
    op: str | None
    values: tuple[tuple[str, Value | None], ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A condition at an event. `measures` are the values of the windows it looks at."""

    text: str
    truth: bool | None
    comparisons: tuple[Comparison, ...]
    measures: tuple[tuple[str, Value | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of a shape, whether it held, and a sentence with the numbers."""

    limit: str
    holds: bool
    said: str


def how_long(us: int) -> str:
    """A stretch of time in its two largest units.

    >>> how_long(172_800_000_000), how_long(123_456_000_000), how_long(90_500_000), how_long(400_000)
    ('2d', '1d 10h', '1m 30s', '0.4s')
    """
    if us < 60_000_000:
        return f"{us / 1e6:.3g}s"
    parts, left = [], us // 1_000_000
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        parts.append((left // size, unit))
        left %= size
    first = next(i for i, (n, _) in enumerate(parts) if n)
    return " ".join(f"{n}{unit}" for n, unit in parts[first : first + 2] if n)


def spot(history: History, at: int) -> Spot:
    """Where in a history a position is."""
    event = history.events[at]
    return Spot(event.id, event.at, at + 1)


def judge(expr: Expr, history: History, at: int, cap: int, chain: Chain = NO_CHAIN) -> Judged:
    """The condition at a position, with everything that went into its answer."""

    def read(one: Expr) -> Value | None:
        value: Value | None = reader(one, cap)(history, at, chain)
        return value

    comparisons = tuple(
        Comparison(
            write(one),
            _truth(reader(one, cap)(history, at, chain)),
            one.op if isinstance(one, Compare) else None,
            tuple((write(side), read(side)) for side in _sides(one)),
        )
        for one in _questions(expr)
    )
    truth = _truth(reader(expr, cap)(history, at, chain))
    return Judged(write(expr), truth, comparisons, measures(expr, history, at, cap))


def measures(expr: Expr, history: History, at: int, cap: int) -> tuple[tuple[str, Value | None], ...]:
    """Every measure inside an expression, with its value at a position."""
    found = dict.fromkeys(one for one in walk(expr) if isinstance(one, MEASURES))
    return tuple((write(one), reader(one, cap)(history, at, NO_CHAIN)) for one in found)


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _questions(expr: Expr) -> Iterator[Expr]:
    """The smallest yes/no questions: `and` and `or` are opened up, `not` stays with what it turns round."""
    if isinstance(expr, (And, Or)):
        for item in expr.items:
            yield from _questions(item)
    else:
        yield expr


def _sides(expr: Expr) -> tuple[Expr, ...]:
    """The values a question compares. Behind a word, numbers written in it need no telling."""
    if isinstance(expr, Compare):
        return (expr.left, expr.right)
    return tuple(dict.fromkeys(one for one in _looked_at(expr) if not isinstance(one, (Number, Text))))


def _looked_at(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Compare() | Member() | AnyOf():
            yield from children(expr)
        case And() | Or() | Not() | Known() | OrElse():
            for item in children(expr):
                yield from _looked_at(item)
        case _:
            yield expr


def nearness(expr: Expr, history: History, at: int, cap: int, chain: Chain = NO_CHAIN) -> float:
    """How near a condition is to being true, 0 to 1: only for choosing which event to show.

    A false comparison of numbers counts by how far apart they are; unknown counts nothing.
    """
    match expr:
        case And() | Or():
            parts = [nearness(item, history, at, cap, chain) for item in expr.items]
            return sum(parts) / len(parts) if isinstance(expr, And) else max(parts)
        case _:
            truth = reader(expr, cap)(history, at, chain)
    if truth is True or not isinstance(expr, Compare):
        return float(truth is True)
    left = number(reader(expr.left, cap)(history, at, chain))
    right = number(reader(expr.right, cap)(history, at, chain))
    if left is None or right is None:
        return 0.0
    return 0.99 * (1 - abs(left - right) / max(abs(left) + abs(right), 1e-9))
