"""Cover over rows: which indicators of a set were seen."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..tree import Cover
from .pick import Columns, Compute, picker, slicer
from .rows import Rows
from .window import Cut, cutter


def cover_of(expr: Cover, columns: Columns) -> Compute:
    """A function that gives the weight of the different indicators seen."""
    pick_kept = None
    if expr.window.keep is not None:
        pick_kept = picker("found", expr.items, expr.window, columns)
        column, left = 0, cutter(expr.window, columns.cap)
    else:
        column = columns.column("found", expr.items, expr.window.where)
        since = None if expr.window.since is None else columns.column("true", expr.window.since)
        left = slicer(expr.window, columns.cap, since)
    bits = [(1 << j, weight) for j, weight in enumerate(expr.weights)]
    if expr.window.keep is None and expr.window.at_least == 0 and expr.window.skip is None:
        return _last_seen(column, left, bits)

    def compute(rows: Rows) -> float | None:
        if pick_kept is not None:
            seen = pick_kept(rows).values
        else:
            first, end, _, _ = left(rows)
            seen = rows.columns[column][first:end]
        if expr.window.at_least and len(seen) - seen.count(None) < expr.window.at_least:
            return None
        together = 0
        for mask in set(seen):
            together |= mask or 0
        return math.fsum(weight for bit, weight in bits if together & bit)

    return compute


def _last_seen(column: int, left: Callable[[Rows], Cut], bits: list[tuple[int, float]]) -> Compute:
    """The weight of indicators seen in a window that ends here: each is in it if it was seen last in it."""

    def compute(rows: Rows) -> float:
        upto, last = rows.distances.get(column) or (0, dict[int, int]())
        length, seen = len(rows.times), rows.columns[column]
        past = rows.n - length
        for i in range(max(0, upto - past), length):
            if mask := seen[i]:
                for bit, _ in bits:
                    if mask & bit:
                        last[bit] = past + i
        rows.distances[column] = (rows.n, last)
        first = left(rows)[0] + past
        return math.fsum(weight for bit, weight in bits if last.get(bit, -1) >= first)

    return compute
