"""recovery: a look at what is there, soon after something was taken to be there that is not."""

from __future__ import annotations

from ..records import Event
from .define import signal
from .steps.failure import failure_line
from .steps.step import read_step

SOON = 20
"""Steps after which a look has nothing to do with a phantom any more."""
LOOKS = ("read", "list", "search")


@signal("recovery", range=(0, 1), kinds=("action", "result", "message"), needs=("phantom", "operation"))
class Recovery:
    """1.0 where a step looks for what is there (lists, searches or reads) and succeeds, after a phantom.

    That is one within the twenty steps and messages after the latest phantom. 0.0 at other steps, and absent
    where no phantom is measured.
    """

    scope = "run"
    start: int | None = None
    max_state_bytes = 8

    def measure(self, event: Event, state: int | None) -> tuple[float | None, int | None]:
        """Whether it is such a look, and how many steps ago the latest phantom was; None: there was none."""
        phantom = event.readings.get("phantom")
        if phantom is None:
            return None, state
        if phantom != "none":
            return 0.0, 0
        if state is None or state >= SOON:
            return 0.0, state
        return float(_looks(event)), state + 1


def _looks(event: Event) -> bool:
    operation = event.readings.get("operation")
    step = read_step(event)
    return operation in LOOKS and step is not None and failure_line(step, str(operation)) is None
