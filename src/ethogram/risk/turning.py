"""Turning point: where on a line judged things turn from mostly false to mostly true, with an interval.

What a threshold keeps is confirmed with some probability, what it drops with a smaller one; neither is
known, and both are averaged over (flat priors). That makes a probability for every value of the parameter,
and an interval from it. Judges who err, or a share of true things far from one half, change the two
probabilities and not the place where they meet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .intervals import Interval
from .judged import Bools
from .lines import Line, is_whole

Floats = NDArray[np.float64]
CERTAINTY = 0.95
_GRID = np.linspace(0.0, 1.0, 401)[1:-1]


def likelihoods(true: Bools, kept: Bools) -> Floats:
    """Log probability of the verdicts for each column of `kept`, given that what is kept is the truer."""
    out: dict[tuple[int, int, int, int], float] = {}
    # Whole numbers first: of truth values the product is truth again.
    yes, no, held = true.astype(int), (~true).astype(int), kept.astype(int)
    sums = np.stack([yes @ held, no @ held, yes @ (1 - held), no @ (1 - held)], axis=1)
    for counts in {tuple(row) for row in sums.tolist()}:
        out[counts] = _evidence(*counts)
    return np.array([out[tuple(row)] for row in sums.tolist()])


def _evidence(true_kept: int, false_kept: int, true_dropped: int, false_dropped: int) -> float:
    both = _log_beta(true_kept, false_kept) + _log_beta(true_dropped, false_dropped)
    return both + math.log(
        max(1e-300, 2 * _is_larger((true_kept, false_kept), (true_dropped, false_dropped)))
    )


def _log_beta(a: int, b: int) -> float:
    return math.lgamma(a + 1) + math.lgamma(b + 1) - math.lgamma(a + b + 2)


def _is_larger(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Probability that the share behind one pair of counts is larger than that behind another."""
    first, second = _density(*one), _density(*other)
    return float((first * (np.cumsum(second) - second / 2)).sum())


def _density(yes: int, no: int) -> Floats:
    log = yes * np.log(_GRID) + no * np.log1p(-_GRID)
    raw: Floats = np.exp(log - log.max())
    raw /= raw.sum()
    return raw


def repetition(true: Bools, kept: Bools, groups: Sequence[str]) -> float:
    """How many times over the same thing was said, where things come in groups: 1 for independent ones.

    What is left of the verdicts after kept and dropped is added up by group, and compared with single things.
    """
    left = np.zeros(len(true))
    for side in (kept, ~kept):
        left[side] = true[side] - (true[side].sum() + 1) / (side.sum() + 2)
    numbers = {one: place for place, one in enumerate(dict.fromkeys(groups))}
    sums = np.bincount([numbers[one] for one in groups], left)
    return max(1.0, float((sums**2).sum() / (left**2).sum()))


def posterior(line: Line, true: Bools, groups: Sequence[str] = ()) -> Floats:
    """The probability of each value of a line to be the turning point; a wide gap counts for more.

    What comes in groups is worth so much less as it repeats itself.
    """
    values = np.array(line.values)
    widths = np.gradient(values) if len(values) > 1 else np.ones(1)
    log = likelihoods(true, line.kept)
    if groups:
        log = log / repetition(true, line.kept[:, int(log.argmax())], groups)
    mass: Floats = np.exp(log - log.max()) * np.abs(widths)
    mass /= mass.sum()
    return mass


def interval(line: Line, true: Bools, groups: Sequence[str] = (), certainty: float = CERTAINTY) -> Interval:
    """From where to where the turning point is likely to lie.

    It ends at the neighbours of the outermost likely values, since between two values that were tried
    anything may be; of whole numbers, those between.
    """
    below = np.cumsum(posterior(line, true, groups))
    tail = (1 - certainty) / 2
    first = int(np.searchsorted(below, tail, side="right"))
    last = int(np.searchsorted(below, 1 - tail, side="left"))
    values, one = line.values, 1 if is_whole(line.now) else 0
    low = values[first - 1] + one if first else values[0]
    high = values[last + 1] - one if last + 1 < len(values) else values[-1]
    return low, high
