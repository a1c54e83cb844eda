"""length: how much was written."""

from __future__ import annotations

import math

from ..records import Event
from .define import signal


@signal("length", range=(0, math.inf))
def length(event: Event) -> float | None:
    """Characters of the text, or the attribute `length` where the text itself was not kept.

    Absent without either, which is not 0: nothing written is a text of no characters.

    >>> length(Event.sample(text="Hello!")), length(Event.sample(attributes={"length": 240}))
    (6.0, 240.0)
    """
    if event.text is not None:
        return float(len(event.text))
    given = event.attributes.get("length")
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return None
    return float(given) if 0 <= given < 1e300 else None
