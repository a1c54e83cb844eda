"""Precision and recall bounds of a pattern's versions, from counts of verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..models.record import Record, decimals
from ..models.slotted import dataclass
from ..stats import clopper_pearson_high, wilson
from .verdicts import Counts, Slot

if TYPE_CHECKING:
    from ..fields import Count, Name, Ratio

MINIMUM = 20
"""Verdicts on detections below which no precision is reported."""


class Few(NamedTuple):
    """How many verdicts there are, and how many are needed."""

    have: Count
    need: Count


@dataclass(frozen=True, slots=True)
class RecallBounds(Record):
    """Bounds of recall; None for an unknown one."""

    DECIMALS = decimals(6, "at_least", "at_most")

    at_least: Ratio | None
    at_most: Ratio | None


@dataclass(frozen=True, slots=True)
class Precision(Record):
    """Confirmed over judged; it and its 95 % interval (Wilson) are None below `minimum` verdicts."""

    JSON = "counts precision precision_low precision_high insufficient"
    FLAT = ("counts",)
    DECIMALS = decimals(6, "precision", "precision_low", "precision_high")

    counts: Counts
    minimum: int = MINIMUM

    @property
    def precision(self) -> Ratio | None:
        """The share of judged detections that were confirmed."""
        counts = self.counts
        return counts.confirmed / counts.judged if counts.judged >= self.minimum else None

    @property
    def precision_low(self) -> Ratio | None:
        """The lower end of the interval."""
        return None if self.precision is None else wilson(self.counts.confirmed, self.counts.judged)[0]

    @property
    def precision_high(self) -> Ratio | None:
        """The upper end of the interval."""
        return None if self.precision is None else wilson(self.counts.confirmed, self.counts.judged)[1]

    @property
    def insufficient(self) -> Few | None:
        """How many verdicts there are and how many are needed, where there are too few."""
        return Few(self.counts.judged, self.minimum) if self.precision is None else None


@dataclass(frozen=True, slots=True)
class Accuracy(Record):
    """How often a version of a pattern was right, as far as verdicts tell.

    `unjudged` counts open and closed detections without a verdict. `silences` is the number of stretches
    without a detection that the judged ones were drawn from at random; 0: unknown.
    """

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

    @property
    def recall(self) -> RecallBounds:
        """Bounds of recall; there is no lower one where the number of silences is unknown."""
        counts = self.whole.counts
        at_least = recall_at_least(counts, self.silences) if self.silences else None
        return RecallBounds(at_least, recall_at_most(counts, self.unjudged))


def accuracy(
    counts: Mapping[Slot, Counts],
    pattern: str,
    *,
    minimum: int = MINIMUM,
    unjudged: Mapping[tuple[str, str], int] | None = None,
    silences: int = 0,
) -> list[Accuracy]:
    """The accuracy of each version of a pattern, in order of versions.

    `unjudged` counts detections without a verdict by (pattern, version).
    """
    by_version: dict[str, dict[Slot, Counts]] = defaultdict(dict)
    for slot, count in counts.items():
        if slot.pattern == pattern:
            by_version[slot.version][slot] = count

    def split(own: Mapping[Slot, Counts], key: Callable[[Slot], str]) -> dict[str, Precision]:
        sums: dict[str, Counts] = defaultdict(Counts)
        for slot, count in own.items():
            sums[key(slot)] += count
        return {name: Precision(count, minimum) for name, count in sorted(sums.items())}

    return [
        Accuracy(
            pattern,
            version,
            Precision(sum(own.values(), Counts()), minimum),
            split(own, lambda slot: slot.source),
            split(own, lambda slot: slot.month),
            (unjudged or {}).get((pattern, version), 0),
            silences,
        )
        for version, own in sorted(by_version.items())
    ]


def recall_at_most(counts: Counts, unjudged: int = 0) -> float | None:
    """The upper bound of recall from known misses; None where no miss is known.

    Unjudged detections are taken as right, and unknown misses as none. Without any detection of this version
    the bound is None too: no sweep may have looked for it yet.

    >>> recall_at_most(Counts(confirmed=8, missed=2)), recall_at_most(Counts(confirmed=8))
    (0.8, None)
    """
    detected = counts.confirmed + counts.disputed + unjudged
    if not counts.missed or not detected + counts.false_alarm:
        return None
    return detected / (detected + counts.missed)


def recall_at_least(counts: Counts, silences: int) -> float | None:
    """The lower bound of recall (97.5 % certain) from judged silences drawn at random.

    `silences` is the number of stretches without a detection. The misses are at most their upper share among
    the judged silences, times all silences. None where no silence was judged.

    >>> round(recall_at_least(Counts(confirmed=50, missed=1, correct_silence=199), silences=1000), 2)
    0.64
    """
    judged = counts.missed + counts.correct_silence
    if not judged:
        return None
    missed = max(counts.missed, silences * clopper_pearson_high(counts.missed, judged))
    return counts.confirmed / (counts.confirmed + missed) if counts.confirmed else 0.0
