"""Aggregates over rolling windows: each read from a column, by the formula both engines share."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...language.aggregates import MEASURES as CATALOGUE
from ...language.aggregates import options_of
from ...language.ast import Cover, Difference, Duration, Events, Expr, Indicator, Measure, Signal
from ...language.three_valued import above
from ...language.visitor import MEASURES, needs_time, walk
from ...models.event import Event, is_evaluated, millionths
from ...models.timestamps import HOUR, micros
from ..aggregates import AGGREGATES, Sides, contrast, count_surprise, fading, run, surprise, top
from ..history import History
from .expressions import Read, holds, number, reader
from .rolling import Bounds, Column, Seen, Series, bounds_of, converted, viewer

# One series for equal expressions, so that programs of one history share their columns.

_SERIES: dict[Any, Series] = {}


def series_of(expr: Measure | Cover) -> Series:
    """The series an aggregate is computed from."""
    window, sums = expr.window, ""
    keep = (
        0 if window.keep is None else window.keep + (window.skip.n if isinstance(window.skip, Events) else 0)
    )
    if isinstance(expr, Cover):
        # Events with none of the set matter only where readings are counted.
        counts = bool(window.at_least or keep)
        kind, of = "raw", _cover_bits(expr, none=0 if counts else None)
        key: Any = (expr.items, window.where, keep, counts)
    else:
        kind = _kind(expr)
        sums = AGGREGATES[expr.name].sums if expr.name in AGGREGATES else _SUMS.get(expr.name, "")
        key, of = (kind, expr.of, window.where, sums, keep), reader(expr.of)
    if key not in _SERIES:
        if len(_SERIES) > 10_000:
            _SERIES.clear()
        _SERIES[key] = Series(converted(kind, of, window.where), sums, keep, key)
    return _SERIES[key]


def retained_series(expr: Expr, *, over_subject: bool) -> Iterator[Series]:
    """The series of `keep` windows inside an expression: they must be read from the first event on."""
    for item in walk(expr):
        if not isinstance(item, (Measure, Cover)) or item.window.keep is None:
            continue
        if item.window.over_subject == over_subject:
            yield series_of(item)


_SUMS = {"surprise": "sq", "rate": "s"}


def _kind(expr: Measure) -> str:
    if expr.name == "surprise_count":
        return "true"
    if expr.condition:
        return "truth"
    if expr.name in ("count", "rate"):
        return "present"
    if CATALOGUE[expr.name].of == "number":
        return "number"
    # Readings are rounded already.
    return "raw" if isinstance(expr.of, (Signal, Indicator)) else "value"


def _cover_bits(expr: Cover, none: int | None) -> Read:
    """Which of the set are above 0, as bits; `none` where there are none on an event that has a reading."""
    names = [(item.name, 1 << k) for k, item in enumerate(expr.items)]

    def read(event: Event, at: int, history: History) -> int | None:
        bits, known = 0, False
        readings: Mapping[str, Any] = event.readings
        for name, bit in names:
            value = readings.get(name)
            if value is not None and value.__class__ is not str:
                known = True
                if above(value, 0.0):
                    bits |= bit
        return bits or (none if known or is_evaluated(readings) else None)

    return read


def aggregate_reader(expr: Measure | Cover | Difference) -> Read:
    """A function that reads an aggregate."""
    compute: Callable[[History, int, Event], Any]
    if isinstance(expr, Difference):
        compute = _difference(expr)
    elif isinstance(expr, Cover):
        compute = _cover(expr)
    elif expr.name == "surprise_count":
        compute = _surprise_count(expr)
    elif expr.name in AGGREGATES and AGGREGATES[expr.name].sums:
        compute = _from_sums(expr)
    else:
        compute = _from_values(expr)
    over_subject = expr.window.over_subject
    timed_only = needs_time(expr) or (isinstance(expr, Measure) and expr.name in ("rate", "span", "fading"))

    def read(event: Event, at: int, history: History) -> Any:
        if timed_only and not history.timed:
            return None
        if over_subject and history.whole is not None:
            at, history = history.whole_at[at - history.base], history.whole
        known = history.memo.get(read)
        if known is not None and known[0] == at:
            return known[1]
        try:
            value = compute(history, at, event)
        except (ZeroDivisionError, OverflowError, ValueError):  # of nothing, or too large for a number
            value = None
        if value.__class__ is float and not math.isfinite(value):
            value = None
        history.memo[read] = (at, value)
        return value

    return read


def _from_sums(expr: Measure) -> Callable[[History, int, Event], Any]:
    view, at_least = viewer(series_of(expr), expr.window), expr.window.at_least
    formula, options = AGGREGATES[expr.name].formula, options_of(expr)
    only_s = AGGREGATES[expr.name].sums == "s"

    def compute(history: History, at: int, event: Event) -> Any:
        column, lo, hi = view(history, at)
        if hi - lo < at_least:
            return None
        if only_s:
            return formula(hi - lo, column.s[hi] - column.s[lo], 0, 0, options)
        return formula(hi - lo, *column.sums(lo, hi), options)

    return compute


def _from_values(expr: Measure) -> Callable[[History, int, Event], Any]:
    name, here, at_least, options = expr.name, reader(expr.of), expr.window.at_least, options_of(expr)
    view, cut = viewer(series_of(expr), expr.window), bounds_of(expr.window)

    def compute(history: History, at: int, event: Event) -> Any:
        column, lo, hi = view(history, at)
        if hi - lo < at_least:
            return None
        if name in AGGREGATES:
            return AGGREGATES[name].formula(column.values[lo:hi], options)
        if name == "surprise":
            x = number(here(event, at, history))
            s, q, _ = column.sums(lo, hi)
            return None if x is None else surprise(x, hi - lo, s, q, options["prior"])
        if name == "rate":
            return _rate(expr, history, cut(history, at), (column, lo, hi))
        us = [_us(column, history, index) for index in range(lo, hi)]
        if name == "fading":
            return fading(
                column.values[lo:hi], [cut(history, at)[2] - item for item in us], options["half"][0]
            )
        assert name == "span"
        counting = [
            t for t, x in zip(us, column.values[lo:hi], strict=True) if x is True or not expr.condition
        ]
        return (counting[-1] - counting[0]) / 1e6 if counting else None

    return compute


def _us(column: Column, history: History, index: int) -> int:
    position = column.positions[index]
    return (
        history.times[position - history.base]
        if position >= history.base
        else micros(column.events[index].at)
    )


def _rate(expr: Measure, history: History, bounds: Bounds, seen: Seen) -> float | None:
    _, _, now, cut, whole = bounds
    column, lo, hi = seen
    counting = column.sums(lo, hi)[0]
    if whole and expr.window.keep is None:
        us = min(limit.us for limit in expr.window.last if isinstance(limit, Duration))
    elif lo == hi:
        return None
    elif expr.window.keep is None:
        us = now - history.times[cut - history.base]
    else:
        us = now - _us(column, history, lo)
    return counting / (us / HOUR) if us > 0 else None


def _surprise_count(expr: Measure) -> Callable[[History, int, Event], Any]:
    spanned, options = _spanned(expr), options_of(expr)
    k, h = options["prior"]
    span, last = int(options["span"][0]), int(options["last"][0])

    def compute(history: History, at: int, event: Event) -> float | None:
        columns = spanned(history, at)
        if columns is None:
            return None
        column, first, inside, end = columns
        times, base, border = history.times, history.base, history.times[at - history.base] - span
        older = bisect_right(times, border - last, first - base, max(first, inside) - base) + base
        met = column.positions
        recent = bisect_left(met, inside)
        past = recent - bisect_left(met, older)
        hours = max(0, border - max(times[first - base], border - last)) / HOUR
        return count_surprise(bisect_left(met, end) - recent, k + past, h + hours, span / HOUR)

    return compute


def _spanned(expr: Measure) -> Callable[[History, int], tuple[Column, int, int, int] | None]:
    """A function that gives the column, and where the cap, the span and the window's end lie; None where the
    cap cut inside the span."""
    series, span = series_of(expr), int(options_of(expr)["span"][0])

    def spanned(history: History, at: int) -> tuple[Column, int, int, int] | None:
        times, base = history.times, history.base
        border, first = times[at - base] - span, max(0, at + 1 - history.cap)
        if first > base and times[first - 1 - base] > border:
            return None
        inside = bisect_right(times, border, first - base, at + 1 - base) + base
        return series.column(history, at + 1), first, inside, at + 1

    return spanned


def _cover(expr: Cover) -> Callable[[History, int, Event], Any]:
    view, at_least = viewer(series_of(expr), expr.window), expr.window.at_least
    weights = expr.weights or (1.0,) * len(expr.items)

    def compute(history: History, at: int, event: Event) -> float | None:
        column, lo, hi = view(history, at)
        if hi - lo < at_least:
            return None
        bits = 0
        for value in set(column.values[lo:hi]):
            bits |= value
        return math.fsum(weight for k, weight in enumerate(weights) if bits >> k & 1)

    return compute


# Contrasts: the window's sums by stratum and side, moved on with the window.


class Sliding:
    """The sums of the readings lo to hi of a column of (millionths, on side 1, on side 2, stratum)."""

    __slots__ = ("all", "at", "hi", "lo", "strata")

    def __init__(self) -> None:
        self.lo = self.hi = 0
        self.at = -1
        self.all = Sides()
        self.strata: dict[Any, Sides] = {}

    def move(self, column: Column, lo: int, hi: int) -> None:
        """Take in what has come and leave out what has gone."""
        if lo + column.started == self.lo and hi + column.started == self.hi:
            return
        # The column may have forgotten readings since, so count from its first one ever.
        own_lo, own_hi = self.lo - column.started, self.hi - column.started
        if not own_lo <= lo <= own_hi <= hi or own_lo < 0:
            self.all, self.strata = Sides(), {}
            own_lo = own_hi = lo
        for item in column.values[own_lo:lo]:
            self._count(item, -1)
        for item in column.values[own_hi:hi]:
            self._count(item, 1)
        self.lo, self.hi = lo + column.started, hi + column.started

    def _count(self, item: tuple[int, bool, bool, Any], way: int) -> None:
        x, first, second, stratum = item
        groups = [self.all]
        if stratum is not None:
            groups.append(self.strata.setdefault(stratum, Sides()))
        for group in groups:
            if first:
                group.n1, group.s1, group.q1 = group.n1 + way, group.s1 + way * x, group.q1 + way * x * x
            if second:
                group.n2, group.s2, group.q2 = group.n2 + way, group.s2 + way * x, group.q2 + way * x * x
        if stratum is not None and not groups[1].n1 and not groups[1].n2:
            del self.strata[stratum]

    # It lies among the columns of a history, and has nothing to read on or to forget.
    def catch_up(self, history: History) -> None: ...
    def trim(self, base: int) -> None: ...


_SLIDES: dict[Any, object] = {}


def _difference_series(expr: Difference) -> Series:
    key = (expr.of, expr.where, expr.against, expr.within_each, expr.window.where)
    if key not in _SERIES:
        of, where, against = reader(expr.of), holds(expr.where), holds(expr.against)
        stratum = None if expr.within_each is None else reader(expr.within_each)

        def read(event: Event, at: int, history: History) -> tuple[int, bool, bool, Any] | None:
            first, second = where(event, at, history), against(event, at, history)
            x = number(of(event, at, history)) if first or second else None
            if x is None:
                return None
            return millionths(x), first, second, None if stratum is None else stratum(event, at, history)

        _SERIES[key] = Series(converted("raw", read, expr.window.where))
    return _SERIES[key]


def _difference(expr: Difference) -> Callable[[History, int, Event], Any]:
    view = viewer(_difference_series(expr), expr.window)
    name, slide = expr.name, _SLIDES.setdefault((_difference_series(expr), expr.window), object())

    def compute(history: History, at: int, event: Event) -> float | None:
        sliding = history.columns.get(slide)
        if sliding is None:
            sliding = history.columns[slide] = Sliding()
        if sliding.at != at:  # most often two of its numbers are asked for
            sliding.at = at
            sliding.move(*view(history, at))
        if sliding.lo == sliding.hi:
            return None if name not in ("n_where", "n_against") else 0.0
        strata = None if expr.within_each is None else sliding.strata.values()
        return contrast(name, sliding.all, strata, expr.at_least)

    return compute


# Evidence: the events an aggregate counted.


def counted(expr: Expr, history: History, at: int) -> list[Event]:
    """The events an aggregate counts at a position, oldest first."""
    if not isinstance(expr, MEASURES):
        return []
    if expr.window.over_subject and history.whole is not None:
        at, history = history.whole_at[at - history.base], history.whole
    if not history.timed and needs_time(expr):
        return []
    if isinstance(expr, Measure) and expr.name == "surprise_count":
        span = _spanned(expr)(history, at)
        if span is None:
            return []
        column, _, inside, end = span
        lo, hi = bisect_left(column.positions, inside), bisect_left(column.positions, end)
        return [column.event(history, index) for index in range(lo, hi)]
    series = _difference_series(expr) if isinstance(expr, Difference) else series_of(expr)
    column, lo, hi = viewer(series, expr.window)(history, at)
    values = column.values[lo:hi]
    wanted: Any = range(len(values))
    if isinstance(expr, Cover) or (isinstance(expr, Measure) and expr.condition):
        wanted = [k for k, value in enumerate(values) if value]
    elif isinstance(expr, Measure) and expr.name == "run":
        wanted = wanted[len(values) - int(run(values)) :]
    elif isinstance(expr, Measure) and expr.name in ("top", "top_count"):
        most = top(values)
        wanted = [k for k, value in enumerate(values) if value == most]
    return [column.event(history, lo + k) for k in wanted]
