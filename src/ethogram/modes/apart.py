"""How well scores tell two groups apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = Sequence[float] | NDArray[np.float64]


def auroc(bad: Numbers, good: Numbers) -> float:
    """The chance that one of the bad scores above one of the good; ties count half.

    >>> auroc([2, 3], [1, 2])
    0.875
    """
    ordered = np.sort(np.asarray(good, dtype=float))
    below = np.searchsorted(ordered, bad, side="left") + np.searchsorted(ordered, bad, side="right")
    return float(below.sum() / (2 * len(bad) * len(good)))


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

    The intervals are those of conversations drawn again from each side: [value, low, high].
    """
    rng = np.random.default_rng(seed)
    a, b = np.asarray(bad, dtype=float), np.asarray(good, dtype=float)
    rows = [_three(rng.choice(a, len(a)), rng.choice(b, len(b))) for _ in range(draws)]
    low, high = np.quantile(np.array(rows), [0.025, 0.975], axis=0)
    names = ("auroc", "recall_at_1", "recall_at_5")
    return {
        name: [round(float(one), 4) for one in three]
        for name, *three in zip(names, _three(a, b), low, high, strict=True)
    }


def _three(bad: Numbers, good: Numbers) -> tuple[float, float, float]:
    return auroc(bad, good), recall_at(bad, good, 0.01), recall_at(bad, good, 0.05)
