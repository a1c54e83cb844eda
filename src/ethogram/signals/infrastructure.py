"""infrastructure: trouble that is not of the agent's making."""

from __future__ import annotations

from ..records import Event
from .define import signal
from .steps.failure import failure_line, is_outside
from .steps.step import read_step


@signal("infrastructure", range=(0, 1), version=2, needs=("operation",), kinds=("action", "result"))
def infrastructure(event: Event) -> float | None:
    """1.0 where the error is not of the agent's making: network, rate limit, full disk, a server down."""
    step = read_step(event)
    operation = event.readings.get("operation")
    if step is None or not isinstance(operation, str):
        return None
    line = failure_line(step, operation)
    return float(line is not None and is_outside(step, line))
