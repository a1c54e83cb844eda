"""What verdicts say: precision and recall bounds of a pattern's versions, and the agreement of judges."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from ..models import Verdict, stable_hash
from ..models.record import Record, decimals
from ..models.slotted import dataclass
from ..stats import clopper_pearson_high, wilson
from .verdicts import TRUE, Consensus, Counts, Slot, consensus_by_item

if TYPE_CHECKING:
    from ..fields import Balance, Count, Name, Ratio

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


@dataclass(frozen=True, slots=True)
class Kappa(Record):
    """Agreement beyond chance: 1 is perfect, 0 is chance; None where chance alone agrees on everything.

    The 95 % interval is Wilson's of the observed agreement, with the expected agreement held fixed. Unlike a
    bootstrap interval it keeps its width where all judges agree on a few items.
    """

    DECIMALS = decimals(6, "observed", "expected", "value", "low", "high")

    items: Count
    observed: Ratio
    expected: Ratio
    value: Balance | None
    low: Balance | None
    high: Balance | None


def cohen(pairs: Sequence[tuple[bool, bool]]) -> Kappa | None:
    """Cohen's kappa of two judges on the same items; None without items.

    >>> both = [(True, True)] * 20 + [(False, False)] * 15
    >>> round(cohen([*both, *[(True, False)] * 5, *[(False, True)] * 10]).value, 3)
    0.4
    """
    if not pairs:
        return None
    n = len(pairs)
    first, second = sum(a for a, _ in pairs) / n, sum(b for _, b in pairs) / n
    return _kappa(n, sum(a == b for a, b in pairs), first * second + (1 - first) * (1 - second))


def fleiss(ratings: Iterable[Sequence[bool]]) -> Kappa | None:
    """Fleiss' kappa of any number of judges per item; None where no item has two.

    Each item weighs the same, by the share of its pairs of judges that agree. The interval counts an item as
    one observation however many judged it, which is conservative.
    """
    items = [list(item) for item in ratings if len(item) > 1]
    if not items:
        return None
    agreed = 0.0
    for item in items:
        yes, n = sum(item), len(item)
        agreed += (yes * (yes - 1) + (n - yes) * (n - yes - 1)) / (n * (n - 1))
    share = sum(map(sum, items)) / sum(map(len, items))
    return _kappa(len(items), agreed, share * share + (1 - share) * (1 - share))


def _kappa(items: int, agreed: float, expected: float) -> Kappa:
    observed = agreed / items
    if expected >= 1:
        return Kappa(items, observed, 1.0, None, None, None)
    # Kappa is at least -1, but Wilson's lower end may lie below.
    shares = (observed, *wilson(agreed, items))
    return Kappa(items, observed, expected, *(max(-1.0, (p - expected) / (1 - expected)) for p in shares))


@dataclass(frozen=True, slots=True)
class Agreement:
    """Kappa of all judges, of each pair with common items, and the number of items of each judge."""

    together: Kappa | None
    pairs: dict[tuple[str, str], Kappa]
    judges: dict[str, int]


def agreement(verdicts: Iterable[Verdict]) -> Agreement:
    """Agreement of judges on detections, by the newest verdict of each."""
    items = [
        {verdict.by: verdict.verdict in TRUE for verdict in consensus.verdicts}
        for consensus in _judged_detections(verdicts).values()
    ]
    judges = Counter(judge for item in items for judge in item)
    pairs = {}
    for a, b in combinations(sorted(judges), 2):
        if kappa := cohen([(item[a], item[b]) for item in items if a in item and b in item]):
            pairs[a, b] = kappa
    return Agreement(fleiss(list(item.values()) for item in items), pairs, dict(sorted(judges.items())))


def second_look(verdicts: Iterable[Verdict], judge: str, *, share: float = 0.2) -> list[str]:
    """Ids of detections that this judge should judge too, blind to the verdicts of others.

    A fixed share of what others judged, drawn and ordered by the hash of the id alone: neither verdict nor
    confidence influences it, and a repeated call draws the same.
    """
    drawn = []
    for detection, consensus in _judged_detections(verdicts).items():
        place = int(stable_hash("second look", detection)[:12], 16) / 16**12
        if place < share and all(verdict.by != judge for verdict in consensus.verdicts):
            drawn.append((place, detection))
    return [detection for _, detection in sorted(drawn)]


def _judged_detections(verdicts: Iterable[Verdict]) -> dict[str, Consensus]:
    consensus = consensus_by_item(verdicts)
    return {item[1]: entry for item, entry in consensus.items() if item[0] == "detection"}
