"""Which events the measures of a level counted: its evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..shapes.evaluate import NO_CHAIN, number, reader
from ..shapes.history import History
from ..shapes.measure import holds, selected, selector
from ..shapes.program import LevelProgram
from ..shapes.tree import Cover, Difference, Expr, Measure

MOST_COUNTED = 20


def counted(body: LevelProgram, history: History, opened: int, cap: int) -> list[int]:
    """The newest 20 positions before the opening event that a measure counted, oldest first."""
    found: set[int] = set()
    for measure in body.counted:
        if _is_over_subject(measure) and history.whole is not None:
            # Events of other histories are not this one's evidence.
            inside = {position: i for i, position in enumerate(history.index_in_whole)}
            found |= {inside[at] for at in _positions(measure, history, opened, cap) if at in inside}
        else:
            found |= set(_positions(measure, history, opened, cap))
    return sorted(at for at in found if at < opened)[-MOST_COUNTED:]


def _is_over_subject(measure: Expr) -> bool:
    return isinstance(measure, (Measure, Cover, Difference)) and measure.window.over_subject


def _positions(measure: Expr, history: History, at: int, cap: int) -> Iterator[int]:
    if isinstance(measure, Measure) and measure.name == "surprise_count":
        meets = holds(measure.of, cap)
        assert meets is not None
        span = (measure.option("span") or (0,))[0] + (measure.option("last") or (0,))[0]
        for i in range(max(0, at + 1 - cap), at + 1):
            if history.times[i] > history.times[at] - span and meets(history, i):
                yield i
    elif isinstance(measure, Measure):
        _, _, _, positions, values = selected(measure, cap)(history, at)
        wanted = _wanted(measure, values)
        yield from (i for i, value in zip(positions, values, strict=True) if wanted(value))
    elif isinstance(measure, Cover):
        seen_history, _, seen = selector(measure.window, cap)(history, at)
        readers = [reader(item, cap) for item in measure.items]
        for i in seen.left:
            if any((number(one(seen_history, i, NO_CHAIN)) or 0) > 0 for one in readers):
                yield i
    elif isinstance(measure, Difference):
        yield from _difference_positions(measure, history, at, cap)


def _wanted(measure: Measure, values: list[Any]) -> Any:
    if measure.condition:
        return lambda value: value is True
    if measure.name == "top_count" and values:
        top = max(Counter(values).values())
        tops = {value for value, n in Counter(values).items() if n == top}
        return lambda value: value in tops
    if measure.name == "run" and values:
        return lambda value: value == values[-1]
    return lambda value: True


def _difference_positions(measure: Difference, history: History, at: int, cap: int) -> Iterator[int]:
    seen_history, _, seen = selector(measure.window, cap)(history, at)
    of = reader(measure.of, cap)
    sides = [holds(measure.where, cap), holds(measure.against, cap)]
    for i in seen.left:
        if of(seen_history, i, NO_CHAIN) is not None and any(s and s(seen_history, i) for s in sides):
            yield i
