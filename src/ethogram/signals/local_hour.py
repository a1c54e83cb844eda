"""local_hour: what time of day it was where the subject lives."""

from __future__ import annotations

from datetime import datetime

from ..records import Event
from .define import Unmeasured, signal
from .options import Options
from .zones import local_time


@signal("local_hour", range=(0, 24))
def local_hour(event: Event, options: Options | None = None) -> float | Unmeasured | None:
    """Hours since midnight on the subject's own clock: 3.5 is half past three.

    What the clock shows, also on the two days a year with 23 or 25 hours. Absent where the subject's
    zone is not known.

    >>> local_hour(Event.sample(local="2026-11-15 03:30", zone="Asia/Tokyo"))
    3.5
    """
    local = local_time(event, options or Options())
    if not isinstance(local, datetime):
        return local
    return local.hour + local.minute / 60 + local.second / 3600
