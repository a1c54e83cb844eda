"""budget_share: how much a run has used against the same agent's own earlier good runs."""

from __future__ import annotations

import math

from ..records import Event
from .define import signal
from .steps.volatile import short_hash

FEWEST = 10
MOST_RUNS = 100
GOOD = frozenset(("success", "passed", "resolved", "good", "ok"))
BAD = frozenset(("failure", "failed", "unresolved", "bad", "error"))

Runs = tuple[tuple[str, int, int], ...]
"""Runs in the order they began: a mark of the run, its calls so far, and -1 where it failed."""


@signal("budget_share", range=(0, math.inf), kinds=("action", "message"))
class BudgetShare:
    """Calls of this run so far, over the 90th percentile of those of the subject's own earlier runs.

    Runs that are marked as failed do not count (attribute `label` or `outcome`). Absent with fewer than ten
    others.
    """

    scope = "subject"
    start: Runs = ()
    max_state_bytes = 8_000

    def measure(self, event: Event, state: Runs) -> tuple[float | None, Runs]:
        """The share, and the runs known by now."""
        if event.thread is None:
            return None, state
        own = short_hash(event.thread)
        _, calls, good = next((one for one in state if one[0] == own), (own, 0, 0))
        told = event.attributes.get("label") or event.attributes.get("outcome")
        if isinstance(told, str) and told.lower() in GOOD | BAD:
            good = 1 if told.lower() in GOOD else -1
        calls += event.kind == "action"
        place = next((n for n, one in enumerate(state) if one[0] == own), len(state))
        before = sorted(one[1] for one in state[:place] if one[2] >= 0 and one[1] > 0)
        state = (*state[:place], (own, calls, good), *state[place + 1 :])[-MOST_RUNS:]
        if event.kind != "action" or len(before) < FEWEST:
            return None, state
        return calls / before[min(len(before) - 1, math.ceil(0.9 * len(before)) - 1)], state
