"""Paired comparison of two versions of a pattern on the same labelled items."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..fields import Count, Ratio
from ..models.record import Record, decimals
from ..models.slotted import dataclass
from ..stats import Z95, student_t_critical
from .discrimination import (
    Difference,
    Floats,
    ScoredItem,
    area_difference,
    auroc,
    cluster_numbers,
    constant_difference,
)

RESAMPLES = 2000
CHUNK = 1_000_000
"""Random numbers drawn at a time, which bounds memory."""
EXACT_LIMIT = 20_000
"""Size of the sum up to which the sign-flip test is exact; above, it uses the normal approximation."""


@dataclass(frozen=True, slots=True)
class VersionComparison(Record):
    """New minus old. `better` and `worse` are items on which only the new, or only the old one is right."""

    DECIMALS = decimals(6, "p")

    better: Count
    """Things on which only the new version is right."""
    worse: Count
    p: Ratio
    """McNemar's exact test of the two, by groups."""
    precision: Difference | None
    recall: Difference | None
    false_alarms: Difference | None
    auroc: Difference | None


def compare_versions(old: Sequence[ScoredItem], new: Sequence[ScoredItem]) -> VersionComparison:
    """How two versions differ; ValueError where they were not run on the same items."""
    before, after = ({item.id: item for item in items} for items in (old, new))
    names = sorted(before)
    if before.keys() != after.keys() or any(before[name].target != after[name].target for name in names):
        raise ValueError("versions must be compared on the same items with the same labels")
    a, b = [before[name] for name in names], [after[name] for name in names]
    groups, targets = cluster_numbers(a), [item.target for item in a]
    gains = [(y.marked == y.target) - (x.marked == x.target) for x, y in zip(a, b, strict=True)]
    balances = np.bincount(groups, gains).astype(int).tolist() if gains else []
    new_area, old_area = (auroc([item.score for item in items], targets, groups) for items in (b, a))
    precision, recall, false_alarms = _rate_differences(a, b, groups)
    return VersionComparison(
        better=gains.count(1),
        worse=gains.count(-1),
        p=sign_flip_test(balances),
        precision=precision,
        recall=recall,
        false_alarms=false_alarms,
        auroc=area_difference(new_area, old_area, groups) if new_area and old_area else None,
    )


def sign_flip_test(balances: Sequence[int]) -> float:
    """The exact two-sided p-value of the sum if the sign of each balance were random.

    With one item a group this is McNemar's exact test.

    >>> sign_flip_test([1] * 8 + [-1]), sign_flip_test([1, -1]), sign_flip_test([8, -1])
    (0.0390625, 1.0, 1.0)
    """
    sizes = [abs(balance) for balance in balances if balance]
    total = sum(sizes)
    if total > EXACT_LIMIT:
        return math.erfc(abs(sum(balances)) / math.sqrt(2 * sum(size * size for size in sizes)))
    # The probability of every sum from -total to total, one group after the other.
    chances = np.ones(1)
    for size in sizes:
        wider = np.zeros(len(chances) + 2 * size)
        wider[: len(chances)] += chances / 2
        wider[2 * size :] += chances / 2
        chances = wider
    sums = np.abs(np.arange(-total, total + 1))
    return min(1.0, float(chances[sums >= abs(sum(balances))].sum()))


def _rate_differences(
    old: Sequence[ScoredItem], new: Sequence[ScoredItem], groups: Sequence[int]
) -> list[Difference | None]:
    """New minus old precision, recall and false-alarm rate, with a bootstrap of whole groups."""
    if not groups:
        return [None, None, None]
    target = np.array([item.target for item in old], dtype=float)
    new_marked, old_marked = (np.array([item.marked for item in items], dtype=float) for items in (new, old))
    columns = (new_marked * target, new_marked, old_marked * target, old_marked, target, np.ones(len(old)))
    sums = np.stack([np.bincount(groups, column) for column in columns], axis=1).astype(float)
    values, resampled = _figures(sums.sum(axis=0)[None, :]), _figures(_resample(sums))
    # Only groups that contribute to the denominator of a figure say anything about it.
    bases = (sums[:, 1] + sums[:, 3], sums[:, 4], sums[:, 5] - sums[:, 4])
    return [
        _difference(float(value[0]), draws, int((base > 0).sum()))
        for value, draws, base in zip(values, resampled, bases, strict=True)
    ]


def _resample(sums: Floats) -> Floats:
    """The column sums in each draw of as many groups as there are."""
    n = len(sums)
    rng, step = np.random.default_rng(0), max(1, CHUNK // n)
    parts = [
        rng.multinomial(n, np.full(n, 1 / n), size=min(step, RESAMPLES - done)) @ sums
        for done in range(0, RESAMPLES, step)
    ]
    return np.concatenate(parts)


def _figures(sums: Floats) -> list[Floats]:
    """New minus old precision, recall and false-alarm rate; NaN where one is undefined."""
    new_hits, new_marked, old_hits, old_marked, targets, items = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = new_hits / new_marked - old_hits / old_marked
        recall = (new_hits - old_hits) / targets
        alarms = ((new_marked - new_hits) - (old_marked - old_hits)) / (items - targets)
    return [precision, recall, alarms]


def _difference(value: float, draws: Floats, groups: int) -> Difference | None:
    draws = draws[np.isfinite(draws)]
    if not math.isfinite(value) or len(draws) < RESAMPLES / 2:
        return None
    constant = constant_difference(value, groups)
    if groups < 2 or np.ptp(draws) < 1e-12:
        return constant
    # A bootstrap of few groups varies less than such groups do.
    widening = student_t_critical(groups - 1) / Z95 * math.sqrt(groups / (groups - 1))
    draws = np.clip(value + (draws - value) * widening, -1, 1)
    low, high = np.quantile(draws, (0.025, 0.975))
    tail = min((1 + (draws <= 0).sum()), (1 + (draws >= 0).sum())) / (1 + len(draws))
    p = max(constant.p if value else 0.0, min(1.0, 2 * float(tail)))
    return Difference(value, float(low), float(high), p)
