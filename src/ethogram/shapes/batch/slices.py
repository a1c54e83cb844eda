"""Measures that need the list of values: the plain functions on slices of a column, window by window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..measure import Selected, _surprise, _value
from ..statistics import top
from ..tree import Measure
from ..windows import View
from .arrange import group_codes
from .columns import Floats, Values

if TYPE_CHECKING:
    from .look import Look


def sliced(at: Any, look: Look) -> Floats:
    """What the plain reader gives at each row asked about."""
    expr, n = look.expr, look.n
    out = np.full(len(n), np.nan)
    rows = np.flatnonzero(n >= max(0, expr.window.at_least))
    values, times = look.shared("array", lambda: _array(look)), _times(look)
    # A list is quicker to cut, but to make one of everything for a few short windows is not.
    if int(n[rows].sum()) > len(values):
        values = look.shared("list", values.tolist)
    here = _here(at, look) if expr.name == "surprise" else None
    bounds = zip(rows.tolist(), look.a[rows].tolist(), look.b[rows].tolist(), strict=True)
    now = look.ranges.now.tolist() if expr.name == "fading" else None
    for k, a, b in bounds:
        part = values[a:b] if isinstance(values, list) else values[a:b].tolist()
        if here is not None:
            found = _surprise(_selected(part), None if here[k] != here[k] else here[k], expr)
        elif now is not None:
            found = _faded(expr, part, times[a:b], now[k])
        else:
            found = _value(expr, _selected(part))
        if found is not None:
            out[k] = found
    return out


def most_frequent(look: Look) -> Floats:
    """Which reading of each window is the newest with its most frequent value; absent where there is none."""
    values: list[Any] = look.shared("list", lambda: look.shared("array", lambda: _array(look)).tolist())
    times = (look.expr.option("times") or (1.0,))[0]
    out = np.full(len(look.n), np.nan)
    for k, (a, b) in enumerate(zip(look.a.tolist(), look.b.tolist(), strict=True)):
        part = values[a:b]
        most = top(part, times)
        if most is not None:
            out[k] = b - 1 - part[::-1].index(most)
    return out


def _array(look: Look) -> Any:
    """All readings; where there are texts, numbers stand for values, which are then only told apart."""
    read = look.read
    if read.code is not None:
        return group_codes(Values(read.num, read.code), len(read.at))
    return np.empty(0) if read.num is None else read.num


def _times(look: Look) -> list[int]:
    times: list[int] = look.here.times[look.read.at].tolist() if look.expr.name == "fading" else []
    return times


def _here(at: Any, look: Look) -> list[float]:
    """The value at each row itself."""
    from .evaluate import At, exactly

    found: list[float] = exactly(At(look.here, at.cap, look.ranges.at), look.expr.of).tolist()
    return found


_NO_VIEW = View(0, (), (), None)


def _selected(values: list[Any]) -> Selected:
    """Values alone, for measures that ask for nothing else."""
    return None, 0, _NO_VIEW, [], values  # type: ignore[return-value]


class _Clock:
    """Just enough of a history to ask for times."""

    def __init__(self, times: list[int]) -> None:
        self.times = times


def _faded(expr: Measure, values: list[Any], times: list[int], now: int) -> float | None:
    found: Any = (_Clock(times), 0, View(now, (), (), None), list(range(len(values))), values)
    value: float | None = _value(expr, found)
    return value
