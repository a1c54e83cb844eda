"""session_position: how far into a session an event is."""

from __future__ import annotations

import math

from ..records import Event
from .define import signal
from .options import Options
from .sessions import Place, advance


@signal("session_position", range=(1, math.inf))
class SessionPosition:
    """Position of the event in the subject's session, counted from 1; sessions.py says where one ends."""

    scope = "subject"
    start: Place | None = None
    max_state_bytes = 1024

    def measure(
        self, event: Event, state: Place | None, options: Options
    ) -> tuple[float | None, Place | None]:
        """The position, and where the subject now stands."""
        place = advance(state, event, options.session_inactivity)
        return (None, state) if place is None else (float(place[2]), place)
