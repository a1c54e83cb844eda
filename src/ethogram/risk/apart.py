"""How well scores tell two groups apart: the area, and how many are found at a given rate of false alarms.

Recall at a rate has no formula for its interval, so it is drawn: things of each side are drawn again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .auroc import area_of

Numbers = Sequence[float] | NDArray[np.float64]
SHARES = {"recall_at_1": 0.01, "recall_at_5": 0.05}


def limit_for(good: Numbers, share: float) -> float:
    """The lowest limit that at most this share of the good is *above*.

    >>> limit_for([0, 0, 0, 1], 0.25)
    0.0
    """
    ordered = np.sort(np.asarray(good, dtype=float))[::-1]
    return float(ordered[min(int(share * len(ordered)), len(ordered) - 1)])


def recall_at(bad: Numbers, good: Numbers, share: float) -> float:
    """The share of the bad above the limit that at most `share` of the good is above.

    >>> recall_at([1, 2], [0, 0, 0, 1], 0.25)
    1.0
    """
    return float(np.mean(np.asarray(bad, dtype=float) > limit_for(good, share)))


def figures(bad: Numbers, good: Numbers, draws: int = 200, seed: int = 0) -> dict[str, list[float]]:
    """AUROC and recall at 1 % and 5 % false alarms, each with the ends of its interval of 95 %.

    The intervals are those of things drawn again from each side: [value, low, high].
    """
    rng = np.random.default_rng(seed)
    a, b = np.asarray(bad, dtype=float), np.asarray(good, dtype=float)
    rows = [_three(rng.choice(a, len(a)), rng.choice(b, len(b))) for _ in range(draws)]
    low, high = np.quantile(np.array(rows), [0.025, 0.975], axis=0)
    return {
        name: [round(float(one), 4) for one in three]
        for name, *three in zip(("auroc", *SHARES), _three(a, b), low, high, strict=True)
    }


def _three(bad: Numbers, good: Numbers) -> tuple[float, ...]:
    return area_of(bad, good), *(recall_at(bad, good, share) for share in SHARES.values())
