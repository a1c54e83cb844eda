"""operation: what sort of thing a step of a run does."""

from __future__ import annotations

from ..records import Event
from .define import signal
from .steps.calls import NONE, Calls, same_outcome
from .steps.operations import OPERATIONS, operation_of


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
