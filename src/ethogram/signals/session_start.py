"""session_start: whether a session begins here."""

from __future__ import annotations

from ..records import Event
from .define import signal


@signal("session_start", range=(0, 1), needs=("session_position",))
def session_start(event: Event) -> float | None:
    """1.0 at the first event of a session, else 0.0; absent where its position is.

    >>> session_start(Event.sample(readings={"session_position": 1.0}))
    1.0
    """
    position = event.readings.get("session_position")
    return None if position is None else float(position == 1)
