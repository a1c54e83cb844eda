"""tokens, seconds and memory_mb: what one step used, as the source tells it.

Those that the setting `resources_monitored` leaves out are absent.
"""

from __future__ import annotations

import math
from typing import Any

from ..records import Event
from .define import signal
from .options import Options

MOST = 1e15


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < MOST else None


@signal("tokens", range=(0, math.inf), kinds=("action", "result", "message"))
def tokens(event: Event, options: Options) -> float | None:
    """Tokens the model wrote for this step, or all it used where they are not told apart.

    What it read is left out where it can be: the context is read again at every step and grows by itself.
    """
    if "tokens" not in options.resources_monitored:
        return None
    written = _number(event.attributes.get("output_tokens"))
    return written if written is not None else _number(event.attributes.get("tokens"))


@signal("seconds", range=(0, math.inf), kinds=("action", "result"))
def seconds(event: Event, options: Options) -> float | None:
    """Seconds that this step took; absent where the source does not tell."""
    if "seconds" not in options.resources_monitored:
        return None
    return _number(event.attributes.get("duration"))


@signal("memory_mb", range=(0, math.inf), kinds=("action", "result", "usage"))
def memory_mb(event: Event, options: Options) -> float | None:
    """Memory in use at this step, in megabytes; absent where the source does not tell."""
    if "memory_mb" not in options.resources_monitored:
        return None
    told = _number(event.attributes.get("memory"))
    return None if told is None else told / 1_000_000
