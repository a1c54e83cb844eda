"""Walk expressions: what is inside them, and the names they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from itertools import islice
from typing import Any, TypeVar, get_args

from . import ast
from .ast import Expr

K = TypeVar("K")
V = TypeVar("V")
MEASURES = (ast.Measure, ast.Cover, ast.Difference)
_EXPRESSIONS = frozenset(get_args(Expr))
_PARTS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((ast.Negative, ast.Not, ast.Known, ast.StepValue, ast.StepMean), ("of",)),
    **dict.fromkeys((ast.Arithmetic, ast.Compare), ("left", "right")),
    **dict.fromkeys((ast.And, ast.Or, ast.AnyOf), ("items",)),
    ast.Member: ("of", "options"),
    ast.OrElse: ("of", "default"),
    ast.Function: ("args",),
    ast.Measure: ("of", "window"),
    ast.Cover: ("items", "window"),
    ast.Difference: ("of", "where", "against", "within_each", "window"),
    ast.Window: ("since", "where"),
}
"""Fields of each node that hold expressions, in order."""


def children(expr: Expr | ast.Window) -> list[Expr]:
    """The expressions directly inside one, those of its window included.

    >>> children(ast.Negative(ast.Signal("x")))
    [Signal(name='x')]
    """
    out: list[Expr] = []
    for name in _PARTS.get(type(expr), ()):
        part = getattr(expr, name)
        if isinstance(part, tuple):
            out += part
        elif isinstance(part, ast.Window):
            out += children(part)
        elif part is not None:
            out.append(part)
    return out


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it, outermost first."""
    stack = [expr]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(reversed(children(item)))


def once_each(function: Callable[[K], V], size: int = 2048) -> Callable[[K], V]:
    """Compute a function once for each object, told apart by identity: hashing a tree walks all of it."""
    known: dict[int, tuple[K, V]] = {}

    @wraps(function)
    def remembered(node: K) -> V:
        entry = known.get(id(node))
        if entry is None or entry[0] is not node:
            if len(known) >= size:
                known.clear()
            entry = known[id(node)] = (node, function(node))
        return entry[1]

    return remembered


def expressions(node: Any) -> Iterator[Expr]:
    """Every outermost expression inside a shape or pattern."""
    if type(node) in _EXPRESSIONS:
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from expressions(item)
    elif hasattr(node, "__match_args__"):
        for name in node.__match_args__:
            yield from expressions(getattr(node, name))


def named(node: Any, kind: type[ast.Signal] | type[ast.Indicator] | type[ast.Attribute]) -> tuple[str, ...]:
    """Names of all signals (or indicators, or attributes) in a shape or expression, sorted."""
    names = {item.name for outer in expressions(node) for item in walk(outer) if isinstance(item, kind)}
    return tuple(sorted(names))


def is_larger(expr: Expr, limit: int) -> bool:
    """Whether an expression has more nodes than `limit`."""
    return next(islice(walk(expr), limit, None), None) is not None


def only_durations(limits: ast.Limits) -> bool:
    """Whether limits are durations alone, so that untimed data is insufficient."""
    return bool(limits) and not any(isinstance(limit, ast.Events) for limit in limits)


def needs_time(node: Any) -> bool:
    """Whether an expression holds a measure whose window or options are durations alone."""
    return any(
        _measure_needs_time(item)
        for outer in expressions(node)
        for item in walk(outer)
        if isinstance(item, MEASURES)
    )


def _measure_needs_time(measure: ast.Measure | ast.Cover | ast.Difference) -> bool:
    window = measure.window
    if only_durations(window.last) or isinstance(window.skip, ast.Duration):
        return True
    return isinstance(measure, ast.Measure) and measure.name in ("fading", "surprise_count")
