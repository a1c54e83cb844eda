"""reply_gap: how long an answer took."""

from __future__ import annotations

import math

from ..records import Event, micros
from .define import signal
from .names import short

Spoken = tuple[str, int]
"""Who, and when in microseconds."""

Heard = tuple[Spoken, Spoken | None] | None
"""The thread's newest event, and its newest by anyone else: enough to know another's last one."""


@signal("reply_gap", range=(0, math.inf))
class ReplyGap:
    """Seconds since the newest earlier event of another subject in this thread; absent if there is none.

    Absent also outside a thread and where the source has no times.
    """

    scope = "thread"
    start: Heard = None
    max_state_bytes = 2048

    def measure(self, event: Event, state: Heard) -> tuple[float | None, Heard]:
        """The gap, and what the thread has heard by now."""
        if not event.timed:
            return None, state
        who, at = short(event.subject), micros(event.at)
        if state is None:
            return None, ((who, at), None)
        newest, other = state
        heard = newest if newest[0] != who else other
        gap = None if heard is None or at < heard[1] else (at - heard[1]) / 1_000_000
        return gap, ((who, at), heard)
