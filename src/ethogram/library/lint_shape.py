"""What is doubtful about a shape, though it can be run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..shapes.tree import (
    AnyOf,
    Compare,
    Elapsed,
    Expr,
    Level,
    Member,
    Number,
    Pattern,
    Sequence,
    Shape,
    Signal,
    Step,
    StepValue,
)
from ..shapes.walk import MEASURES, named, walk

VERDICT = re.compile(r"(is|has|was)_\w+|\w+_(detected|detection|flag|flagged|alert|alarm|pattern)")
"""Names of signals that answer the question instead of measuring something."""

FLAGS = ((">", 0.0), (">=", 1.0), ("==", 1.0), ("!=", 0.0))
FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


def doubts(pattern: Pattern) -> Iterator[str]:
    """A sentence for everything that keeps the shape from being one."""
    yield from _verdicts(pattern)
    whole = _whole(pattern.shape)
    if whole is not None and _is_flag(whole):
        signal = named(whole, Signal)[0]
        yield f"the whole shape is one look at {signal!r}, so that signal already is the pattern; {_BETTER}"
    elif _is_absolute(pattern.shape):
        yield (
            "every step compares with a fixed number, which sees level and not shape: shuffled events would "
            "fire as well; compare one with usual(...) or with an earlier step"
        )


_BETTER = "name what it is made of, so that parameters and explanations can speak of it"


def _verdicts(pattern: Pattern) -> Iterator[str]:
    for name in named(pattern.shape, Signal):
        if VERDICT.fullmatch(name) or name == pattern.file:
            yield f"signal {name!r} seems to be the pattern already; {_BETTER}"


def _whole(shape: Shape) -> Expr | None:
    """The one condition a shape consists of, or None where there is more to it."""
    if isinstance(shape, Level):
        return shape.when
    if isinstance(shape, Sequence) and len(shape.items) == 1:
        (item,) = shape.items
        return item.condition if isinstance(item, Step) and item.times == 1 else None
    return None


def _is_flag(expr: Expr) -> bool:
    """Whether a condition asks only if a signal is set: x > 0, x == 1."""
    threshold = _threshold(expr)
    return threshold is not None and threshold in FLAGS


def _threshold(expr: Expr) -> tuple[str, float] | None:
    """Comparison and number, where a condition compares one signal with a number."""
    if not isinstance(expr, Compare):
        return None
    match expr.left, expr.right:
        case Signal(), Number(value):
            return expr.op, value
        case Number(value), Signal():
            return FLIPPED.get(expr.op, expr.op), value
    return None


def _is_absolute(shape: Shape) -> bool:
    return isinstance(shape, Sequence) and all(_compares_with_numbers(s.condition) for s in shape.steps)


def _compares_with_numbers(expr: Expr) -> bool:
    """Whether a condition is made of thresholds alone: nothing that happened, nothing the subject moves."""
    inside = list(walk(expr))
    if any(isinstance(one, (*MEASURES, StepValue, Elapsed, AnyOf, Member)) for one in inside):
        return False
    compared = [one for one in inside if isinstance(one, Compare)]
    return bool(compared) and all(_is_threshold(one) for one in compared)


def _is_threshold(one: Compare) -> bool:
    sides = [bool(named(side, Signal)) for side in (one.left, one.right)]
    return one.op in FLIPPED and sum(sides) == 1 and not _is_flag(one)
