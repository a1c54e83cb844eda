"""surprise_count over all windows at once: the counts in columns, what they mean one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..measure import HOUR, count_surprise
from ..tree import Measure
from .columns import Floats
from .ranges import until

if TYPE_CHECKING:
    from .evaluate import At


def surprise_count(at: At, expr: Measure) -> Floats:
    """What the plain reader gives at each row asked about."""
    from .evaluate import At as Reader

    here, positions = at.arranged, at.positions
    span, last = (int((expr.option(name) or (0,))[0]) for name in ("span", "last"))
    k, h = expr.option("prior") or (0.0, 0.0)
    before = np.concatenate(([0], np.cumsum(Reader(here, at.cap).holds(expr.of))))
    times, now = here.times, here.times[positions]
    first = here.start_of(positions)
    oldest = np.maximum(first, positions + 1 - at.cap)
    # Windows are (now - span, now] and (now - span - last, now - span], cut to the newest events.
    turn = np.maximum(until(here, positions, span), oldest)
    past = np.maximum(until(here, positions, span + last), oldest)
    counts = (before[positions + 1] - before[turn]).tolist()
    shapes = (before[turn] - before[np.minimum(past, turn)]).tolist()
    start = np.maximum(now - span - last, times[oldest])
    rates = (np.maximum(0, now - span - start) / HOUR).tolist()
    unknown = ((oldest > first) & (times[oldest] > now - span)).tolist()
    found = (
        None if cut else count_surprise(count, k + shape, h + rate, span / HOUR)
        for count, shape, rate, cut in zip(counts, shapes, rates, unknown, strict=True)
    )
    return np.array([np.nan if value is None else value for value in found], np.float64)
