"""How well scores tell two groups apart, and rates over time, with intervals from resampling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from ethogram.risk.discrimination import FALSE_ALARM_RATES, Numbers, threshold_at_rate
from ethogram.stats import Interval


def area_of(bad: Numbers, good: Numbers) -> float:
    """The area alone: the chance that one of the bad scores above one of the good; ties count half.

    >>> area_of([2, 3], [1, 2])
    0.875
    """
    n, m = len(bad), len(good)
    ranks = rankdata(np.concatenate([bad, good]))
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def recall_at(bad: Numbers, good: Numbers, share: float) -> float:
    """The share of the bad above the limit that at most `share` of the good is above.

    >>> recall_at([1, 2], [0, 0, 0, 1], 0.25)
    1.0
    """
    return float(np.mean(np.asarray(bad, dtype=float) > threshold_at_rate(good, share)))


def figures(bad: Numbers, good: Numbers, draws: int = 200, seed: int = 0) -> dict[str, list[float]]:
    """AUROC and recall at 1 % and 5 % false alarms, each with the ends of its interval of 95 %.

    The intervals are those of things drawn again from each side: [value, low, high].
    """
    rng = np.random.default_rng(seed)
    a, b = np.asarray(bad, dtype=float), np.asarray(good, dtype=float)
    rows = [_three(rng.choice(a, len(a)), rng.choice(b, len(b))) for _ in range(draws)]
    low, high = np.quantile(np.array(rows), [0.025, 0.975], axis=0)
    return {
        name: [round(float(item), 4) for item in three]
        for name, *three in zip(("auroc", *FALSE_ALARM_RATES), _three(a, b), low, high, strict=True)
    }


def _three(bad: Numbers, good: Numbers) -> tuple[float, ...]:
    return area_of(bad, good), *(recall_at(bad, good, share) for share in FALSE_ALARM_RATES.values())


def over_time(
    counts: Sequence[int], spans: Sequence[float], *, draws: int = 1_000, seed: int = 0
) -> tuple[float, Interval]:
    """How often something comes in a unit of time, with its interval of 95 % over groups (such as people).

    One count and one span a group. Groups are drawn again, as many as there are: one with many counts is one
    group, not many observations.

    >>> over_time([1, 1, 1], [2.0, 2.0, 2.0])
    (0.5, (0.5, 0.5))
    """
    picks = np.random.default_rng(seed).integers(0, len(counts), (draws, len(counts)))
    drawn = np.asarray(counts)[picks].sum(1) / np.asarray(spans)[picks].sum(1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return sum(counts) / sum(spans), (float(low), float(high))
