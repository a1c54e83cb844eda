"""Isotonic regression: the rising steps nearest to some points (pool adjacent violators)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rising(values: Sequence[float] | Floats, weights: Sequence[float] | Floats) -> Floats:
    """The never falling values that are nearest to these by weighted squares.

    >>> rising([1, 3, 2], [1, 1, 1]).tolist()
    [1.0, 2.5, 2.5]
    """
    means: list[float] = []
    weight: list[float] = []
    sizes: list[int] = []
    for value, own in zip(values, weights, strict=True):
        means.append(float(value))
        weight.append(float(own))
        sizes.append(1)
        while len(means) > 1 and means[-2] >= means[-1]:
            total = weight[-2] + weight[-1]
            means[-2] = (means[-2] * weight[-2] + means[-1] * weight[-1]) / total
            weight[-2], sizes[-2] = total, sizes[-2] + sizes[-1]
            del means[-1], weight[-1], sizes[-1]
    return np.repeat(np.array(means), sizes)
