"""broken_off_after, feeling_left and marked_off: how a person's talk stands, until they write again.

Nobody writes that they broke off, so it is a silence; and since a service answers what it is told, and may
go on for long, its own events carry on what the person's last message left behind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..records import Event, micros
from ..records.roles import is_by_service
from .define import Range, signal
from .options import Options

KINDS = ("usage", "message", "event")
SECOND = 1_000_000
HALF = 0.5
"""From how sure on a message counts as a closing one, and a session as marked."""
Left = tuple[int, float, bool] | None
"""When the talk is over, in microseconds since 1970, how strong the feeling is, and whether it is marked."""

READINGS: tuple[tuple[str, Range, str], ...] = (
    ("broken_off_after", (0, math.inf), "Seconds until a talk left with feeling is over; 0 where marked."),
    ("feeling_left", (0, 1), "How strongly the person's last message speaks of feelings; 0 in a goodbye."),
    ("marked_off", (0, 1), "1 where the source has marked the talk as broken off, else 0."),
)  # fmt: skip
"""Name, range and meaning of each."""


def measure_what_is_left(event: Event, state: Any, options: Options) -> tuple[Mapping[str, float], Any]:
    """The three readings by name, none where nothing is left open; and what is carried on."""
    said = event.readings
    if state is None and "emotional" not in said and "ended_abruptly" not in said:
        return {}, None
    if not event.timed:
        return {}, state
    now = micros(event.at)
    left = _left(event, now, None if state is None else (state[0], state[1], state[2]), options)
    if left is None or left[0] < now:
        return {}, None
    over, feeling, is_marked = left
    values = {
        "broken_off_after": (over - now) / SECOND,
        "feeling_left": feeling,
        "marked_off": float(is_marked),
    }
    return values, left


def _left(event: Event, now: int, before: Left, options: Options) -> Left:
    """What is left open after an event: by the person's own message, or by a mark, whoever carries it."""
    is_marked = _number(event, "ended_abruptly") >= HALF
    if is_by_service(event):
        return (now, 0.0 if before is None else before[1], True) if is_marked else before
    feeling = 0.0 if _number(event, "closing") >= HALF else min(1.0, _number(event, "emotional"))
    if is_marked:
        return (now, feeling, True)
    return (now + options.session_inactivity, feeling, False) if feeling > 0 else None


def _number(event: Event, name: str) -> float:
    value = event.readings.get(name)
    return float(value) if isinstance(value, (int, float)) else 0.0


class _LeftBehind:
    """One reading of what a person's last message left behind."""

    scope = "subject"
    start: Any = None
    max_state_bytes = 100
    keeps = "left_behind"
    together = staticmethod(measure_what_is_left)
    name = ""

    def measure(self, event: Event, state: Any, options: Options) -> tuple[float | None, Any]:
        """The reading, and what is carried on."""
        found, state = measure_what_is_left(event, state, options)
        return found.get(self.name), state


for _name, _range, _meaning in READINGS:
    signal(_name, range=_range, kinds=KINDS, needs=("emotional", "closing", "ended_abruptly"))(
        type(f"Left_{_name}", (_LeftBehind,), {"__doc__": _meaning, "__module__": __name__, "name": _name})
    )
