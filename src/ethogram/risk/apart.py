"""How well scores tell two groups apart: the area, and how many are found at a given rate of false alarms.

`figures` draws things of each side again for its intervals, which suits sets of hundreds. `recall_within`
is for any set: it knows that a few of the others hardly tell where a limit lies, and that groups are alike.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..usage.beta import share_below
from .auroc import area_of
from .labelled import Labelled, clusters
from .score import Rate, design_effect, rate

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


def recall_within(items: Sequence[Labelled], share: float) -> Rate | None:
    """The share of the targets above the limit that at most `share` of the others is above.

    The interval is of recall at all limits that the others leave possible: where they are so few that none
    of them need be above it (below about 370 for 1 %, 72 for 5 %), its lower end is 0. None where targets or
    others are missing.
    """
    bad, good = ([one for one in items if one.true is kind] for kind in (True, False))
    if not bad or not good:
        return None
    scores, group = np.array([one.score for one in bad]), clusters(bad)
    values = [one.score for one in good]
    limit = limit_for(values, share)
    effect = design_effect([one > limit for one in values], clusters(good))
    fewest, most = _above(len(good) / effect, share)
    ordered = np.sort(np.array(values))[::-1]
    highest = float(ordered[int(fewest * effect) - 1]) if fewest else np.inf
    place = int(np.ceil(most * effect))
    lowest = float(ordered[place]) if place < len(ordered) else -np.inf
    found, low, high = (rate((scores > at).tolist(), group) for at in (limit, highest, lowest))
    return Rate(found.hits, found.of, found.value, (low.interval[0] if fewest else 0.0, high.interval[1]))


def _above(of: float, share: float) -> tuple[int, int]:
    """The fewest and the most of so many things that are above what this share of all is above; 95 %.

    >>> _above(100, 0.05), _above(300, 0.01)
    ((1, 10), (0, 7))
    """

    def at_most(count: int) -> float:
        return 1 - share_below(share, count + 1, of - count) if count < of else 1.0

    counts = range(int(of) + 1)
    return bisect_left(counts, 0.025, key=at_most), bisect_left(counts, 0.975, key=at_most)
