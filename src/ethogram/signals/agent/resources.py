"""Resources: tokens, time, memory, pace, exhaustion and budget share of a run."""

from __future__ import annotations

import math
from typing import Any

from ...models import Event, micros
from ...models.constants import RESOURCES
from ...models.timestamps import MINUTE
from ..base import signal
from ..options import Options
from .normalization import short_hash
from .paths import touched
from .step import read_step

# tokens, seconds and memory_mb: what one step used, as the source tells it.
#
# Those that the setting `resources_monitored` leaves out are absent.

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
    value = _number(event.attributes.get("memory"))
    return None if value is None else value / 1_000_000


# calls and file_operations: how much a run does in a minute.

PACE_MOST = 500
"""Calls remembered; more in one minute are counted as so many."""

Times = tuple[int | None, tuple[tuple[int, int], ...]]
"""When the run began, and of each call when it was, both in microseconds, and how many it counts for."""
NONE: Times = (None, ())


def _count(event: Event, times: Times, many: int) -> tuple[float | None, Times]:
    now = micros(event.at)
    begun = now if times[0] is None else times[0]
    time = (*(time for time in times[1] if now - time[0] < MINUTE), (now, many))[-PACE_MOST:]
    # In its first minute a run can only do more and more.
    return float(sum(item[1] for item in time)) if now - begun >= MINUTE else None, (begun, time)


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


# exhaustion: how many steps are left until a resource is used up, at the rate at which its use grows.

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
    logs = [math.log(reading) for reading in readings]
    middle, mean = (len(logs) - 1) / 2, sum(logs) / len(logs)
    above = sum((place - middle) * (log - mean) for place, log in enumerate(logs))
    return above / sum((place - middle) ** 2 for place in range(len(logs)))


# budget_share: how much a run has used against the same agent's own earlier good runs.

BUDGET_SHARE_FEWEST = 10
MOST_RUNS = 100
GOOD = frozenset(("success", "passed", "resolved", "good", "ok"))
BAD = frozenset(("failure", "failed", "unresolved", "bad", "error"))

Runs = tuple[tuple[str, int, int], ...]
"""Runs in the order they began: a mark of the run, its calls so far, and -1 where it failed."""


@signal("budget_share", range=(0, math.inf), kinds=("action", "message"))
class BudgetShare:
    """Calls of this run so far, over the 90th percentile of those of the subject's own earlier runs.

    Runs that are marked as failed do not count (attribute `label` or `outcome`). Absent with fewer than ten
    others.
    """

    scope = "subject"
    start: Runs = ()
    max_state_bytes = 8_000

    def measure(self, event: Event, state: Runs) -> tuple[float | None, Runs]:
        """The share, and the runs known by now."""
        if event.thread is None:
            return None, state
        own = short_hash(event.thread)
        _, calls, good = next((item for item in state if item[0] == own), (own, 0, 0))
        told = event.attributes.get("label") or event.attributes.get("outcome")
        if isinstance(told, str) and told.lower() in GOOD | BAD:
            good = 1 if told.lower() in GOOD else -1
        calls += event.kind == "action"
        place = next((n for n, item in enumerate(state) if item[0] == own), len(state))
        before = sorted(item[1] for item in state[:place] if item[2] >= 0 and item[1] > 0)
        state = (*state[:place], (own, calls, good), *state[place + 1 :])[-MOST_RUNS:]
        if event.kind != "action" or len(before) < BUDGET_SHARE_FEWEST:
            return None, state
        return calls / before[min(len(before) - 1, math.ceil(0.9 * len(before)) - 1)], state
