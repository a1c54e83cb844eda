"""Score: how well a pattern does on labelled things, beside what anybody could have done without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .auroc import Area, auroc
from .intervals import Interval, student, wilson
from .labelled import Labelled, clusters


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of things, with its interval of 95 %; None and all of 0 to 1 where there are none."""

    hits: int
    of: int
    value: float | None
    interval: Interval


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


def rate(hit: Sequence[bool], group: Sequence[int]) -> Rate:
    """The share that is hit. Wilson's interval, for as many independent things as the groups are worth."""
    n = len(hit)
    if not n:
        return Rate(0, 0, None, (0.0, 1.0))
    hits, effect = sum(hit), design_effect(hit, group)
    return Rate(hits, n, hits / n, wilson(hits / effect, n / effect))


def design_effect(hit: Sequence[bool], group: Sequence[int]) -> float:
    """How many things of these groups are worth one that is independent: at least 1, at most all of them.

    How much more the groups vary than single things would, and how little a few groups tell of that
    (as Korn and Graubard have it): with two groups next to nothing.

    >>> design_effect([True, False], [0, 1]), design_effect([True, False] * 5, [0] * 10)
    (1.0, 10.0)
    """
    n, groups, share = len(hit), len(set(group)), sum(hit) / len(hit)
    plain = n * share * (1 - share)
    if groups == n or not plain:
        return n / groups
    if groups == 1:
        return float(n)
    off = np.bincount(np.asarray(group), np.asarray(hit, dtype=float) - share)
    seen = float((off**2).sum()) / plain * (groups / (groups - 1)) * ((n - 1) / n)
    few = (student(groups - 1) / student(n - 1)) ** 2
    return min(float(n), max(1.0, seen) * few)


@dataclass(frozen=True, slots=True)
class Trivial:
    """A baseline: its area, the better way round, and its precision where it marks as many things."""

    name: str
    area: float
    precision: float | None


@dataclass(frozen=True, slots=True)
class Score:
    """What a pattern does on a set; `trivial` has the best baseline first."""

    things: int
    targets: int
    precision: Rate
    recall: Rate
    false_alarms: Rate
    area: Area | None
    trivial: tuple[Trivial, ...]

    @property
    def lift(self) -> float | None:
        """Precision over the share of targets: what marking at random would give is 1."""
        if self.precision.value is None or not self.targets:
            return None
        return self.precision.value * self.things / self.targets


def score(items: Sequence[Labelled]) -> Score:
    """Precision, recall, false-alarm rate and area of what was marked, with the baselines."""
    true = [one.true for one in items]
    return Score(
        things=len(items),
        targets=sum(true),
        precision=_rate(items, lambda one: one.fired, lambda one: one.true),
        recall=_rate(items, lambda one: one.true, lambda one: one.fired),
        false_alarms=_rate(items, lambda one: not one.true, lambda one: one.fired),
        area=auroc([one.score for one in items], true, clusters(items)) if items else None,
        trivial=baselines(items),
    )


Asked = Callable[[Labelled], bool]


def _rate(items: Sequence[Labelled], among: Asked, hit: Asked) -> Rate:
    own = [one for one in items if among(one)]
    return rate([hit(one) for one in own], clusters(own))


def baselines(items: Sequence[Labelled]) -> tuple[Trivial, ...]:
    """What each trivial number does alone, the best first; `all` marks everything.

    A number may be read either way round, whichever is better here: that favours the baseline, so a
    pattern that beats it has done so.
    """
    names = sorted({name for one in items for name in one.trivial})
    marked, group = sum(one.fired for one in items), clusters(items)
    true = np.array([one.true for one in items], dtype=bool)
    out = [Trivial("all", 0.5, float(true.mean()) if len(items) else None)]
    for name in names:
        values = np.array([one.trivial.get(name, 0.0) for one in items])
        area = auroc(values.tolist(), true.tolist(), group)
        if area is not None:
            way = 1 if area.value >= 0.5 else -1
            out.append(Trivial(name, max(area.value, 1 - area.value), _precision(way * values, true, marked)))
    return tuple(sorted(out, key=lambda one: (-one.area, one.name)))


def _precision(values: np.ndarray, true: np.ndarray, marked: int) -> float | None:
    """Precision where the highest `marked` are marked; things that tie at the limit count by their share."""
    if not marked:
        return None
    limit = np.sort(values)[-marked]
    above, level = values > limit, values == limit
    left = marked - int(above.sum())
    return float((true[above].sum() + true[level].mean() * left) / marked)
