"""Reliability: does what is said with confidence .8 come true in 8 of 10 cases?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .intervals import Interval, wilson


@dataclass(frozen=True, slots=True)
class Row:
    """Detections of about the same confidence: the mean of it, and how many were right."""

    low: float
    high: float
    count: int
    said: float
    right: int
    interval: Interval


@dataclass(frozen=True, slots=True)
class Reliability:
    """A row for each group, the mean squared error (Brier), and the mean distance of said and seen (ECE)."""

    rows: tuple[Row, ...]
    count: int
    brier: float
    distance: float


def reliability(pairs: Sequence[tuple[float, bool]], groups: int = 10) -> Reliability | None:
    """The table of (confidence, was it right) pairs, in groups of about equal size; None for no pairs.

    Equal confidences stay in one group, so there may be fewer.
    """
    if not pairs:
        return None
    said = np.array([score for score, _ in pairs], dtype=float)
    right = np.array([true for _, true in pairs], dtype=float)
    edges = np.unique(np.quantile(said, np.linspace(0, 1, groups + 1)[1:-1], method="lower"))
    group = np.searchsorted(edges, said, side="left")
    rows = []
    for number in np.unique(group):
        own = group == number
        count, hits = int(own.sum()), int(right[own].sum())
        mean = float(said[own].mean())
        rows.append(
            Row(float(said[own].min()), float(said[own].max()), count, mean, hits, wilson(hits, count))
        )
    distance = sum(abs(one.said - one.right / one.count) * one.count for one in rows) / len(pairs)
    return Reliability(tuple(rows), len(pairs), float(((said - right) ** 2).mean()), distance)
