"""Aggregates of a window, written once for both engines: integer sums in, one floating-point formula out.

Numbers in a window are fixed point: integers of millionths (`millionths`). Sums, sums of squares and weighted
sums of them are exact in any order, so engines may add as they like (running sums, prefix sums, slices) and
still agree to the last bit. Only the formulas here are floating point.

A new aggregate is an entry in `language/aggregates.py` (name, arguments, meaning), a formula here, which the
live engine needs nothing else for, and where a slice per row is too slow, a kernel in `columns/`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..language.three_valued import above, at_least, equal
from ..models.event import Value, millionths
from ..models.slotted import dataclass
from ..stats import count_at_least, count_at_most, student_t_two_sided, surprise_of

MOST_VALUES = 20
LARGEST_T = 1000.0

Options = Mapping[str, tuple[float, ...]]
"""The numbers given to an aggregate, by name: `by`, `over`, `prior`, `times`."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """How an aggregate is computed from the readings of a window.

    With `sums` (some of "s", "q" and "t") by `formula(n, s, q, t, options)`: n readings, the sum of x, of x²
    and of k·x for k = 0..n-1, in millionths; sums not in `sums` are 0. Without, by
    `formula(values, options)`: the readings, oldest first. Numbers are millionths where the aggregate takes
    numbers only (`of` in the catalogue), plain numbers rounded to six decimals or categories where it takes
    any value, and truth values where it takes a condition. Absent are None and what is divided by 0.

    Formulas of s alone also take arrays.
    """

    formula: Callable[..., Any]
    sums: str = ""


# From sums. Written with operations that NumPy and Python round alike, so that n, s, q and t may be arrays.


def mean(n: Any, s: Any) -> Any:
    """s / n as a plain number; n must not be 0.

    >>> mean(4, 3_000_000)
    0.75
    """
    return s / (n * 1e6)


def variance(n: int, s: int, q: int) -> int:
    """n² times the population variance in square millionths: exact, and 0 only where all are equal."""
    return n * q - s * s


def std(n: int, v: int) -> float:
    """Population standard deviation, from `variance`."""
    return root(v) / (n * 1e6)


def root(v: int) -> float:
    """The square root, also of integers that are too large for a float."""
    return math.sqrt(v) if v < 1 << 1000 else float(math.isqrt(v))


def rise(n: Any, s: Any, t: Any) -> Any:
    """The least-squares slope on 0..n-1 times n-1; n must be 2 or more.

    >>> rise(3, 600_000, 800_000)  # 0.1, 0.2, 0.3
    0.2
    """
    return 6 * (2 * t - (n - 1) * s) / (n * (n + 1) * 1e6)


def usual(n: Any, s: Any, m: float, n0: float) -> Any:
    """The mean, shrunk towards a prior mean m that counts as n0 readings; n0 + n must not be 0."""
    return (n0 * m + s / 1e6) / (n0 + n)


def surprise(x: float, n: int, s: int, q: int, prior: tuple[float, ...]) -> float | None:
    """How unexpected x is after n readings: signed -log10 of the two-sided p of Student's t."""
    m, deviation, n0 = prior
    total = n0 + n
    if total < 2:
        return None
    mu = (n0 * m + s / 1e6) / total
    inside = variance(n, s, q) / (n * 1e12) + n * (mean(n, s) - mu) ** 2 if n else 0.0
    v = (n0 * deviation**2 + inside + n0 * (m - mu) ** 2) / total
    if equal(mu + math.sqrt(v), mu):
        return None
    t = (x - mu) / math.sqrt(v * (1 + 1 / total))
    return signed_score(t, student_t_two_sided(t, total))


def count_surprise(count: int, shape: float, hours: float, exposure: float) -> float | None:
    """How unexpected a count over `exposure` hours is after `shape` in so many hours; signed -log10 p."""
    if shape <= 0 or hours <= 0:
        return None
    expected = shape * exposure / hours
    if equal(count, expected):
        return 0.0
    tail = min(count_at_most(count, expected, 1 / shape), count_at_least(count, expected, 1 / shape))
    return signed_score(count - expected, min(1.0, 2 * tail))


def signed_score(direction: float, p: float) -> float:
    """-log10 p, 12 at most, with the sign of `direction`."""
    size = surprise_of(p)
    return math.copysign(size, direction) if size else 0.0


def welch(n1: int, s1: int, q1: int, n2: int, s2: int, q2: int) -> float:
    """Welch's t of the second mean minus the first; both sides need two readings.

    >>> welch(2, 2, 2, 2, 4, 8)  # no spread on either side
    1000.0
    """
    difference = (s2 * n1 - s1 * n2) / (n1 * n2)
    error = variance(n1, s1, q1) / (n1 * n1 * (n1 - 1)) + variance(n2, s2, q2) / (n2 * n2 * (n2 - 1))
    return bounded_t(difference, error)


def bounded_t(difference: float, error: float) -> float:
    """difference / sqrt(error): 0 for equal means, ±1000 at most and where there is no error."""
    if difference == 0:
        return 0.0
    if error <= (difference / LARGEST_T) ** 2:
        return math.copysign(LARGEST_T, difference)
    return difference / math.sqrt(error)


@dataclass(slots=True)
class Sides:
    """The readings of one stratum of a contrast: count, sum and sum of squares where `where` holds (1) and
    where `against` holds (2), in millionths."""

    n1: int = 0
    s1: int = 0
    q1: int = 0
    n2: int = 0
    s2: int = 0
    q2: int = 0


def contrast(name: str, all_: Sides, strata: Iterable[Sides] | None, at_least: int) -> float | None:
    """One number of a contrast: difference, plain_difference, t, n_where or n_against.

    `strata` are those of `within_each`, None without it. Each reading is taken minus the midpoint of its
    stratum's two means: then side 1 of a stratum has the mean h, half the difference of its means, and side 2
    has -h. Strata that lack a side are dropped.
    """
    both = [all_] if strata is None else [item for item in strata if item.n1 and item.n2]
    n1, n2 = sum(item.n1 for item in both), sum(item.n2 for item in both)
    if name in ("n_where", "n_against"):
        return float(n1 if name == "n_where" else n2)
    if min(n1, n2) < max(2, at_least):
        return None
    if name == "plain_difference" or len(both) == 1:
        item = all_ if name == "plain_difference" else both[0]
        if name == "t":
            return -welch(item.n1, item.s1, item.q1, item.n2, item.s2, item.q2)
        return (item.s1 * item.n2 - item.s2 * item.n1) / (item.n1 * item.n2 * 1e6)
    h = [(item.s1 * item.n2 - item.s2 * item.n1) / (item.n1 * item.n2 * 2) for item in both]
    pairs = list(zip(both, h, strict=True))
    mean1 = math.fsum(item.n1 * half for item, half in pairs) / n1
    mean2 = -math.fsum(item.n2 * half for item, half in pairs) / n2
    if name == "difference":
        return (mean1 - mean2) / 1e6
    if abs(mean1 - mean2) <= 1e-12 * max(map(abs, h)):  # equal but for rounding
        return 0.0
    squares1 = math.fsum(
        variance(item.n1, item.s1, item.q1) / item.n1 + item.n1 * (half - mean1) ** 2 for item, half in pairs
    )
    squares2 = math.fsum(
        variance(item.n2, item.s2, item.q2) / item.n2 + item.n2 * (half + mean2) ** 2 for item, half in pairs
    )
    return bounded_t(mean1 - mean2, squares1 / (n1 - 1) / n1 + squares2 / (n2 - 1) / n2)


# From values, oldest first.


def median(values: Sequence[int]) -> float | None:
    if not values:
        return None
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] / 1e6 if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2e6


def top(values: Sequence[Value], times: float = 1.0) -> Value | None:
    """The most frequent value; of equally frequent ones the one seen last. None if it occurs less often.

    >>> top(["a", "b", "b", "a", "c"]), top(["a", "b", "a"], times=3)
    ('a', None)
    """
    counts = Counter(values)
    most = max(counts.values(), default=0)
    if not most or not at_least(most, times):
        return None
    return next(value for value in reversed(values) if counts[value] == most)


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


MAX_CYCLE = 15
"""Values of the longest cycle that is looked for."""


def cycle(values: Sequence[Value]) -> tuple[float, float | None]:
    """How often the best cycle at the end repeats, and its length.

    >>> cycle(list("xabcabc"))
    (2.0, 3.0)
    """
    n = len(values)
    repeats, length = (1 if n else 0), 0
    for k in range(1, min(MAX_CYCLE, n // 2) + 1):
        if values[n - 1] != values[n - 1 - k]:
            continue
        same = k
        while same < n and values[n - 1 - same] == values[n - 1 - same + k]:
            same += 1
        if same // k >= 2 and k * (same // k) > length * repeats:
            repeats, length = same // k, k
    return float(repeats), float(length) if length else None


def tau(values: Sequence[int]) -> float | None:
    """Kendall's tau-b against the order of time; 0 where all are equal."""
    n = len(values)
    if n < 2:
        return None
    pairs = n * (n - 1) // 2
    tied = sum(c * (c - 1) // 2 for c in Counter(values).values())
    if tied == pairs:
        return 0.0
    falling = _inversions(list(values))[1]
    return (pairs - tied - 2 * falling) / math.sqrt(pairs * (pairs - tied))


def _inversions(values: list[int]) -> tuple[list[int], int]:
    """The values sorted, and the number of inverted pairs."""
    n = len(values)
    if n <= 16:
        return sorted(values), sum(
            later < earlier for i, earlier in enumerate(values) for later in values[i + 1 :]
        )
    left, a = _inversions(values[: n // 2])
    right, b = _inversions(values[n // 2 :])
    count, i = a + b, 0
    for x in right:
        while i < len(left) and left[i] <= x:
            i += 1
        count += len(left) - i
    return sorted(left + right), count


def growth(values: Sequence[int]) -> float | None:
    """exp of the least-squares slope of ln x."""
    n = len(values)
    if n < 2 or min(values) <= 0:
        return None
    weighted = math.fsum((2 * k - n + 1) * math.log(x / 1e6) for k, x in enumerate(values))
    return math.exp(6 * weighted / (n * (n * n - 1)))


def legs(values: Sequence[int], by: float) -> list[int]:
    """Sizes of the legs between turning points in millionths, the one under way included.

    >>> legs([0, 1_000_000, 250_000, 500_000], by=0.5)
    [1000000, 750000]
    """
    sizes: list[int] = []
    if not values:
        return sizes
    least = millionths(by)
    low = high = start = extreme = values[0]
    way = 0
    for x in values:
        if not way:
            low, high = min(low, x), max(high, x)
            if x - low >= least:
                start, extreme, way = low, x, 1
            elif high - x >= least:
                start, extreme, way = high, x, -1
        elif (x - extreme) * way > 0:
            extreme = x
        elif (extreme - x) * way >= least:
            sizes.append(abs(extreme - start))
            start, extreme, way = extreme, x, -way
    return [*sizes, abs(extreme - start)] if way else sizes


def swing_growth(values: Sequence[int], by: float) -> float | None:
    sizes = legs(values, by)
    return sizes[-1] / sizes[0] if len(sizes) >= 2 and sizes[0] else None


def jump(values: Sequence[int]) -> float | None:
    """Welch t of largest size over the splits with at least 3 on each side; of equals the earliest."""
    n = len(values)
    if n < 6:
        return None
    total, squares = sum(values), sum(x * x for x in values)
    best, s, q = 0.0, sum(values[:2]), sum(x * x for x in values[:2])
    for split in range(3, n - 2):
        x = values[split - 1]
        s, q = s + x, q + x * x
        t = welch(split, s, q, n - split, total - s, squares - q)
        if above(abs(t), abs(best)):
            best = t
    return best


def excess(values: Sequence[int], over: float) -> float | None:
    """Largest sum of x - over among the ends of the window, not below 0."""
    best = total = 0
    limit = millionths(over)
    for x in reversed(values):
        total += x - limit
        best = max(best, total)
    return best / 1e6 if values else None


def fading(values: Sequence[int], ages: Iterable[int], half: float) -> float | None:
    """The sum of x · 2^(-age/half); ages and half in microseconds."""
    terms = [x / 1e6 * 2.0 ** (-age / half) for x, age in zip(values, ages, strict=True)]
    return math.fsum(terms) if terms else None


AGGREGATES: dict[str, Aggregate] = {
    "sum": Aggregate(lambda n, s, q, t, o: s / 1e6, "s"),
    "mean": Aggregate(lambda n, s, q, t, o: mean(n, s), "s"),
    "std": Aggregate(lambda n, s, q, t, o: std(n, variance(n, s, q)), "sq"),
    "rise": Aggregate(lambda n, s, q, t, o: rise(n, s, t) if n > 1 else None, "st"),
    "usual": Aggregate(lambda n, s, q, t, o: usual(n, s, *o["prior"]), "s"),
    # Of a condition, s counts the true ones.
    "count": Aggregate(lambda n, s, q, t, o: s / 1, "s"),
    "share": Aggregate(lambda n, s, q, t, o: s / n, "s"),
    "min": Aggregate(lambda xs, o: min(xs) / 1e6 if xs else None),
    "max": Aggregate(lambda xs, o: max(xs) / 1e6 if xs else None),
    "median": Aggregate(lambda xs, o: median(xs)),
    "tau": Aggregate(lambda xs, o: tau(xs)),
    "growth": Aggregate(lambda xs, o: growth(xs)),
    "jump": Aggregate(lambda xs, o: jump(xs)),
    "swings": Aggregate(lambda xs, o: float(max(0, len(legs(xs, o["by"][0])) - 1))),
    "swing_growth": Aggregate(lambda xs, o: swing_growth(xs, o["by"][0])),
    "excess": Aggregate(lambda xs, o: excess(xs, o["over"][0])),
    "distinct": Aggregate(lambda xs, o: float(len(set(xs)))),
    "top_count": Aggregate(lambda xs, o: float(max(Counter(xs).values(), default=0))),
    "top": Aggregate(lambda xs, o: top(xs, o["times"][0])),
    "oldest": Aggregate(lambda xs, o: xs[0] if xs else None),
    "newest": Aggregate(lambda xs, o: xs[-1] if xs else None),
    "run": Aggregate(lambda xs, o: run(xs)),
    "cycle": Aggregate(lambda xs, o: cycle(xs)[0]),
    "cycle_length": Aggregate(lambda xs, o: cycle(xs)[1]),
    "values": Aggregate(lambda xs, o: list(dict.fromkeys(reversed(xs)))[:MOST_VALUES]),
}
"""By name. `rate`, `span`, `fading`, `surprise` and `surprise_count` also need times or the reading here;
`cover` and contrasts have nodes of their own."""
