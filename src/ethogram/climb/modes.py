"""From risk to mode, and how the parts of a risk are put together."""

from __future__ import annotations

from collections.abc import Iterable

from ..records.chances import either
from .records import Mode

FLOORS = (0.0, 0.15, 0.30, 0.50, 0.70, 0.85)
"""The risk at which each mode begins."""

HYSTERESIS = 0.05
"""A mode is left only when the risk is so much under its floor."""

CORROBORATION = 0.5
"""What the second strongest sign counts for; the third its square, and so on."""


def mode_of(risk: float, before: Mode = Mode.SAFE) -> Mode:
    """The mode for a risk, given the mode before. More risk never gives a lower mode.

    >>> mode_of(0.47), mode_of(0.47, Mode.SUSPECT).name, mode_of(0.44, Mode.SUSPECT).name
    (<Mode.ELEVATED: 2>, 'SUSPECT', 'ELEVATED')
    """
    reached = max(mode for mode in Mode if risk >= FLOORS[mode])
    held = max(
        (mode for mode in Mode if mode <= before and risk >= FLOORS[mode] - HYSTERESIS), default=Mode.SAFE
    )
    return max(reached, held)


def together(parts: Iterable[float]) -> float:
    """Signs put together, 0..1: the strongest counts whole, each further one half of the one before.

    Signs overlap (a risky word makes several of them), so treating them as independent would count one
    cause thrice.

    >>> round(together([0.4, 0.2]), 3), together([])
    (0.46, 0.0)
    """
    counted, weight = [], 1.0
    for part in sorted(parts, reverse=True):
        if part <= 0 or weight < 0.05:
            break
        counted.append(min(1.0, part) * weight)
        weight *= CORROBORATION
    return either(counted)
