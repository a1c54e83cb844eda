"""surprise_count over rows: how unusual the number of events in the newest span is."""

from __future__ import annotations

from bisect import bisect_right

from ..measure import HOUR, _signed
from ..tails import negative_binomial_tails
from ..tree import Measure
from ..truth import equal
from .pick import Columns, Compute
from .rows import Rows


def spanned(rows: Rows, column: int, cap: int, span: int) -> list[int]:
    """The rows in the span of a surprise_count at which its condition is true."""
    seen, now = rows.columns[column], rows.us
    oldest = max(0, len(rows.times) - cap)
    first = bisect_right(rows.times, now - span, oldest)
    return [i for i in range(first, len(rows.times)) if seen[i] is True]


def surprise_count_of(expr: Measure, columns: Columns) -> Compute:
    """A function that gives how unusual the count is, as a signed -log10."""
    column, cap = columns.column("true", expr.of), columns.cap
    span, last = int((expr.option("span") or (0,))[0]), int((expr.option("last") or (0,))[0])
    k, h = expr.option("prior") or (0.0, 0.0)

    def compute(rows: Rows) -> float | None:
        if not rows.timed:
            return None
        times, now, seen = rows.times, rows.us, rows.columns[column]
        oldest = max(0, len(times) - cap)
        if rows.n > cap and times[oldest] > now - span:
            return None
        border = bisect_right(times, now - span, oldest)
        far = bisect_right(times, now - span - last, oldest)
        count, past = seen[border:].count(True), seen[far:border].count(True)
        start = max(now - span - last, times[oldest])
        shape, rate = k + past, h + max(0, now - span - start) / HOUR
        if shape <= 0 or rate <= 0:
            return None
        exposure = span / HOUR
        below, upper = negative_binomial_tails(count, shape, rate, exposure)
        usual = shape * exposure / rate
        if equal(count, usual):
            return 0.0
        return _signed(count - usual, min(1.0, 2 * min(below, upper)))

    return compute
