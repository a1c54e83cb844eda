"""Agreement of judges beyond chance, and the selection of detections for a second judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from ..models import Verdict, stable_hash
from ..models.record import Record, decimals
from ..models.slotted import dataclass
from ..stats import wilson
from .verdicts import TRUE, Consensus, consensus_by_item

if TYPE_CHECKING:
    from ..fields import Balance, Count, Ratio


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
