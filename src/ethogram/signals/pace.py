"""calls and file_operations: how much a run does in a minute."""

from __future__ import annotations

import math

from ..records import Event, micros
from .define import signal
from .options import Options
from .steps.paths import touched
from .steps.step import read_step

MINUTE = 60_000_000
MOST = 500
"""Calls remembered; more in one minute are counted as so many."""

Times = tuple[int | None, tuple[tuple[int, int], ...]]
"""When the run began, and of each call when it was, both in microseconds, and how many it counts for."""
NONE: Times = (None, ())


def _count(event: Event, times: Times, many: int) -> tuple[float | None, Times]:
    now = micros(event.at)
    begun = now if times[0] is None else times[0]
    kept = (*(one for one in times[1] if now - one[0] < MINUTE), (now, many))[-MOST:]
    # In its first minute a run can only do more and more.
    return float(sum(one[1] for one in kept)) if now - begun >= MINUTE else None, (begun, kept)


@signal("calls", range=(0, math.inf), kinds=("action",))
class CallCount:
    """Calls of tools in the last minute of the run; absent in its first, and where there are no times."""

    scope = "run"
    start: Times = NONE
    max_state_bytes = 16_000

    def measure(self, event: Event, state: Times, options: Options) -> tuple[float | None, Times]:
        """The count, and when the calls were."""
        if not event.timed or "calls" not in options.resources_monitored:
            return None, state
        return _count(event, state, 1)


@signal("file_operations", range=(0, math.inf), kinds=("action",))
class FileOperations:
    """Files named by calls of the last minute; absent in a run's first, and where there are no times."""

    scope = "run"
    start: Times = NONE
    max_state_bytes = 16_000

    def measure(self, event: Event, state: Times, options: Options) -> tuple[float | None, Times]:
        """The count, and when the files were named."""
        if "file_operations" not in options.resources_monitored:
            return None, state
        step = read_step(event)
        many = 0 if step is None else len(touched(step))
        return (None, state) if not event.timed or not many else _count(event, state, many)
