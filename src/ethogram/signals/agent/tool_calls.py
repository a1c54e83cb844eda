"""Calls: what is kept of calls until their results come, so that a result says what it is the result of."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ...models import Event
from .normalization import short_hash
from .step import Step, read_step

Waiting = tuple[tuple[str, str, Any], ...]
"""Calls without a result yet, the oldest first: marks of the call's id and batch, and what is kept of it."""

Calls = tuple[bool, str, Waiting]
"""Whether a result has been seen in this run; the batch whose calls are being made, '' after a result; the
calls that wait for their results."""

NONE: Calls = (False, "", ())
MOST_WAITING = 32


# Every signal of runs asks it of the same few names.
mark = lru_cache(maxsize=64)(short_hash)


def outcome(event: Event, calls: Calls, keep: Callable[[Step], Any]) -> tuple[Step | None, Any, str, Calls]:
    """The step if it counts at this event, what was kept of its call, a mark of its batch, and calls that
    wait.

    `keep(step)` is what a call leaves behind, small and plain. A step counts at its result; at its call where
    that tells the outcome, or as long as a run has shown no result at all. Calls made one after the other
    without a result in between are a batch, whether or not the source says so.
    """
    step = read_step(event)
    if step is None:
        return None, None, "", calls
    answered, batch, waiting = calls
    if step.is_outcome and step.is_call:
        return step, keep(step), _batch(step) or mark(event.id), (True, "", waiting)
    if step.is_call:
        kept, batch = keep(step), _batch(step) or batch or mark(event.id)
        waiting = (*waiting[1 - MOST_WAITING :], (_mark(step), batch, kept))
        counts = None if answered else step
        return counts, kept, _batch(step) or mark(event.id), (answered, batch, waiting)
    found, waiting = _answered(waiting, step)
    if found is None:
        return step, keep(step), _batch(step) or mark(event.id), (True, "", waiting)
    return step, found[2], found[1], (True, "", waiting)


Outcome = tuple[Step | None, Any, str, Calls]
_last: dict[Callable[[Step], Any], tuple[Step, str, Calls, Outcome]] = {}


def same_outcome(event: Event, calls: Calls, keep: Callable[[Step], Any]) -> Outcome:
    """`outcome` for signals that keep the same of a call: what the first of them found, the others need not.

    `keep` is a function of a module, since what was found last is remembered for each.
    """
    step = read_step(event)
    if step is None:
        return None, None, "", calls
    known = _last.get(keep)
    if known is not None and known[0] is step and known[1] == event.id and known[2] == calls:
        return known[3]
    steps = outcome(event, calls, keep)
    _last[keep] = (step, event.id, calls, steps)
    return steps


def _answered(waiting: Waiting, step: Step) -> tuple[tuple[str, str, Any] | None, Waiting]:
    """The call a result belongs to (None: not known), and the calls that still wait.

    Without an id it is the oldest call; with one nobody called by, the oldest that has none.
    """
    own = _mark(step)
    for wanted in (own, "") if own else ("",):
        for place, item in enumerate(waiting):
            if item[0] == wanted:
                return item, (*waiting[:place], *waiting[place + 1 :])
    if not own and waiting:
        return waiting[0], waiting[1:]
    return None, waiting


def _batch(step: Step) -> str:
    return mark(step.batch) if step.batch else ""


def _mark(step: Step) -> str:
    return mark(step.call_id) if step.call_id else ""
