"""progress, changed, infrastructure and operation of a step."""

from __future__ import annotations

from ...models import Event
from ..base import signal
from .errors import failure_line, is_outside
from .normalization import short_hash
from .operations import OPERATIONS, operation_of
from .step import read_step
from .tool_calls import NONE, Calls, same_outcome

# progress: something new was learned or done.

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


# changed: a step that changed a file or other state.


@signal("changed", range=(0, 1), version=2, needs=("operation",), kinds=("action", "result"))
def changed(event: Event) -> float | None:
    """1.0 where a file or other state was changed: a step that writes or deletes, and did not fail."""
    step = read_step(event)
    operation = event.readings.get("operation")
    if step is None or not isinstance(operation, str):
        return None
    return float(operation in ("write", "delete") and failure_line(step, operation) is None)


# infrastructure: trouble that is not of the agent's making.


@signal("infrastructure", range=(0, 1), version=2, needs=("operation",), kinds=("action", "result"))
def infrastructure(event: Event) -> float | None:
    """1.0 where the error is not of the agent's making: network, rate limit, full disk, a server down."""
    step = read_step(event)
    operation = event.readings.get("operation")
    if step is None or not isinstance(operation, str):
        return None
    line = failure_line(step, operation)
    return float(line is not None and is_outside(step, line))


# operation: what sort of thing a step of a run does.


@signal("operation", range=OPERATIONS, version=2, kinds=("action", "result"))
class Operation:
    """What a step of a run does: read, list, search, write, delete, test, wait, fetch, run or other.

    Told by the name of the tool or by the command it runs, and read where the step has its outcome.
    """

    scope = "run"
    start: Calls = NONE
    max_state_bytes = 2_000

    def measure(self, event: Event, state: Calls) -> tuple[str | None, Calls]:
        """The operation, and the calls that wait for their results."""
        step, kept, _, state = same_outcome(event, state, operation_of)
        return (None if step is None else kept), state
