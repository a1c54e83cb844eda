"""Aggregates of a window, read at a position of a history."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..language.aggregates import MEASURES
from ..language.ast import Cover, Difference, Expr, Measure, Window
from ..language.history import History
from ..language.three_valued import above, equal
from ..language.visitor import needs_time
from ..models import Value
from ..models.timestamps import HOUR
from ..stats import count_at_least, count_at_most, student_t_two_sided, surprise_of
from . import values as st
from .evaluate import NO_CHAIN, Chain, Read, number, reader
from .values import welch
from .window import Holds, View, view

# Measures of a window, read at a position of a history.

MOST_VALUES = 20
MOST_COUNTED = 20
"""Events that are kept as evidence of a level."""

Selected = tuple[History, int, View, list[int], list[Any]]
"""The history looked at, the position in it, its window, and the positions and values left in it."""


def holds(expr: Expr | None, cap: int) -> Holds | None:
    """A yes/no function of a condition: unknown is no."""
    if expr is None:
        return None
    read = reader(expr, cap)
    return lambda history, at: read(history, at, NO_CHAIN) is True


def selector(window: Window, cap: int) -> Callable[[History, int], tuple[History, int, View]]:
    """A function that cuts the window at a position."""
    since, where = holds(window.since, cap), holds(window.where, cap)

    def select(history: History, at: int) -> tuple[History, int, View]:
        if window.over_subject and history.whole is not None:
            history, at = history.whole, history.index_in_whole[at]
        return history, at, view(history, at, window, since, where, cap)

    return select


def selected(measure: Measure, cap: int) -> Callable[[History, int], Selected]:
    """A function that gives the positions and values a measure counts: steps 1 to 6 of a window."""
    window, of, select = measure.window, reader(measure.of, cap), selector(measure.window, cap)
    where = holds(window.where, cap) if window.keep is not None else None
    numeric = MEASURES[measure.name].of == "number" and not measure.condition

    def read(history: History, at: int) -> Selected:
        history, at, seen = select(history, at)
        positions: list[int] = []
        values: list[Any] = []
        order: Any = reversed(seen.left) if window.keep is not None else seen.left
        for i in order:
            if window.keep is not None and len(values) == window.keep:
                break
            if where is not None and not where(history, i):
                continue
            value = of(history, i, NO_CHAIN)
            if numeric:
                value = number(value)
            if value is not None:
                positions.append(i)
                values.append(value)
        if window.keep is not None:
            positions.reverse()
            values.reverse()
        return history, at, seen, positions, values

    return read


def measure_reader(expr: Measure | Cover | Difference, cap: int) -> Read:
    """A function that reads the measure."""
    match expr:
        case Cover():
            compute = _cover(expr, cap)
        case Difference():
            compute = difference_reader(expr, cap)
        case Measure():
            compute = _measure(expr, cap)
    token = object()
    timed_only = needs_time(expr)

    def read(history: History, at: int, chain: Chain) -> Any:
        if timed_only and not history.timed:
            return None
        known = history.memo.get(token)
        if known is not None and known[0] == at:
            return known[1]
        value = compute(history, at)
        history.memo[token] = (at, value)
        return value

    return read


def _measure(expr: Measure, cap: int) -> Callable[[History, int], Any]:
    if expr.name == "surprise_count":
        return _surprise_count(expr, cap)
    select, at_least = selected(expr, cap), expr.window.at_least
    here = reader(expr.of, cap)

    def read(history: History, at: int) -> Any:
        if not history.timed and expr.name in ("rate", "span", "fading"):
            return None
        histories = select(history, at)
        if len(histories[4]) < at_least:
            return None
        if expr.name == "surprise":
            return _surprise(histories, number(here(histories[0], histories[1], NO_CHAIN)), expr)
        return _value(expr, histories)

    return read


_PLAIN: dict[str, Callable[[Sequence[Any]], Any]] = {
    "sum": st.total,
    "mean": st.mean,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "std": st.std,
    "median": st.median,
    "distinct": lambda values: float(len(set(values))),
    "top_count": st.top_count,
    "oldest": lambda values: values[0] if values else None,
    "newest": lambda values: values[-1] if values else None,
    "run": st.run,
    "cycle": lambda values: st.cycle(values)[0],
    "cycle_length": lambda values: st.cycle(values)[1],
    "rise": st.rise,
    "tau": st.tau,
    "growth": st.growth,
    "jump": st.jump,
    "share": lambda values: st.mean([float(value) for value in values]),
}


def _value(expr: Measure, result: Selected) -> Any:
    history, _, seen, positions, values = result
    if expr.name in _PLAIN:
        return _checked(_PLAIN[expr.name](values))
    if expr.name in ("swings", "swing_growth"):
        by = (expr.option("by") or (0.0,))[0]
        if expr.name == "swing_growth":
            return _checked(st.swing_growth(values, by))
        return float(max(0, len(st.legs(values, by)) - 1))
    if expr.name == "top":
        return st.top(values, (expr.option("times") or (1.0,))[0])
    if expr.name == "excess":
        return _checked(st.excess(values, (expr.option("over") or (0.0,))[0]))
    if expr.name == "usual":
        m, n0 = expr.option("prior") or (0.0, 0.0)
        return st.finite(lambda: (n0 * m + st.total(values)) / (n0 + len(values)))
    if expr.name == "values":
        return list(dict.fromkeys(reversed(values)))[:MOST_VALUES]
    if expr.name == "fading":
        half = (expr.option("half") or (HOUR,))[0]
        times = history.times
        faded = [x * 2 ** (-(seen.now - times[i]) / half) for i, x in zip(positions, values, strict=True)]
        return st.total(faded) if faded else None
    saved = [i for i, x in zip(positions, values, strict=True) if x is True or not expr.condition]
    if expr.name == "count":
        return float(len(saved))
    if expr.name == "span":
        return (history.times[saved[-1]] - history.times[saved[0]]) / 1e6 if saved else None
    assert expr.name == "rate"
    return _rate(expr, result, len(saved))


def _checked(value: Any) -> Any:
    return value if not isinstance(value, float) or math.isfinite(value) else None


def _rate(expr: Measure, result: Selected, count: int) -> float | None:
    history, _, seen, positions, _ = result
    if seen.whole_duration is not None:
        return count / (seen.whole_duration / HOUR)
    oldest = positions[:1] if expr.window.keep is not None else seen.cut[:1]
    if not positions:
        return None
    hours = (seen.now - history.times[oldest[0]]) / HOUR
    return count / hours if hours > 0 else None


def _surprise(result: Selected, x: float | None, expr: Measure) -> float | None:
    values = result[4]
    m, s, n0 = expr.option("prior") or (0.0, 0.0, 0.0)
    n = n0 + len(values)
    if x is None or n < 2:
        return None
    mu = (n0 * m + st.total(values)) / n
    v = (n0 * s**2 + st.total(st.square(y - mu) for y in values) + n0 * st.square(m - mu)) / n
    # A spread that is only rounding is no spread.
    if equal(mu + math.sqrt(v), mu):
        return None
    t = (x - mu) / math.sqrt(v * (1 + 1 / n))
    return _signed(x - mu, student_t_two_sided(t, n))


def _signed(direction: float, p: float) -> float:
    size = surprise_of(p)
    return math.copysign(size, direction) if size else 0.0


def _surprise_count(expr: Measure, cap: int) -> Callable[[History, int], Any]:
    meets = holds(expr.of, cap)
    span, last = int((expr.option("span") or (0,))[0]), int((expr.option("last") or (0,))[0])
    k, h = expr.option("prior") or (0.0, 0.0)
    assert meets is not None

    def read(history: History, at: int) -> float | None:
        if not history.timed:
            return None
        times, now = history.times, history.times[at]
        oldest = max(0, at + 1 - cap)
        if oldest > 0 and times[oldest] > now - span:
            return None
        positions = [i for i in range(oldest, at + 1) if meets(history, i)]
        count = sum(1 for i in positions if times[i] > now - span)
        start = max(now - span - last, times[oldest])
        past = sum(1 for i in positions if now - span - last < times[i] <= now - span)
        return count_surprise(count, k + past, h + max(0, now - span - start) / HOUR, span / HOUR)

    return read


def count_surprise(count: int, shape: float, rate: float, exposure: float) -> float | None:
    """How surprising a count is after so much in so many hours, over an exposure in hours; signed."""
    if shape <= 0 or rate <= 0:
        return None
    usual = shape * exposure / rate
    if equal(count, usual):
        return 0.0
    tail = min(count_at_most(count, usual, 1 / shape), count_at_least(count, usual, 1 / shape))
    return _signed(count - usual, min(1.0, 2 * tail))


def covered(expr: Cover, cap: int) -> Callable[[History, int], tuple[History, list[int], list[list[bool]]]]:
    """A function that gives the positions a cover looks at, and which indicators were found at each."""
    select = selector(expr.window, cap)
    items, keep = [reader(item, cap) for item in expr.items], expr.window.keep
    where = holds(expr.window.where, cap) if keep is not None else None

    def read(history: History, at: int) -> tuple[History, list[int], list[list[bool]]]:
        history, at, seen = select(history, at)
        positions: list[int] = []
        found: list[list[bool]] = []
        for i in reversed(seen.left):
            if keep is not None and len(positions) == keep:
                break
            if where is not None and not where(history, i):
                continue
            values = [number(item(history, i, NO_CHAIN)) for item in items]
            if any(value is not None for value in values):
                positions.append(i)
                found.append([value is not None and above(value, 0.0) for value in values])
        return history, positions[::-1], found[::-1]

    return read


def _cover(expr: Cover, cap: int) -> Callable[[History, int], Any]:
    look = covered(expr, cap)

    def read(history: History, at: int) -> float | None:
        _, positions, found = look(history, at)
        if len(positions) < expr.window.at_least:
            return None
        return st.total(weight for j, weight in enumerate(expr.weights) if any(row[j] for row in found))

    return read


def counted_positions(measure: Measure, positions: list[int], values: list[Any]) -> list[int]:
    """The positions in a window that a measure counted: a level's evidence."""
    if measure.condition:
        return [i for i, value in zip(positions, values, strict=True) if value is True]
    if measure.name == "run":
        return positions[len(positions) - int(st.run(values)) :]
    if measure.name in ("top", "top_count"):
        most = st.top(values)
        return [i for i, value in zip(positions, values, strict=True) if value == most]
    return positions


# Contrast: do two groups of readings differ, by how much, and how surely.

Readings = list[tuple[float, Value | None]]
"""Values with the stratum each is in; None where that is not known."""


def sides(expr: Difference, cap: int) -> Callable[[History, int], tuple[Readings, Readings]]:
    """A function that gives the readings on each side of the window."""
    select, of = selector(expr.window, cap), reader(expr.of, cap)
    where, against = holds(expr.where, cap), holds(expr.against, cap)
    stratum = reader(expr.within_each, cap) if expr.within_each is not None else None
    assert where is not None
    assert against is not None

    def read(history: History, at: int) -> tuple[Readings, Readings]:
        history, at, seen = select(history, at)
        first: Readings = []
        second: Readings = []
        for i in seen.left:
            value = number(of(history, i, NO_CHAIN))
            group = None if stratum is None else stratum(history, i, NO_CHAIN)
            if value is None:
                continue
            if where(history, i):
                first.append((value, group))
            if against(history, i):
                second.append((value, group))
        return first, second

    return read


def difference_reader(expr: Difference, cap: int) -> Callable[[History, int], float | None]:
    """A function that reads one number of the contrast."""
    read_sides = sides(expr, cap)

    def read(history: History, at: int) -> float | None:
        first, second = read_sides(history, at)
        plain_first, plain_second = [x for x, _ in first], [x for x, _ in second]
        a, b = plain_first, plain_second
        if expr.within_each is not None:
            a, b = _level_strata(first, second)
        if expr.name == "n_where":
            return float(len(a))
        if expr.name == "n_against":
            return float(len(b))
        if min(len(a), len(b)) < max(2, expr.at_least):
            return None
        if expr.name == "plain_difference":
            a, b = plain_first, plain_second
        if expr.name == "t":
            return welch(b, a)
        return math.fsum(a) / len(a) - math.fsum(b) / len(b)

    return read


def _level_strata(first: Readings, second: Readings) -> tuple[list[float], list[float]]:
    """Readings minus the midpoint of their stratum's two means; strata lacking a side are dropped."""
    groups = {group for _, group in first} & {group for _, group in second}
    middle = {group: (_mean(first, group) + _mean(second, group)) / 2 for group in groups - {None}}
    return (
        [x - middle[group] for x, group in first if group in middle],
        [x - middle[group] for x, group in second if group in middle],
    )


def _mean(readings: Readings, group: Value | None) -> float:
    values = [x for x, item in readings if item == group]
    return math.fsum(values) / len(values)
