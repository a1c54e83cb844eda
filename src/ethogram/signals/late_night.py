"""late_night: whether it was the middle of the night where the subject lives."""

from __future__ import annotations

from datetime import datetime

from ..records import Event
from .define import Unmeasured, signal
from .options import Options
from .zones import local_time


@signal("late_night", range=(0, 1))
def late_night(event: Event, options: Options | None = None) -> float | Unmeasured | None:
    """1.0 from two to five in the morning on the subject's own clock, else 0.0.

    Five o'clock itself is morning. Absent where the subject's zone is not known.

    >>> late_night(Event.sample(local="2026-11-15 03:10", zone="Asia/Tokyo"))
    1.0
    """
    # The subject's clock, since 03:00 on the server is mid-afternoon somewhere.
    local = local_time(event, options or Options())
    return float(2 <= local.hour < 5) if isinstance(local, datetime) else local
