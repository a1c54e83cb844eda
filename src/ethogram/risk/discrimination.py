"""How well scores separate targets from the rest: AUROC, precision, recall, baselines and lead time.

Intervals are of 95 % and treat items of one group as one observation.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median, quantiles

import numpy as np
from numpy.typing import NDArray

from ..fields import Count, Name, Ratio
from ..models.record import Record, decimals
from ..models.slotted import dataclass, field
from ..stats import Interval, beta_cdf, student_t_critical, student_t_two_sided, wilson

Floats = NDArray[np.float64]
Numbers = Sequence[float] | Floats
PRIOR_ITEMS = 5
"""Items added to each class when its variance is estimated."""
FALSE_ALARM_RATES = {"recall_at_1": 0.01, "recall_at_5": 0.05}


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """A labelled conversation, run, event or span: whether it is a target, was marked, and its score.

    `score` is 0 where nothing was detected. Items of one `group` are not independent. `baselines` are trivial
    measures such as the length.
    """

    id: str
    target: bool
    marked: bool
    score: float = 0.0
    group: str = ""
    baselines: Mapping[str, float] = field(default_factory=dict)

    @property
    def cluster(self) -> str:
        """The group, or the item itself where it has none."""
        return self.group or f"\0{self.id}"


def cluster_numbers(items: Iterable[ScoredItem]) -> list[int]:
    """The number of each item's cluster, from 0."""
    known: dict[str, int] = {}
    return [known.setdefault(item.cluster, len(known)) for item in items]


@dataclass(frozen=True, slots=True)
class Estimate(Record):
    """A share with its interval of 95 %; without items the value is None and the interval 0 to 1."""

    JSON = "value low high"
    DECIMALS = decimals(4, "value", "low", "high")

    value: Ratio | None
    interval: Interval

    @property
    def low(self) -> Ratio:
        return self.interval[0]

    @property
    def high(self) -> Ratio:
        return self.interval[1]


@dataclass(frozen=True, slots=True)
class Auroc(Estimate):
    """The area under the ROC curve; `components` are DeLong's: what each item contributes to it."""

    value: Ratio
    error: float
    components: Floats


def auroc(scores: Numbers, targets: Sequence[bool], groups: Sequence[int]) -> Auroc | None:
    """The area, with ties counted half; None where one of the two classes is missing.

    The variance is DeLong's with the components of one group summed first, so that a group counts as one
    observation. Small classes get extra variance: three items with equal scores do not make an area certain.
    """
    score, target = np.asarray(scores, dtype=float), np.asarray(targets, dtype=bool)
    positives, negatives = np.sort(score[target]), np.sort(score[~target])
    if not len(positives) or not len(negatives):
        return None
    above = _share_below(negatives, score)
    value = float(above[target].mean())
    components = np.where(target, above, 1 - _share_below(positives, score))
    components = (components - value) / np.where(target, len(positives), len(negatives))
    extra = _prior_variance(value, above[target])
    extra += _prior_variance(value, 1 - _share_below(positives, negatives))
    error = math.sqrt(_clustered_variance(components, groups) + extra)
    group = np.asarray(groups)
    smaller = min(len(np.unique(group[kind])) for kind in (target, ~target))
    freedom = max(1.0, min(len(np.unique(group)), smaller + PRIOR_ITEMS) - 1.0)
    interval = _area_interval(value, error, min(len(positives), len(negatives)), freedom)
    return Auroc(value, interval, error, components)


def _share_below(values: Floats, scores: Floats) -> Floats:
    """For each score the share of the sorted values below it, with equal ones counted half."""
    ends = np.searchsorted(values, scores, "left") + np.searchsorted(values, scores, "right")
    return np.asarray(ends / (2 * len(values)), dtype=float)


def _prior_variance(value: float, own: Floats) -> float:
    """The variance to add as if `PRIOR_ITEMS` more items varied as Hanley and McNeil expect."""
    expected = min(value / (2 - value), 2 * value**2 / (1 + value)) - value**2
    observed = float(own.var(ddof=1)) if len(own) > 1 else 0.0
    return PRIOR_ITEMS / (len(own) + PRIOR_ITEMS) * max(0.0, expected - observed) / len(own)


def _clustered_variance(components: Floats, groups: Sequence[int]) -> float:
    sums = np.bincount(np.asarray(groups), components)
    n = len(sums)
    return float((sums**2).sum()) * n / (n - 1) if n > 1 else 0.25


def _area_interval(value: float, error: float, smaller: int, freedom: float) -> Interval:
    """The interval on the scale of log odds; Wilson's of the smaller class where nothing varies."""
    if value in (0.0, 1.0) or error == 0:
        return wilson(value * smaller, smaller)
    middle = math.log(value / (1 - value))
    half = student_t_critical(freedom) * error / (value * (1 - value))
    low, high = (1 / (1 + math.exp(-x)) if x > -700 else 0.0 for x in (middle - half, middle + half))
    return low, high


@dataclass(frozen=True, slots=True)
class Difference(Record):
    """New less old on the same items, with its interval of 95 % and the chance of it by luck."""

    DECIMALS = decimals(4, "value", "low", "high") | decimals(6, "p")

    value: float
    low: float
    high: float
    p: Ratio


def area_difference(area: Auroc, other: Auroc, groups: Sequence[int]) -> Difference:
    """The first area minus the second on the same items in the same order (DeLong's paired test)."""
    value = area.value - other.value
    error = math.sqrt(_clustered_variance(area.components - other.components, groups))
    count = len(set(groups))
    if not error:
        return constant_difference(value, count)
    freedom = max(1.0, count - 1.0)
    half = student_t_critical(freedom) * error
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return Difference(value, low, high, student_t_two_sided(value / error, freedom))


def constant_difference(value: float, groups: int) -> Difference:
    """A difference that is the same in every group: the p-value of a sign test, and Wilson's interval.

    >>> constant_difference(-0.5, 4).p, round(constant_difference(0.0, 4).high, 2)
    (0.125, 0.49)
    """
    if not value:
        most = wilson(0, groups)[1]
        return Difference(value, -most, most, 1.0)
    low, high = sorted((value, value * wilson(groups, groups)[0]))
    return Difference(value, low, high, min(1.0, 2.0 ** (1 - groups)))


@dataclass(frozen=True, slots=True)
class Rate(Estimate):
    """A share of counted items."""

    JSON = "hits of value low high"

    hits: Count
    of: Count


def rate(hits: Sequence[bool], groups: Sequence[int]) -> Rate:
    """The share of hits, with Wilson's interval for the effective number of independent items."""
    n = len(hits)
    if not n:
        return Rate(None, (0.0, 1.0), 0, 0)
    count, effect = sum(hits), design_effect(hits, groups)
    return Rate(count / n, wilson(count / effect, n / effect), count, n)


def design_effect(hits: Sequence[bool], groups: Sequence[int]) -> float:
    """How many items of these groups are worth one independent item: from 1 to all of them.

    The variance between groups over that of single items, corrected for few groups as by Korn and Graubard.

    >>> design_effect([True, False], [0, 1]), design_effect([True, False] * 5, [0] * 10)
    (1.0, 10.0)
    """
    n, count, share = len(hits), len(set(groups)), sum(hits) / len(hits)
    independent = n * share * (1 - share)
    if count == n or not independent:
        return n / count
    if count == 1:
        return float(n)
    sums = np.bincount(np.asarray(groups), np.asarray(hits, dtype=float) - share)
    ratio = float((sums**2).sum()) / independent * (count / (count - 1)) * ((n - 1) / n)
    few = (student_t_critical(count - 1) / student_t_critical(n - 1)) ** 2
    return min(float(n), max(1.0, ratio) * few)


@dataclass(frozen=True, slots=True)
class Baseline(Record):
    """A trivial measure: its area in the better direction, and its precision at as many marked items."""

    DECIMALS = decimals(4, "auroc", "precision")

    name: Name
    auroc: Ratio
    precision: Ratio | None


@dataclass(frozen=True, slots=True)
class Discrimination:
    """How well marks and scores separate targets; `baselines` has the best first."""

    items: int
    targets: int
    precision: Rate
    recall: Rate
    false_alarms: Rate
    area: Auroc | None
    baselines: tuple[Baseline, ...]

    @property
    def lift(self) -> float | None:
        """Precision over the share of targets; 1 for random marks."""
        if self.precision.value is None or not self.targets:
            return None
        return self.precision.value * self.items / self.targets


def discrimination(items: Sequence[ScoredItem]) -> Discrimination:
    """Precision, recall, false-alarm rate and area, with baselines."""

    def share(among: Callable[[ScoredItem], bool], hit: Callable[[ScoredItem], bool]) -> Rate:
        own = [item for item in items if among(item)]
        return rate([hit(item) for item in own], cluster_numbers(own))

    targets = [item.target for item in items]
    return Discrimination(
        items=len(items),
        targets=sum(targets),
        precision=share(lambda item: item.marked, lambda item: item.target),
        recall=share(lambda item: item.target, lambda item: item.marked),
        false_alarms=share(lambda item: not item.target, lambda item: item.marked),
        area=auroc([item.score for item in items], targets, cluster_numbers(items)) if items else None,
        baselines=_baselines(items),
    )


def _baselines(items: Sequence[ScoredItem]) -> tuple[Baseline, ...]:
    """Each trivial measure alone, the best first; `all` marks everything.

    A measure counts in whichever direction is better here, which favours the baseline.
    """
    marked, groups = sum(item.marked for item in items), cluster_numbers(items)
    target = np.array([item.target for item in items], dtype=bool)
    out = [Baseline("all", 0.5, float(target.mean()) if len(items) else None)]
    for name in sorted({name for item in items for name in item.baselines}):
        values = np.array([item.baselines.get(name, 0.0) for item in items])
        area = auroc(values, target.tolist(), groups)
        if area is not None:
            values = values if area.value >= 0.5 else -values
            precision = _precision_at(values, target, marked)
            out.append(Baseline(name, max(area.value, 1 - area.value), precision))
    return tuple(sorted(out, key=lambda item: (-item.auroc, item.name)))


def _precision_at(values: Floats, target: NDArray[np.bool_], marked: int) -> float | None:
    """Precision when the highest `marked` items are marked; ties at the limit count by their share."""
    if not marked:
        return None
    limit = np.sort(values)[-marked]
    above, tied = values > limit, values == limit
    left = marked - int(above.sum())
    return float((target[above].sum() + target[tied].mean() * left) / marked)


def threshold_at_rate(negatives: Numbers, share: float) -> float:
    """The lowest threshold that at most this share of the negatives is above.

    >>> threshold_at_rate([0, 0, 0, 1], 0.25)
    0.0
    """
    ordered = np.sort(np.asarray(negatives, dtype=float))[::-1]
    return float(ordered[min(int(share * len(ordered)), len(ordered) - 1)])


def recall_at_rate(items: Sequence[ScoredItem], share: float) -> Estimate | None:
    """Recall at the threshold that at most `share` of the negatives is above; None without both classes.

    The interval covers all thresholds that the negatives leave possible: with so few that none of them need
    be above it (below about 370 for 1 %, 72 for 5 %), its lower end is 0.
    """
    positives, negatives = ([item for item in items if item.target is kind] for kind in (True, False))
    if not positives or not negatives:
        return None
    scores, groups = np.array([item.score for item in positives]), cluster_numbers(positives)
    ordered = np.sort(np.array([item.score for item in negatives]))[::-1]
    threshold = threshold_at_rate(ordered, share)
    above = [item.score > threshold for item in negatives]
    effect = design_effect(above, cluster_numbers(negatives))
    fewest, most = _count_above(len(negatives) / effect, share)
    highest = float(ordered[int(fewest * effect) - 1]) if fewest else np.inf
    place = int(np.ceil(most * effect))
    lowest = float(ordered[place]) if place < len(ordered) else -np.inf
    recall, low, high = (rate((scores > at).tolist(), groups) for at in (threshold, highest, lowest))
    return Estimate(recall.value, (low.low if fewest else 0.0, high.high))


def _count_above(n: float, share: float) -> tuple[int, int]:
    """The 95 % range of how many of n items are above what this share of the population is above.

    >>> _count_above(100, 0.05), _count_above(300, 0.01)
    ((1, 10), (0, 7))
    """

    def at_most(count: int) -> float:
        return 1 - beta_cdf(share, count + 1, n - count) if count < n else 1.0

    counts = range(int(n) + 1)
    return bisect_left(counts, 0.025, key=at_most), bisect_left(counts, 0.975, key=at_most)


@dataclass(frozen=True, slots=True)
class TargetTimeline:
    """A history with a target: where it began to build up, the target, and where it was over.

    `detections` are (opened, closed), with closed None while still open. The caller chooses the unit: steps,
    turns or seconds.
    """

    target: float
    detections: tuple[tuple[float, float | None], ...] = ()
    begins: float = 0.0
    over: float | None = None


@dataclass(frozen=True, slots=True)
class DurationSummary(Record):
    """Durations in `count` of `of` histories; quartiles are None below four, `left_out` were not counted."""

    of: Count
    count: Count
    left_out: Count
    median: float | None
    quartile_low: float | None
    quartile_high: float | None


def lead_time(timelines: Sequence[TargetTimeline]) -> DurationSummary:
    """How long before the target the first detection came; 0 for one at the target.

    Histories with a detection before the build-up began are left out: an alarm that was on already predicts
    nothing.
    """
    quiet = [line for line in timelines if all(opened >= line.begins for opened, _ in line.detections)]
    leads = [[line.target - at for at, _ in line.detections if at <= line.target] for line in quiet]
    return _summary(len(quiet), [max(lead) for lead in leads if lead], len(timelines) - len(quiet))


def recovery_time(timelines: Sequence[TargetTimeline]) -> DurationSummary:
    """How long a detection stayed open after the target was over; `count` are histories where all closed.

    Only histories whose target is over and that had an open detection then.
    """
    counted, durations = 0, []
    for line in timelines:
        if line.over is None:
            continue
        ends = [
            math.inf if closed is None else closed
            for opened, closed in line.detections
            if opened <= line.over
        ]
        if ends and (last := max(ends)) >= line.over:
            counted += 1
            if last < math.inf:
                durations.append(last - line.over)
    return _summary(counted, durations, sum(line.over is None for line in timelines))


def _summary(of: int, durations: Sequence[float], left_out: int) -> DurationSummary:
    low, _, high = quantiles(durations, n=4, method="inclusive") if len(durations) >= 4 else (None,) * 3
    middle = median(durations) if durations else None
    return DurationSummary(of, len(durations), left_out, middle, low, high)
