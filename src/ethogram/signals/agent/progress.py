"""The signals operation, progress, changed and infrastructure of a step."""

from __future__ import annotations

from ...models import Event
from ..base import signal
from .errors import failure_line, is_infrastructure
from .normalization import short_hash
from .operations import OPERATIONS, operation_of
from .step import Call, read_step

MAX_KEYS = 600
"""Steps remembered of a run; one that recurs after so many others counts as new."""


@signal("operation", range=OPERATIONS, version=2, kinds=("action", "result"), summarize=operation_of)
def operation(event: Event, call: Call) -> str | None:
    """What a step of a run does: read, list, search, write, delete, test, wait, fetch, run or other.

    Determined by the tool's name or the command it runs, and read where the step has its outcome.
    """
    return None if call[0] is None else call[1]


@signal("progress", range=(0, 1), version=2, needs=("operation", "step_key"), kinds=("action", "result"))
class Progress:
    """1.0 where a step did or showed something new in this run, and did not fail.

    A test that fails in new words counts as progress, too.
    """

    scope = "run"
    start: tuple[str, ...] = ()
    max_state_bytes = 16_000

    def measure(self, event: Event, state: tuple[str, ...]) -> tuple[float | None, tuple[str, ...]]:
        step, key = read_step(event), event.readings.get("step_key")
        if step is None or not isinstance(key, str):
            return None, state
        hashed = short_hash(key)
        if hashed in state:
            return 0.0, state
        kind = str(event.readings.get("operation", "other"))
        failed = kind != "test" and failure_line(step, kind) is not None
        return float(not failed), (*state, hashed)[-MAX_KEYS:]


@signal("changed", range=(0, 1), version=2, needs=("operation",), kinds=("action", "result"))
def changed(event: Event) -> float | None:
    """1.0 where a file or other state was changed: a step that writes or deletes, and did not fail."""
    step, kind = read_step(event), event.readings.get("operation")
    if step is None or not isinstance(kind, str):
        return None
    return float(kind in ("write", "delete") and failure_line(step, kind) is None)


@signal("infrastructure", range=(0, 1), version=2, needs=("operation",), kinds=("action", "result"))
def infrastructure(event: Event) -> float | None:
    """1.0 where the error is outside the agent's control: network, rate limit, full disk, a server down."""
    step, kind = read_step(event), event.readings.get("operation")
    if step is None or not isinstance(kind, str):
        return None
    line = failure_line(step, kind)
    return float(line is not None and is_infrastructure(step, line))
