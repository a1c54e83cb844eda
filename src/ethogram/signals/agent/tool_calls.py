"""Tool calls waiting for their results, so that a result can be measured together with its call."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ...models import Event
from .normalization import short_hash
from .step import Step, read_step

Pending = tuple[tuple[str, str, Any], ...]
"""Calls without a result yet, oldest first: hashes of the call's id and batch, and its summary."""

Calls = tuple[bool, str, Pending]
"""Whether this run has had a result; the batch being called, '' after a result; the pending calls."""

NONE: Calls = (False, "", ())
MAX_PENDING = 32

Outcome = tuple[Step | None, Any, str, Calls]

# Every signal of runs hashes the same few names.
cached_hash = lru_cache(maxsize=64)(short_hash)


def outcome(event: Event, calls: Calls, summarize: Callable[[Step], Any]) -> Outcome:
    """Return the step if it counts at this event, its call's summary, its batch, and the pending calls.

    `summarize(step)` is what is stored of a call, small and plain. A step counts at its result; at its call
    if that has the outcome, or as long as the run has had no result. Consecutive calls without a result in
    between are one batch, whether or not the source says so.
    """
    step = read_step(event)
    if step is None:
        return None, None, "", calls
    has_results, batch, pending = calls
    own_batch = _hash(step.batch) or cached_hash(event.id)
    if step.is_call and not step.is_outcome:
        summary, batch = summarize(step), _hash(step.batch) or batch or own_batch
        pending = (*pending[1 - MAX_PENDING :], (_hash(step.call_id), batch, summary))
        return (None if has_results else step), summary, own_batch, (has_results, batch, pending)
    place = None if step.is_call else _place(pending, step)
    if place is None:
        return step, summarize(step), own_batch, (True, "", pending)
    _, batch, summary = pending[place]
    return step, summary, batch, (True, "", (*pending[:place], *pending[place + 1 :]))


_last: dict[Callable[[Step], Any], tuple[Step, str, Calls, Outcome]] = {}


def same_outcome(event: Event, calls: Calls, summarize: Callable[[Step], Any]) -> Outcome:
    """`outcome`, computed once for all signals with the same `summarize`, a module's function."""
    step = read_step(event)
    if step is None:
        return None, None, "", calls
    cached = _last.get(summarize)
    if cached is not None and cached[0] is step and cached[1] == event.id and cached[2] == calls:
        return cached[3]
    result = outcome(event, calls, summarize)
    _last[summarize] = (step, event.id, calls, result)
    return result


def _place(pending: Pending, step: Step) -> int | None:
    """The pending call a result belongs to: that with its id, else the oldest without one.

    A result without an id belongs to the oldest call if all have ids.
    """
    call_ids, own = [item[0] for item in pending], _hash(step.call_id)
    for wanted in dict.fromkeys((own, "")):
        if wanted in call_ids:
            return call_ids.index(wanted)
    return 0 if pending and not own else None


def _hash(name: str) -> str:
    return cached_hash(name) if name else ""
