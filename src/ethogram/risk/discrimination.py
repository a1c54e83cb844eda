"""How well scores separate labelled groups: AUROC, recall at a false-alarm rate, lead time."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

import numpy as np
from numpy.typing import NDArray

from ..stats import Interval, beta_cdf, student_t_critical, student_t_two_sided, wilson

# Labelled: things whose truth somebody else told, with what a pattern made of them.


@dataclass(frozen=True, slots=True)
class Labelled:
    """A conversation, run, event or stretch: whether it is a target, whether it was marked, and how strongly.

    `score` orders all of them (0 where nothing was found). `group` is whose it is: what one subject or
    source does is alike, so intervals go by groups. `trivial` are numbers anybody could have had, such as
    the length.
    """

    id: str
    true: bool
    fired: bool
    score: float = 0.0
    group: str = ""
    trivial: Mapping[str, float] = field(default_factory=dict)

    @property
    def cluster(self) -> str:
        """The group, or the thing itself where it has none."""
        return self.group or f"\0{self.id}"


def clusters(items: Iterable[Labelled]) -> list[int]:
    """The number of each item's cluster, from 0."""
    known: dict[str, int] = {}
    return [known.setdefault(item.cluster, len(known)) for item in items]


# AUROC: how often a target scores above what is none, with intervals by groups and a paired test.
#
# By DeLong's components: each thing's own part in the area. Parts of one group are added before they are
# squared, so that a group counts as one observation; with one thing a group that is DeLong's variance.

Floats = NDArray[np.float64]
IMAGINED = 5
"""Things that a side is taken to have besides its own when it is asked how much it varies."""


@dataclass(frozen=True, slots=True)
class Area:
    """The area and its interval of 95 %; `parts` is what each thing adds to or takes from it."""

    value: float
    interval: Interval
    error: float
    parts: Floats


def auroc(scores: Sequence[float], true: Sequence[bool], group: Sequence[int]) -> Area | None:
    """The area, ties counted half; None where one of the two kinds is missing."""
    score, is_true = np.asarray(scores, dtype=float), np.asarray(true, dtype=bool)
    ours, others = np.sort(score[is_true]), np.sort(score[~is_true])
    if not len(ours) or not len(others):
        return None
    above = _share_below(others, score)
    parts = np.where(is_true, above, 1 - _share_below(ours, score))
    value = float(above[is_true].mean())
    parts = (parts - value) / np.where(is_true, len(ours), len(others))
    few = _lacking(value, above[is_true]) + _lacking(value, 1 - _share_below(ours, others))
    error = math.sqrt(_squares(parts, group) + few)
    fewer = min(len(ours), len(others))
    return Area(value, _interval(value, error, fewer, _free(is_true, group)), error, parts)


def _free(is_true: NDArray[np.bool_], group: Sequence[int]) -> float:
    """Of how many things the error is known: groups less one, and on the smaller side those imagined too."""
    every = np.asarray(group)
    sides = min(len(set(every[kind].tolist())) for kind in (is_true, ~is_true))
    return max(1.0, min(len(set(every.tolist())), sides + IMAGINED) - 1.0)


def _lacking(value: float, own: Floats) -> float:
    """What to add to the variance where a side has so few things that they vary less than they may.

    As if there were a few more that vary as Hanley and McNeil take things to: three things that happen to
    score alike do not make an area certain. With a hundred things it is next to nothing.
    """
    usual = min(value / (2 - value), 2 * value**2 / (1 + value)) - value**2
    seen = float(own.var(ddof=1)) if len(own) > 1 else 0.0
    return IMAGINED / (len(own) + IMAGINED) * max(0.0, usual - seen) / len(own)


def _share_below(of: Floats, score: Floats) -> Floats:
    """For each score the share of these (sorted) that lie below it, equal ones counted half."""
    ends = np.searchsorted(of, score, "left") + np.searchsorted(of, score, "right")
    return np.asarray(ends / (2 * len(of)), dtype=float)


def _squares(parts: Floats, group: Sequence[int]) -> float:
    sums = np.bincount(np.asarray(group), parts)
    n = len(sums)
    return float((sums**2).sum()) * n / (n - 1) if n > 1 else 0.25


def _interval(value: float, error: float, fewer: int, free: float) -> Interval:
    """On the scale of log odds, so that it stays inside 0 to 1.

    Where every target is above all the rest nothing varies; then what `fewer` successes in a row allow.
    """
    if value in (0.0, 1.0) or error == 0:
        return wilson(value * fewer, fewer)
    middle, half = math.log(value / (1 - value)), student_t_critical(free) * error / (value * (1 - value))
    return _share(middle - half), _share(middle + half)


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0


@dataclass(frozen=True, slots=True)
class Difference:
    """One number less another, on the same things: with its interval of 95 % and the chance of it by luck."""

    value: float
    interval: Interval
    p: float


def area_difference(area: Area, other: Area, group: Sequence[int]) -> Difference:
    """The first area less the second, on the same things in the same order (DeLong's paired test).

    By Student's law, for as many groups as there are.
    """
    value = area.value - other.value
    error = math.sqrt(_squares(area.parts - other.parts, group))
    groups = len(set(group))
    if not error:
        return unvaried(value, groups)
    free = max(1.0, groups - 1.0)
    p = student_t_two_sided(value / error, free)
    half = student_t_critical(free) * error
    return Difference(value, (max(-1.0, value - half), min(1.0, value + half)), p)


def unvaried(value: float, groups: int) -> Difference:
    """A difference that is the same in every group, which so many groups make no more certain than that.

    As many heads in a row have the chance p, and Wilson's interval says how much of it may be left, or how
    much there may be where none was seen.

    >>> unvaried(-0.5, 4).p, [round(end, 2) for end in unvaried(0.0, 4).interval]
    (0.125, [-0.49, 0.49])
    """
    if not value:
        most = wilson(0, groups)[1]
        return Difference(value, (-most, most), 1.0)
    low, high = sorted((value, value * wilson(groups, groups)[0]))
    return Difference(value, (low, high), min(1.0, 2.0 ** (1 - groups)))


# Score: how well a pattern does on labelled things, beside what anybody could have done without it.


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of things, with its interval of 95 %; None and all of 0 to 1 where there are none."""

    hits: int
    of: int
    value: float | None
    interval: Interval


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
    few = (student_t_critical(groups - 1) / student_t_critical(n - 1)) ** 2
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
    true = [item.true for item in items]
    return Score(
        things=len(items),
        targets=sum(true),
        precision=_rate(items, lambda item: item.fired, lambda item: item.true),
        recall=_rate(items, lambda item: item.true, lambda item: item.fired),
        false_alarms=_rate(items, lambda item: not item.true, lambda item: item.fired),
        area=auroc([item.score for item in items], true, clusters(items)) if items else None,
        trivial=baselines(items),
    )


Asked = Callable[[Labelled], bool]


def _rate(items: Sequence[Labelled], among: Asked, hit: Asked) -> Rate:
    own = [item for item in items if among(item)]
    return rate([hit(item) for item in own], clusters(own))


def baselines(items: Sequence[Labelled]) -> tuple[Trivial, ...]:
    """What each trivial number does alone, the best first; `all` marks everything.

    A number may be read either way round, whichever is better here: that favours the baseline, so a
    pattern that beats it has done so.
    """
    names = sorted({name for item in items for name in item.trivial})
    marked, group = sum(item.fired for item in items), clusters(items)
    true = np.array([item.true for item in items], dtype=bool)
    out = [Trivial("all", 0.5, float(true.mean()) if len(items) else None)]
    for name in names:
        values = np.array([item.trivial.get(name, 0.0) for item in items])
        area = auroc(values.tolist(), true.tolist(), group)
        if area is not None:
            way = 1 if area.value >= 0.5 else -1
            out.append(Trivial(name, max(area.value, 1 - area.value), _precision(way * values, true, marked)))
    return tuple(sorted(out, key=lambda item: (-item.area, item.name)))


def _precision(values: np.ndarray, true: np.ndarray, marked: int) -> float | None:
    """Precision where the highest `marked` are marked; things that tie at the limit count by their share."""
    if not marked:
        return None
    limit = np.sort(values)[-marked]
    above, level = values > limit, values == limit
    left = marked - int(above.sum())
    return float((true[above].sum() + true[level].mean() * left) / marked)


# Recall at a given rate of false alarms.
#
# Its interval knows that a few of the others hardly tell where a limit lies, and that groups are alike.

Numbers = Sequence[float] | NDArray[np.float64]
SHARES = {"recall_at_1": 0.01, "recall_at_5": 0.05}


def limit_for(good: Numbers, share: float) -> float:
    """The lowest limit that at most this share of the good is *above*.

    >>> limit_for([0, 0, 0, 1], 0.25)
    0.0
    """
    ordered = np.sort(np.asarray(good, dtype=float))[::-1]
    return float(ordered[min(int(share * len(ordered)), len(ordered) - 1)])


def recall_within(items: Sequence[Labelled], share: float) -> Rate | None:
    """The share of the targets above the limit that at most `share` of the others is above.

    The interval is of recall at all limits that the others leave possible: where they are so few that none
    of them need be above it (below about 370 for 1 %, 72 for 5 %), its lower end is 0. None where targets or
    others are missing.
    """
    bad, good = ([item for item in items if item.true is kind] for kind in (True, False))
    if not bad or not good:
        return None
    scores, group = np.array([item.score for item in bad]), clusters(bad)
    values = [item.score for item in good]
    limit = limit_for(values, share)
    effect = design_effect([value > limit for value in values], clusters(good))
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
        return 1 - beta_cdf(share, count + 1, of - count) if count < of else 1.0

    counts = range(int(of) + 1)
    return bisect_left(counts, 0.025, key=at_most), bisect_left(counts, 0.975, key=at_most)


# Horizon and recovery: how long before the target a pattern was there, and how long after it stayed.
#
# Units are the caller's: steps, turns or seconds.


@dataclass(frozen=True, slots=True)
class Course:
    """One history with a target: where things began to build up, the target itself, and where it was over.

    `found` are the detections as (opened, closed), closed None for one that is still open at the end.
    """

    target: float
    found: tuple[tuple[float, float | None], ...] = ()
    begins: float = 0.0
    over: float | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """Of how many histories, in how many it happened, and quartiles of when; None below four."""

    of: int
    count: int
    middle: float | None
    quartiles: tuple[float, float] | None
    left_out: int = 0


def horizon(courses: Sequence[Course]) -> Times:
    """How long before the target the first detection came, where all was quiet before things began.

    An alarm that was on already tells nothing of what is to come, however early it was: such histories are
    left out and counted. A detection at the target itself has a horizon of 0; a later one is none.
    """
    quiet = [course for course in courses if not any(opened < course.begins for opened, _ in course.found)]
    times = []
    for item in quiet:
        early = [item.target - opened for opened, _ in item.found if opened <= item.target]
        if early:
            times.append(max(early))
    return _times(len(quiet), times, len(courses) - len(quiet))


def recovery(courses: Sequence[Course]) -> Times:
    """How long after the end a detection stayed that was open then; those still open at the end never closed.

    Only histories whose target is over and in which something was open then; `count` are those that closed.
    """
    asked, times = 0, []
    for course in courses:
        if course.over is None:
            continue
        still = [
            closed
            for opened, closed in course.found
            if opened <= course.over and not _is_before(closed, course.over)
        ]
        if still:
            asked += 1
            if all(closed is not None for closed in still):
                times.append(max(closed for closed in still if closed is not None) - course.over)
    return _times(asked, times, sum(course.over is None for course in courses))


def _is_before(closed: float | None, over: float) -> bool:
    return closed is not None and closed < over


def _times(of: int, times: Sequence[float], left_out: int) -> Times:
    parts = quantiles(times, n=4, method="inclusive") if len(times) >= 4 else None
    return Times(
        of, len(times), median(times) if times else None, (parts[0], parts[2]) if parts else None, left_out
    )
