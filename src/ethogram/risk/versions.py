"""Versions: two versions of a pattern on the same labelled things."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..stats import Z95, student_t_critical
from .discrimination import Difference, Labelled, area_difference, auroc, clusters, unvaried

DRAWS = 2000
AT_ONCE = 1_000_000
"""Numbers that are drawn at a time, so that memory has a bound however many groups there are."""
EXACT = 20_000
"""Sums of balances up to which the test is exact; above, a normal law stands for it."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Compared:
    """New less old. `better` and `worse` are things on which only the one of them is right.

    `p` is McNemar's exact test of these two, with whole groups for things.
    """

    better: int
    worse: int
    p: float
    precision: Difference | None
    recall: Difference | None
    false_alarms: Difference | None
    area: Difference | None


def compare(old: Sequence[Labelled], new: Sequence[Labelled], *, seed: int = 0) -> Compared:
    """How two versions differ; ValueError where they were not given the same things with the same truth."""
    before, after = ({item.id: item for item in every} for every in (old, new))
    if before.keys() != after.keys() or any(after[name].true != item.true for name, item in before.items()):
        raise ValueError("two versions are compared on the same things, with the same truth")
    names = sorted(before)
    a, b = [before[name] for name in names], [after[name] for name in names]
    group = clusters(a)
    true = [item.true for item in a]
    gains = [(y.fired == y.true) - (x.fired == x.true) for x, y in zip(a, b, strict=True)]
    balances = np.bincount(group, gains).astype(int).tolist() if gains else []
    entry, other = (auroc([item.score for item in every], true, group) for every in (b, a))
    precision, recall, false_alarms = _differences(a, b, group, seed)
    return Compared(
        better=gains.count(1),
        worse=gains.count(-1),
        p=flipped(balances),
        precision=precision,
        recall=recall,
        false_alarms=false_alarms,
        area=None if entry is None or other is None else area_difference(entry, other, group),
    )


def flipped(balances: Sequence[int]) -> float:
    """The chance of so uneven a sum if each group's balance might as well have had the other sign; exact.

    With one thing a group that is McNemar's exact test, two-sided.

    >>> flipped([1] * 8 + [-1]), flipped([1, -1]), flipped([8, -1])
    (0.0390625, 1.0, 1.0)
    """
    sizes = [abs(balance) for balance in balances if balance]
    total = sum(sizes)
    if total > EXACT:
        return math.erfc(abs(sum(balances)) / math.sqrt(2 * sum(size * size for size in sizes)))
    # The chance of every sum from -total to total, one group after the other.
    chances = np.ones(1)
    for size in sizes:
        wider = np.zeros(len(chances) + 2 * size)
        wider[: len(chances)] += chances / 2
        wider[2 * size :] += chances / 2
        chances = wider
    sums = np.abs(np.arange(-total, total + 1))
    return min(1.0, float(chances[sums >= abs(sum(balances))].sum()))


def _differences(
    old: Sequence[Labelled], new: Sequence[Labelled], group: Sequence[int], seed: int
) -> list[Difference | None]:
    """New less old of precision, recall and false-alarm rate, over draws of whole groups."""
    if not group:
        return [None, None, None]
    sums = np.stack([np.bincount(group, row) for row in _counted(old, new)], axis=1).astype(float)
    whole, drawn = _figures(sums.sum(axis=0)[None, :]), _figures(_drawn(sums, seed))
    new_marked, old_marked, true, things = sums[:, 1], sums[:, 3], sums[:, 4], sums[:, 5]
    # Only groups with something in them that a figure is a share of tell anything about it.
    telling = [int((of > 0).sum()) for of in (new_marked + old_marked, true, things - true)]
    return [
        _difference(float(value[0]), spread, groups)
        for value, spread, groups in zip(whole, drawn, telling, strict=True)
    ]


def _counted(old: Sequence[Labelled], new: Sequence[Labelled]) -> list[Floats]:
    """For each thing: found and marked by the new version, found and marked by the old, target, and 1."""
    true = np.array([item.true for item in old], dtype=float)
    rows: list[Floats] = []
    for every in (new, old):
        fired = np.array([item.fired for item in every], dtype=float)
        rows += [fired * true, fired]
    return [*rows, true, np.ones(len(old))]


def _drawn(sums: Floats, seed: int) -> Floats:
    """The sums in each draw of as many groups as there are."""
    n = len(sums)
    rng, step = np.random.default_rng(seed), max(1, AT_ONCE // n)
    parts = [
        rng.multinomial(n, np.full(n, 1 / n), size=min(step, DRAWS - done)) @ sums
        for done in range(0, DRAWS, step)
    ]
    return np.concatenate(parts)


def _figures(sums: Floats) -> list[Floats]:
    """New less old of precision, recall and false-alarm rate; not a number where one is not defined."""
    new_found, new_marked, old_found, old_marked, true, things = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = new_found / new_marked - old_found / old_marked
        recall = (new_found - old_found) / true
        alarms = ((new_marked - new_found) - (old_marked - old_found)) / (things - true)
    return [precision, recall, alarms]


def _difference(value: float, spread: Floats, groups: int) -> Difference | None:
    spread = spread[np.isfinite(spread)]
    if not math.isfinite(value) or len(spread) < DRAWS / 2:
        return None
    same = unvaried(value, groups)
    if groups < 2 or np.ptp(spread) < 1e-12:
        return same
    # Draws of a few groups vary less than such groups do.
    wide = student_t_critical(groups - 1) / Z95 * math.sqrt(groups / (groups - 1))
    spread = np.clip(value + (spread - value) * wide, -1, 1)
    low, high = np.quantile(spread, (0.025, 0.975))
    tail = min((1 + (spread <= 0).sum()), (1 + (spread >= 0).sum())) / (1 + len(spread))
    return Difference(
        value, (float(low), float(high)), max(same.p if value else 0.0, min(1.0, 2 * float(tail)))
    )
