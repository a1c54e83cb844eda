"""Resources: the signals tokens, seconds, memory_mb, calls, file_operations, exhaustion and budget_share."""

from __future__ import annotations

import math

from ...models import Event, micros
from ...models.constants import RESOURCES
from ...models.timestamps import MINUTE
from ..base import signal
from ..options import Options
from .normalization import short_hash
from .paths import touched
from .step import read_step

MAX_VALUE = 1e15
MAX_CALLS = 500
"""Calls remembered; more in one minute count as so many."""
WINDOW = 10
MIN_READINGS = 4
MAX_STEPS = 10_000
NO_RISK = "no_risk"
MIN_RUNS = 10
MAX_RUNS = 100
GOOD = frozenset(("success", "passed", "resolved", "good", "ok"))
BAD = frozenset(("failure", "failed", "unresolved", "bad", "error"))


def _number(event: Event, attribute: str) -> float | None:
    value = event.attributes.get(attribute)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < MAX_VALUE else None


@signal("tokens", range=(0, math.inf), kinds=("action", "result", "message"))
def tokens(event: Event, options: Options) -> float | None:
    """Tokens the model wrote for this step, or all it used if the source does not separate them.

    Input tokens are excluded where possible: the context is read again at every step and grows by itself.
    """
    if "tokens" not in options.resources_monitored:
        return None
    written = _number(event, "output_tokens")
    return written if written is not None else _number(event, "tokens")


@signal("seconds", range=(0, math.inf), version=2, kinds=("action", "result", "usage"))
def seconds(event: Event, options: Options) -> float | None:
    """Seconds that this step took (`duration` or `execution_time`); absent where the source does not say."""
    if "seconds" not in options.resources_monitored:
        return None
    value = _number(event, "duration")
    return _number(event, "execution_time") if value is None else value


@signal("memory_mb", range=(0, math.inf), kinds=("action", "result", "usage"))
def memory_mb(event: Event, options: Options) -> float | None:
    """Memory in use at this step, in megabytes; absent where the source does not say."""
    value = _number(event, "memory") if "memory_mb" in options.resources_monitored else None
    return None if value is None else value / 1_000_000


Times = tuple[int | None, tuple[tuple[int, int], ...]]
"""Start of the run; time and count of each call. Times in microseconds."""


def _per_minute(event: Event, times: Times, count: int) -> tuple[float | None, Times]:
    now = micros(event.at)
    start = now if times[0] is None else times[0]
    calls = (*(call for call in times[1] if now - call[0] < MINUTE), (now, count))[-MAX_CALLS:]
    # In the first minute of a run the count can only grow.
    return float(sum(call[1] for call in calls)) if now - start >= MINUTE else None, (start, calls)


class _PerMinute:
    scope = "run"
    start: Times = (None, ())
    max_state_bytes = 16_000


COUNTED = ("action", "result", "usage")
"""Kinds of events that may say how much was used; only actions are counted by ourselves."""


@signal("calls", range=(0, math.inf), version=2, kinds=COUNTED)
class CallCount(_PerMinute):
    """Calls as the event counts them (`api_calls`), else tool calls in the last minute of the run.

    The latter is absent in a run's first minute, and where there are no times.
    """

    def measure(self, event: Event, state: Times, options: Options) -> tuple[float | None, Times]:
        if "calls" not in options.resources_monitored:
            return None, state
        if (value := _number(event, "api_calls")) is not None:
            return value, state
        return (
            _per_minute(event, state, 1) if event.timed and event.kind not in COUNTED[1:] else (None, state)
        )


@signal("file_operations", range=(0, math.inf), version=2, kinds=COUNTED)
class FileOperations(_PerMinute):
    """File operations as the event counts them (`file_operations`), else files named in the last minute.

    The latter is absent in a run's first minute, and where there are no times.
    """

    def measure(self, event: Event, state: Times, options: Options) -> tuple[float | None, Times]:
        if "file_operations" not in options.resources_monitored:
            return None, state
        if (value := _number(event, "file_operations")) is not None:
            return value, state
        if not event.timed or event.kind in COUNTED[1:]:
            return None, state
        step = read_step(event)
        count = 0 if step is None else len(touched(step))
        return _per_minute(event, state, count) if count else (None, state)


State = tuple[tuple[float, ...], ...]
"""The latest readings of each resource, in the order of `RESOURCES`."""


@signal("exhaustion", range=None, version=2, kinds=("action", "result", "usage"), needs=RESOURCES)
class Exhaustion:
    """Steps left to the limit of each resource read here: `memory_mb: 7 steps to 512`, or no_risk.

    Projected from the growth of the last ten readings, four at least; `no_risk` where use does not grow or
    the limit is more than ten thousand steps away, `no limit` where the settings have none. Absent where no
    resource was read.
    """

    scope = "run"
    start: State = ((),) * len(RESOURCES)
    max_state_bytes = 4_000

    def measure(self, event: Event, state: State, options: Options) -> tuple[str | None, State]:
        projections, readings = [], list(state)
        for place, name in enumerate(RESOURCES):
            value = event.readings.get(name)
            if value is None:
                continue
            if isinstance(value, str) or name not in options.resource_limits:
                projections.append(f"{name}: no limit")
                continue
            readings[place] = (*state[place], float(value))[-WINDOW:]
            projections.append(f"{name}: {projection(readings[place], float(options.resource_limits[name]))}")
        return ("; ".join(projections) or None), tuple(readings)


def projection(readings: tuple[float, ...], limit: float) -> str:
    """Return when a limit is reached if use keeps growing as in these readings.

    >>> projection((1, 2, 4, 8, 16, 32), 512), projection((50, 50, 50, 50, 50, 50), 512)
    ('4 steps to 512', 'no_risk')
    >>> projection((1, 2, 4), 512), projection((600, 600), 512)
    ('no_risk', '0 steps to 512')
    """
    if readings[-1] >= limit:
        return f"0 steps to {limit:g}"
    rate = _growth(readings)
    if rate <= 0 or readings[-1] <= 0:
        return NO_RISK
    # The small number keeps a limit that is reached exactly from being put off by rounding.
    steps = math.ceil(math.log(limit / readings[-1]) / rate - 1e-9)
    return NO_RISK if steps > MAX_STEPS else f"{steps} steps to {limit:g}"


def _growth(readings: tuple[float, ...]) -> float:
    """The least-squares slope of the logarithms; 0 with too few readings or one that is not positive."""
    if len(readings) < MIN_READINGS or min(readings) <= 0:
        return 0.0
    logs = [math.log(reading) for reading in readings]
    middle, mean = (len(logs) - 1) / 2, sum(logs) / len(logs)
    covariance = sum((place - middle) * (log - mean) for place, log in enumerate(logs))
    return covariance / sum((place - middle) ** 2 for place in range(len(logs)))


Runs = tuple[tuple[str, int, int], ...]
"""Runs in the order they began: a hash of the run, its calls so far, and -1 where it failed."""


@signal("budget_share", range=(0, math.inf), kinds=("action", "message"))
class BudgetShare:
    """Calls of this run so far, over the 90th percentile of those of the subject's own earlier runs.

    Runs marked as failed do not count (attribute `label` or `outcome`). Absent with fewer than ten others.
    """

    scope = "subject"
    start: Runs = ()
    max_state_bytes = 8_000

    def measure(self, event: Event, state: Runs) -> tuple[float | None, Runs]:
        if event.thread is None:
            return None, state
        own = short_hash(event.thread)
        place = next((place for place, run in enumerate(state) if run[0] == own), len(state))
        _, calls, good = state[place] if place < len(state) else (own, 0, 0)
        label = event.attributes.get("label") or event.attributes.get("outcome")
        if isinstance(label, str) and label.lower() in GOOD | BAD:
            good = 1 if label.lower() in GOOD else -1
        calls += event.kind == "action"
        earlier = sorted(run[1] for run in state[:place] if run[2] >= 0 and run[1] > 0)
        state = (*state[:place], (own, calls, good), *state[place + 1 :])[-MAX_RUNS:]
        if event.kind != "action" or len(earlier) < MIN_RUNS:
            return None, state
        return calls / earlier[min(len(earlier) - 1, math.ceil(0.9 * len(earlier)) - 1)], state
