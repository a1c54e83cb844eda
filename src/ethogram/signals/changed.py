"""changed: a step that changed a file or other state."""

from __future__ import annotations

from ..records import Event
from .define import signal
from .steps.failure import failure_line
from .steps.step import read_step


@signal("changed", range=(0, 1), version=2, needs=("operation",), kinds=("action", "result"))
def changed(event: Event) -> float | None:
    """1.0 where a file or other state was changed: a step that writes or deletes, and did not fail."""
    step = read_step(event)
    operation = event.readings.get("operation")
    if step is None or not isinstance(operation, str):
        return None
    return float(operation in ("write", "delete") and failure_line(step, operation) is None)
