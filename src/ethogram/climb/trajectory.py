"""Trajectory: does the risk of the turns climb, stay high, or pile up?"""

from __future__ import annotations

from collections.abc import Sequence

from .records import Signal, quiet

WINDOW = 10
FEWEST = 3
LEVEL = 0.35
"""A mean of the last three above this is a level worth naming."""
SLACK = 0.12
"""What lies above this adds up."""
WEIGHT = 0.55


def detect_escalation_shape(values: Sequence[float]) -> float:
    """How much a series of risks looks like an escalation, 0..1, judged by its newest ten values.

    The best climb that ends at the newest value (rise times rank agreement, over windows of 3 to 10), a
    high level, and what adds up above a slack. A calm past of any length changes nothing.

    >>> round(detect_escalation_shape([k / 8 for k in range(9)]), 2) > 0.8
    True
    >>> detect_escalation_shape([0.05] * 30)
    0.0
    """
    return _shape(values)[0]


def _shape(values: Sequence[float]) -> tuple[float, float, float]:
    """How much it looks like an escalation, and the climb and the level that are part of it."""
    if len(values) < FEWEST:
        return 0.0, 0.0, 0.0
    newest = [min(1.0, max(0.0, value)) for value in values[-WINDOW:]]
    climb, level, heaped = climb_of(newest), level_of(newest), min(1.0, heap_of(newest) / 2.5)
    return 1 - (1 - climb) * (1 - 0.7 * level) * (1 - 0.5 * heaped), climb, level


def climb_of(values: Sequence[float]) -> float:
    """The best rise times rank agreement over windows that end at the newest value.

    Short windows count less.
    """
    best = 0.0
    for size in range(FEWEST, len(values) + 1):
        part = values[-size:]
        if part[-1] <= part[0]:
            continue
        certain = min(1.0, (size + 1) / 6)
        best = max(best, certain * max(0.0, _rise(part)) * max(0.0, _agreement(part)))
    return min(1.0, best)


def level_of(values: Sequence[float]) -> float:
    """How far the last three stand above LEVEL, 0..1; 0 for fewer than three."""
    if len(values) < FEWEST:
        return 0.0
    return max(0.0, min(values[-FEWEST:]) - LEVEL) / (1 - LEVEL)


def heap_of(values: Sequence[float]) -> float:
    """The sum of what lies above SLACK, begun anew whenever it falls to nothing."""
    heap = 0.0
    for value in values:
        heap = max(0.0, heap + value - SLACK)
    return heap


def _rise(values: Sequence[float]) -> float:
    """The rise of the fitted line from first to last."""
    n = len(values)
    middle, mean = (n - 1) / 2, sum(values) / n
    slope = sum((k - middle) * (value - mean) for k, value in enumerate(values))
    return slope / sum((k - middle) ** 2 for k in range(n)) * (n - 1)


def _agreement(values: Sequence[float]) -> float:
    """Kendall's tau with time: 1 where every later value is higher, ties count nothing."""
    n = len(values)
    signs = sum((values[b] > values[a]) - (values[b] < values[a]) for a in range(n) for b in range(a + 1, n))
    return signs / (n * (n - 1) / 2)


def trajectory(levels: Sequence[float]) -> Signal:
    """The signal over the levels of the conversation's own turns, the newest last."""
    # Most turns are calm, and a climb takes a while to work out.
    if max(levels[-WINDOW:], default=0.0) < 0.01:
        return quiet("trajectory", "no climb")
    value, climb, level = _shape(levels)
    if value < 0.02:
        return quiet("trajectory", "no climb")
    said = "risk stays high over the last turns" if level > climb else "risk climbs from turn to turn"
    return Signal("trajectory", value, f"{said} ({value:.2f})", WEIGHT * value * min(1.0, levels[-1] * 3))
