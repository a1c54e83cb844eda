"""Measures of a list of values, oldest first. What no value can be given for is None."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ..language.three_valued import above, at_least
from ..models import Value

Numbers = Sequence[float]
LARGEST_T = 1000.0


def total(values: Iterable[float]) -> float:
    """The exact sum, rounded once; not finite where it is too large to be a number.

    >>> total([1.7e308, 1.7e308])
    inf
    """
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return math.inf


def square(x: float) -> float:
    """x times itself; x ** 2 would raise where this is infinite."""
    return x * x


def mean(values: Numbers) -> float | None:
    return total(values) / len(values) if values else None


def std(values: Numbers) -> float | None:
    """Population standard deviation."""
    if not values:
        return None
    middle = total(values) / len(values)
    return math.sqrt(total(square(x - middle) for x in values) / len(values))


def median(values: Numbers) -> float | None:
    if not values:
        return None
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def top_count(values: Sequence[Value]) -> float:
    return float(max(Counter(values).values(), default=0))


def top(values: Sequence[Value], times: float = 1.0) -> Value | None:
    """The most frequent value; of equally frequent ones the one seen last. None if it occurs less often.

    >>> top(["a", "b", "b", "a", "c"]), top(["a", "b", "a"], times=3)
    ('a', None)
    """
    counts = Counter(values)
    most = max(counts.values(), default=0)
    if not at_least(most, times):
        return None
    return next((value for value in reversed(values) if counts[value] == most), None)


def run(values: Sequence[Value]) -> float:
    """Length of the run of equal values at the end.

    >>> run(["a", "b", "b"])
    2.0
    """
    length = 0
    for value in reversed(values):
        if value != values[-1]:
            break
        length += 1
    return float(length)


def cycle(values: Sequence[Value]) -> tuple[float, float | None]:
    """How often the best cycle at the end repeats, and its length.

    >>> cycle(list("xabcabc"))
    (2.0, 3.0)
    """
    if not values:
        return 0.0, None
    best: tuple[int, int] | None = None
    for k in range(1, min(5, len(values)) + 1):
        block, repeats = values[-k:], 1
        while (repeats + 1) * k <= len(values) and _same_block(values, k, repeats, block):
            repeats += 1
        if repeats >= 2 and (best is None or k * repeats > best[0] * best[1]):
            best = (k, repeats)
    return (1.0, None) if best is None else (float(best[1]), float(best[0]))


def _same_block(values: Sequence[Value], k: int, repeats: int, block: Sequence[Value]) -> bool:
    end = len(values) - repeats * k
    return list(values[end - k : end]) == list(block)


def slope(values: Numbers) -> float | None:
    """Least-squares slope on 0..n-1."""
    n = len(values)
    if n < 2:
        return None
    middle = (n - 1) / 2
    spread = n * (n * n - 1) / 12
    return total((i - middle) * x for i, x in enumerate(values)) / spread


def rise(values: Numbers) -> float | None:
    fitted = slope(values)
    return None if fitted is None else fitted * (len(values) - 1)


def growth(values: Numbers) -> float | None:
    if len(values) < 2 or any(not above(x, 0.0) for x in values):
        return None
    fitted = slope([math.log(x) for x in values])
    return None if fitted is None else finite(lambda: math.exp(fitted))


def tau(values: Numbers) -> float | None:
    """Kendall's tau-b against the order of time; 0 where all are equal."""
    n = len(values)
    if n < 2:
        return None
    score = sum((values[j] > values[i]) - (values[j] < values[i]) for i in range(n) for j in range(i + 1, n))
    pairs = n * (n - 1) / 2
    tied = sum(c * (c - 1) / 2 for c in Counter(values).values())
    return 0.0 if tied == pairs else score / math.sqrt(pairs * (pairs - tied))


def legs(values: Numbers, by: float) -> list[float]:
    """Sizes of the legs between turning points, the one under way included.

    >>> legs([0.0, 1.0, 0.25, 0.5], by=0.5)
    [1.0, 0.75]
    """
    if not values:
        return []
    low = high = values[0]
    sizes: list[float] = []
    start, extreme, up = 0.0, 0.0, None
    for x in values:
        if up is None:
            low, high = min(low, x), max(high, x)
            if at_least(x - low, by):
                start, extreme, up = low, x, True
            elif at_least(high - x, by):
                start, extreme, up = high, x, False
        elif (up and x > extreme) or (not up and x < extreme):
            extreme = x
        elif at_least(abs(extreme - x), by):
            sizes.append(abs(extreme - start))
            start, extreme, up = extreme, x, not up
    return sizes if up is None else [*sizes, abs(extreme - start)]


def swing_growth(values: Numbers, by: float) -> float | None:
    sizes = legs(values, by)
    return sizes[-1] / sizes[0] if len(sizes) >= 2 and sizes[0] else None


def welch(first: Numbers, second: Numbers) -> float:
    """Welch's t of second minus first; each side needs two values."""
    a, b = total(first) / len(first), total(second) / len(second)
    if not above(abs(b - a), 0.0):
        return 0.0
    error = _sample_variance(first, a) / len(first) + _sample_variance(second, b) / len(second)
    # A variance this small against the step is rounding, not spread.
    if error <= square(b - a) / LARGEST_T**2:
        return math.copysign(LARGEST_T, b - a)
    return (b - a) / math.sqrt(error)


def _sample_variance(values: Numbers, middle: float) -> float:
    return total(square(x - middle) for x in values) / (len(values) - 1)


def jump(values: Numbers) -> float | None:
    """Welch t of largest size over the splits with at least 3 on each side; of equals the earliest."""
    if len(values) < 6:
        return None
    best = 0.0
    for split in range(3, len(values) - 2):
        t = welch(values[:split], values[split:])
        if above(abs(t), abs(best)):
            best = t
    return best


def excess(values: Numbers, over: float) -> float | None:
    """Largest sum of x - over among the ends of the window, not below 0."""
    if not values:
        return None
    best = total = 0.0
    for x in reversed(values):
        total += x - over
        best = max(best, total)
    return best


def finite(compute: Callable[[], float]) -> float | None:
    """The number, or None where there is none: not finite, divided by 0, out of the domain."""
    try:
        value = compute()
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return value if math.isfinite(value) else None
