"""The same numbers as statistics.py, to the last bit, with more of the work left to Python itself."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, repeat
from operator import mul, sub
from typing import Any

from .. import truth
from ..statistics import Numbers


@lru_cache(maxsize=1024)
def _weights(n: int) -> tuple[float, ...]:
    middle = (n - 1) / 2
    return tuple(i - middle for i in range(n))


def rise(values: Numbers) -> float | None:
    """How much the fitted line rises over the values."""
    n = len(values)
    if n < 2:
        return None
    return math.fsum(map(mul, _weights(n), values)) / (n * (n * n - 1) / 12) * (n - 1)


def tau(values: Numbers) -> float | None:
    """Kendall's tau-b against the order of time; 0 where all are equal."""
    n = len(values)
    if n < 2:
        return None
    score, ordered = 0, [values[0]]
    for k in range(1, n):
        x = values[k]
        below = bisect_left(ordered, x)
        above = bisect_right(ordered, x)
        score += below + above - k
        ordered.insert(above, x)
    pairs, tied = n * (n - 1) / 2, 0.0
    if len(set(values)) < n:
        tied = sum(c * (c - 1) / 2 for c in Counter(values).values())
    return 0.0 if tied == pairs else score / math.sqrt(pairs * (pairs - tied))


def excess(values: Numbers, over: float) -> float | None:
    """Largest sum of x - over among the ends of the values, not below 0."""
    if not values:
        return None
    sums: list[float] = list(accumulate(map(sub, reversed(values), repeat(over))))
    return max(0.0, max(sums))


def top_count(values: Sequence[Any]) -> float:
    """How often the most frequent value occurs."""
    different = set(values)
    if len(different) > 8:
        return float(max(Counter(values).values(), default=0))
    return float(max(map(list(values).count, different), default=0))


def legs(values: Numbers, by: float) -> list[float]:
    """Sizes of the legs between turning points, the one under way included."""
    if not values:
        return []
    low = high = values[0]
    sizes: list[float] = []
    start, extreme, up = 0.0, 0.0, None
    for x in values:
        if up is None:
            low = x if x < low else low
            high = x if x > high else high
            if x - low >= by or not truth.above(by, x - low):
                start, extreme, up = low, x, True
            elif high - x >= by or not truth.above(by, high - x):
                start, extreme, up = high, x, False
        elif x > extreme if up else x < extreme:
            extreme = x
        elif (back := abs(extreme - x)) >= by or not truth.above(by, back):
            sizes.append(abs(extreme - start))
            start, extreme, up = extreme, x, not up
    return sizes if up is None else [*sizes, abs(extreme - start)]


def swings(values: Numbers, by: float) -> float:
    """How many legs there are besides the first."""
    return float(max(0, len(legs(values, by)) - 1))


def swing_growth(values: Numbers, by: float) -> float | None:
    """The size of the last leg over that of the first."""
    sizes = legs(values, by)
    return sizes[-1] / sizes[0] if len(sizes) >= 2 and sizes[0] else None


MEASURES: dict[str, Callable[[Any], Any]] = {"rise": rise, "tau": tau, "top_count": top_count}
