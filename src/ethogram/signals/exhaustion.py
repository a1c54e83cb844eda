"""exhaustion: how many steps are left until a resource is used up, at the rate at which its use grows."""

from __future__ import annotations

import math

from ..records import Event
from .define import signal
from .options import RESOURCES, Options

WINDOW = 10
FEWEST = 6
MOST_STEPS = 10_000
NO_RISK = "no_risk"
NO_LIMIT = "no limit"

State = tuple[tuple[float, ...], ...]
"""The latest readings of each resource, in the order of their names in `RESOURCES`."""


@signal("exhaustion", range=None, kinds=("action", "result", "usage"), needs=RESOURCES)
class Exhaustion:
    """Steps left to the limit of each resource read here: `memory_mb: 7 steps to 512`, or no_risk.

    Reckoned from the growth of the last ten readings, six at least; `no_risk` where use does not grow or the
    limit is further than ten thousand steps, `no limit` where the settings have none. Absent where no
    resource was read.
    """

    scope = "run"
    start: State = ((),) * len(RESOURCES)
    max_state_bytes = 4_000

    def measure(self, event: Event, state: State, options: Options) -> tuple[str | None, State]:
        """The projection in words, and the readings so far."""
        limits = options.resource_limits
        found, kept = [], []
        for name, before in zip(RESOURCES, state, strict=True):
            value = event.readings.get(name)
            if isinstance(value, str) or value is None or name not in limits:
                kept.append(before)
                found += [] if value is None else [f"{name}: {NO_LIMIT}"]
                continue
            now = (*before, float(value))[-WINDOW:]
            kept.append(now)
            found.append(f"{name}: {projected(now, float(limits[name]))}")
        return ("; ".join(found) or None), state if tuple(kept) == state else tuple(kept)


def projected(readings: tuple[float, ...], limit: float) -> str:
    """When a limit is reached if use goes on to grow as in these readings.

    >>> projected((1, 2, 4, 8, 16, 32), 512), projected((50, 50, 50, 50, 50, 50), 512)
    ('4 steps to 512', 'no_risk')
    >>> projected((1, 2, 4), 512), projected((600, 600), 512)
    ('no_risk', '0 steps to 512')
    """
    if readings[-1] >= limit:
        return f"0 steps to {limit:g}"
    rate = _growth(readings)
    if rate <= 0 or readings[-1] <= 0:
        return NO_RISK
    # A hair is taken off, so that a limit reached exactly is not put off by rounding.
    steps = math.ceil(math.log(limit / readings[-1]) / rate - 1e-9)
    return NO_RISK if steps > MOST_STEPS else f"{steps} steps to {limit:g}"


def _growth(readings: tuple[float, ...]) -> float:
    """The slope of the logarithms, by least squares; 0 where there are too few, or one is not above 0."""
    if len(readings) < FEWEST or min(readings) <= 0:
        return 0.0
    logs = [math.log(one) for one in readings]
    middle, mean = (len(logs) - 1) / 2, sum(logs) / len(logs)
    above = sum((place - middle) * (one - mean) for place, one in enumerate(logs))
    return above / sum((place - middle) ** 2 for place in range(len(logs)))
