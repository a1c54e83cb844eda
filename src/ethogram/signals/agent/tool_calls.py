"""Tool calls waiting for their results, so that a result can be measured together with its call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ...models import Event
from ..options import Options
from .normalization import short_hash
from .step import Step, read_step

Pending = tuple[tuple[str, str, Mapping[str, Any]], ...]
"""Calls without a result yet, oldest first: hashes of the call's id and batch, and summaries by name."""

Calls = tuple[bool, str, Pending]
"""Whether this run has had a result; the batch being called, '' after a result; the pending calls."""

NONE: Calls = (False, "", ())
MAX_PENDING = 32

Call = tuple[Step | None, Any, str]
"""The step if it counts at this event, the summary of its call, and its batch."""

# Several signals hash the same few names.
cached_hash = lru_cache(maxsize=64)(short_hash)


def pair(
    event: Event, calls: Calls, summaries: Mapping[str, Callable[[Step, Options], Any]], options: Options
) -> tuple[Mapping[str, Call], Calls]:
    """Return the call of an event under the name of each summary, and the pending calls.

    A step counts at its result; at its call if that has the outcome, or as long as the run has had no
    result. Consecutive calls without a result in between are one batch, whether or not the source says so.
    """
    step = read_step(event)
    assert step is not None
    has_results, batch, pending = calls
    own_batch = _hash(step.batch) or cached_hash(event.id)
    counts: Step | None = step
    place = None if step.is_call else _place(pending, step)
    if place is not None:
        _, own_batch, known = pending[place]
        calls = (True, "", (*pending[:place], *pending[place + 1 :]))
    else:
        known = {name: summarize(step, options) for name, summarize in summaries.items()}
        if step.is_call and not step.is_outcome:
            counts = None if has_results else step
            batch = _hash(step.batch) or batch or own_batch
            calls = (has_results, batch, (*pending[1 - MAX_PENDING :], (_hash(step.call_id), batch, known)))
        else:
            calls = (True, "", pending)
    # A call from before another signal was added has no summary of it.
    return {
        name: (counts, known[name] if name in known else summarize(step, options), own_batch)
        for name, summarize in summaries.items()
    }, calls


def _place(pending: Pending, step: Step) -> int | None:
    """The pending call a result belongs to: that with its id, else the oldest without one.

    A result without an id belongs to the oldest call if all have ids.
    """
    own = _hash(step.call_id)
    for wanted in (own, ""):
        for place, item in enumerate(pending):
            if item[0] == wanted:
                return place
    return 0 if pending and not own else None


def _hash(name: str) -> str:
    return cached_hash(name) if name else ""
