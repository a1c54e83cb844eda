"""Rank correlation: whether two lists of numbers put the same things first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's, equal values sharing the mean of their ranks; None where either does not vary.

    >>> rank_correlation([1, 2, 3], [10, 20, 15])
    0.5
    >>> rank_correlation([1, 1], [1, 2]) is None
    True
    """
    import numpy as np

    if len(first) < 2:
        return None
    x, y = (_ranks(np.asarray(one, float)) for one in (first, second))
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x @ x) * (y @ y)))
    return round(float(x @ y) / size, 12) if size else None


def _ranks(values: Any) -> Any:
    import numpy as np

    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[where]
