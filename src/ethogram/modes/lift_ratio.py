"""How sure a ratio of two counts is, where the counts come in lumps: a few subjects make most of them."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
DRAWS = 1000
MIDDLE = (0.025, 0.975)


def ratio_interval(
    real: Counter[K], shuffled: Counter[K], shuffles: int, seed: str
) -> tuple[float | None, float | None, float | None]:
    """Real detections over those of a mean shuffle, with the 95 % interval of that ratio over subjects.

    Subjects are drawn again with a Poisson weight each (a bootstrap), since detections of one subject are not
    independent. None where no shuffle has any; `high` is None where too many draws have none either.

    >>> ratio_interval(Counter(), Counter(), 20, "0")
    (None, None, None)
    """
    if not shuffled:
        return None, None, None
    rng = random.Random(seed)
    pairs = [(real[one], shuffled[one] / shuffles) for one in sorted({*real, *shuffled}, key=str)]
    drawn = sorted(_drawn(pairs, rng) for _ in range(DRAWS))
    low, high = (_at(drawn, share) for share in MIDDLE)
    return round(real.total() * shuffles / shuffled.total(), 6), low, high


def _drawn(pairs: list[tuple[int, float]], rng: random.Random) -> float:
    """The ratio among subjects drawn again; infinite where only the shuffles are left out."""
    above = below = 0.0
    for own, other in pairs:
        if weight := _poisson(rng.random()):
            above, below = above + weight * own, below + weight * other
    if below:
        return above / below
    return math.inf if above else 1.0


def _poisson(u: float) -> int:
    """A Poisson number of mean 1 from a uniform one."""
    count, share = 0, math.exp(-1)
    total = share
    while u > total and count < 20:
        count += 1
        share /= count
        total += share
    return count


def _at(ordered: list[float], share: float) -> float | None:
    value = ordered[min(len(ordered) - 1, int(share * len(ordered)))]
    return None if math.isinf(value) else round(value, 6)
