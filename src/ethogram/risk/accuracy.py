"""Accuracy of a pattern's version, and reliability of its confidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..models.record import Record, decimals
from ..stats import Interval, clopper_pearson_high, wilson
from .verdicts import Counts, Slot, Tallies

if TYPE_CHECKING:
    from ..fields import Count, Name, Ratio


# Accuracy: how often a version of a pattern was right, as far as verdicts tell.

MINIMUM = 20
"""With fewer verdicts on detections nothing is said about precision."""


class Few(NamedTuple):
    """How many verdicts there are, and how many it takes."""

    have: Count
    need: Count


@dataclass(frozen=True, slots=True)
class RecallBounds(Record):
    """Between what recall lies; None for an end that is not known."""

    DECIMALS = decimals(6, "at_least", "at_most")

    at_least: Ratio | None
    at_most: Ratio | None


@dataclass(frozen=True, slots=True)
class Precision(Record):
    """Confirmed over judged, or None where there are too few verdicts to say."""

    JSON = "counts precision precision_low precision_high insufficient"
    FLAT = ("counts",)
    DECIMALS = decimals(6, "precision", "precision_low", "precision_high")

    counts: Counts
    minimum: int = MINIMUM

    @property
    def is_sufficient(self) -> bool:
        """Whether there are enough verdicts."""
        return self.counts.judged >= self.minimum

    @property
    def value(self) -> float | None:
        """The share of judged detections that were confirmed."""
        return self.counts.confirmed / self.counts.judged if self.is_sufficient else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's of 95 %."""
        return wilson(self.counts.confirmed, self.counts.judged) if self.is_sufficient else None

    @property
    def precision(self) -> Ratio | None:
        """The same as `value`."""
        return self.value

    @property
    def precision_low(self) -> Ratio | None:
        """The lower end of the interval."""
        return None if self.interval is None else self.interval[0]

    @property
    def precision_high(self) -> Ratio | None:
        """The upper end of the interval."""
        return None if self.interval is None else self.interval[1]

    @property
    def insufficient(self) -> Few | None:
        """How many verdicts there are and how many it takes, where there are too few."""
        return None if self.is_sufficient else Few(self.counts.judged, self.minimum)


@dataclass(frozen=True, slots=True)
class Accuracy(Record):
    """How often a version of a pattern was right, as far as verdicts tell."""

    RECORD = "accuracy"
    JSON = "pattern version whole unjudged recall by_source by_month"
    FLAT = ("whole",)

    pattern: Name
    version: str
    whole: Precision
    by_source: dict[str, Precision]
    by_month: dict[str, Precision]
    unjudged: Count = 0
    """Detections that stand and that nobody has judged."""
    silences: int = 0
    """How many stretches without a detection the judged ones were drawn from at random; 0: not told."""

    @property
    def recall_at_most(self) -> float | None:
        """See the function of that name."""
        return recall_at_most(self.whole.counts, self.unjudged)

    @property
    def recall_at_least(self) -> float | None:
        """See the function of that name; None where nobody told how many silences there were."""
        return recall_at_least(self.whole.counts, self.silences) if self.silences else None

    @property
    def recall(self) -> RecallBounds:
        """What recall can be."""
        return RecallBounds(self.recall_at_least, self.recall_at_most)


def accuracy(
    tallies: Tallies,
    pattern: str,
    *,
    minimum: int = MINIMUM,
    unjudged: Mapping[tuple[str, str], int] | None = None,
    silences: int = 0,
) -> list[Accuracy]:
    """What is known of each version of a pattern, in order of versions.

    `unjudged` are how many detections by (pattern, version) nobody has judged, `silences` how many stretches
    without one the judged silences were drawn from.
    """
    by_version: dict[str, dict[Slot, Counts]] = defaultdict(dict)
    for slot, counts in tallies.items():
        if slot.pattern == pattern:
            by_version[slot.version][slot] = counts
    return [
        Accuracy(
            pattern,
            version,
            Precision(sum(own.values(), Counts()), minimum),
            _split(own, lambda slot: slot.source, minimum),
            _split(own, lambda slot: slot.month, minimum),
            (unjudged or {}).get((pattern, version), 0),
            silences,
        )
        for version, own in sorted(by_version.items())
    ]


def _split(own: Tallies, by: Callable[[Slot], str], minimum: int) -> dict[str, Precision]:
    out: dict[str, Counts] = defaultdict(Counts)
    for slot, counts in own.items():
        out[by(slot)] += counts
    return {name: Precision(counts, minimum) for name, counts in sorted(out.items())}


def recall_at_most(counts: Counts, unjudged: int = 0) -> float | None:
    """The most that recall can be, from what is known to have been missed; None where nothing is known.

    Known misses are the least there were, so they bound recall from above and never from below: every
    detection that nobody has judged is taken to be right, and nothing else to have been missed. Where nothing
    of this version was found at all, no sweep may have looked for it yet, and nothing is known either.

    >>> recall_at_most(Counts(confirmed=8, missed=2)), recall_at_most(Counts(confirmed=8))
    (0.8, None)
    """
    found = counts.confirmed + counts.disputed + unjudged
    if not counts.missed or not found + counts.false_alarm:
        return None
    return found / (found + counts.missed)


def recall_at_least(counts: Counts, silences: int) -> float | None:
    """The least that recall is (with 97.5 % certainty), where judged silences were drawn at random.

    `silences` is how many stretches without a detection there were to draw from. What was missed is then at
    most the upper end of its share among those looked at, times all; None where none were looked at.

    >>> round(recall_at_least(Counts(confirmed=50, missed=1, correct_silence=199), silences=1000), 2)
    0.64
    """
    looked_at = counts.missed + counts.correct_silence
    if not looked_at:
        return None
    missed = max(counts.missed, silences * clopper_pearson_high(counts.missed, looked_at))
    return counts.confirmed / (counts.confirmed + missed) if counts.confirmed else 0.0


# Reliability: does what is said with confidence .8 come true in 8 of 10 cases?


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
    distance = sum(abs(row.said - row.right / row.count) * row.count for row in rows) / len(pairs)
    return Reliability(tuple(rows), len(pairs), float(((said - right) ** 2).mean()), distance)
