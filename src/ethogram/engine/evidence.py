"""Which events the measures of a threshold counted: its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..language.ast import Cover, Difference, Expr, Measure
from ..language.history import History
from ..language.program import ThresholdProgram
from ..models import Event
from .aggregates import MOST_COUNTED, counted_positions, covered, holds, selected, selector
from .evaluate import NO_CHAIN, number, reader


def counted(body: ThresholdProgram, history: History, opened: int, cap: int) -> list[Event]:
    """The newest 20 events before the opening event that a measure counted, in order.

    Through over=subject some may be events of the subject outside this history.
    """
    limit = history.events[opened].order
    found = {
        event.id: event
        for measure in body.counted
        for event in _events(measure, history, opened, cap)
        if event.order < limit
    }
    return sorted(found.values(), key=lambda event: event.order)[-MOST_COUNTED:]


def _events(measure: Expr, history: History, at: int, cap: int) -> Iterator[Event]:
    match measure:
        case Measure(name="surprise_count"):
            positions: Iterator[int] = _spanned(measure, history, at, cap)
        case Measure():
            seen, _, _, left, values = selected(measure, cap)(history, at)
            yield from (seen.events[i] for i in counted_positions(measure, left, values))
            return
        case Cover():
            seen, left, found = covered(measure, cap)(history, at)
            yield from (seen.events[i] for i, row in zip(left, found, strict=True) if any(row))
            return
        case Difference():
            seen, _, view = selector(measure.window, cap)(history, at)
            meets = _side_meets(measure, cap)
            yield from (seen.events[i] for i in view.left if meets(seen, i))
            return
        case _:
            return
    yield from (history.events[i] for i in positions)


def _spanned(measure: Measure, history: History, at: int, cap: int) -> Iterator[int]:
    meets = holds(measure.of, cap)
    span = (measure.option("span") or (0,))[0]
    for i in range(max(0, at + 1 - cap), at + 1):
        if meets is not None and history.times[i] > history.times[at] - span and meets(history, i):
            yield i


def _side_meets(measure: Difference, cap: int) -> Callable[[History, int], bool]:
    of, sides = reader(measure.of, cap), (holds(measure.where, cap), holds(measure.against, cap))

    def meets(history: History, i: int) -> bool:
        known = number(of(history, i, NO_CHAIN)) is not None
        return known and any(side is not None and side(history, i) for side in sides)

    return meets
