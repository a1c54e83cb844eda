"""progress: something new was learned or done."""

from __future__ import annotations

from ..records import Event
from .define import signal
from .steps.failure import failure_line
from .steps.step import read_step
from .steps.volatile import short_hash

MOST_KEYS = 600
"""Steps remembered of a run; one that comes again after so many others is new."""


@signal("progress", range=(0, 1), version=2, needs=("operation", "step_key"), kinds=("action", "result"))
class Progress:
    """1.0 where a step did or showed something that this run has not had before, and did not fail.

    A failing test that fails in new words is progress, too.
    """

    scope = "run"
    start: tuple[str, ...] = ()
    max_state_bytes = 16_000

    def measure(self, event: Event, state: tuple[str, ...]) -> tuple[float | None, tuple[str, ...]]:
        """Whether it is new, and the steps seen by now."""
        step, key = read_step(event), event.readings.get("step_key")
        if step is None or not isinstance(key, str):
            return None, state
        mark = short_hash(key)
        known = mark in state
        operation = str(event.readings.get("operation", "other"))
        failed = operation != "test" and failure_line(step, operation) is not None
        return float(not known and not failed), state if known else (*state, mark)[-MOST_KEYS:]
