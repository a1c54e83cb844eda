"""Judges: how far they agree beyond chance, and what a second one should look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from ..models import Verdict, stable_hash
from ..models.record import Record, decimals
from ..stats import wilson
from .verdicts import TRUE, Standing, standings

if TYPE_CHECKING:
    from ..fields import Balance, Count, Ratio


@dataclass(frozen=True, slots=True)
class Kappa(Record):
    """Agreement beyond chance: 1 for perfect, 0 for chance. None where chance alone would agree on all.

    The interval of 95 % is Wilson's of the observed agreement, with the chance agreement as it is; so it is
    wide for few items also where all of them agree, where one by resampling has no width at all.
    """

    DECIMALS = decimals(6, "observed", "expected", "value", "low", "high")

    items: Count
    observed: Ratio
    expected: Ratio
    value: Balance | None
    low: Balance | None
    high: Balance | None


def cohen(pairs: Sequence[tuple[bool, bool]]) -> Kappa | None:
    """Cohen's kappa of two judges' answers on the same items; None for no items.

    >>> both = [(True, True)] * 20 + [(False, False)] * 15
    >>> round(cohen([*both, *[(True, False)] * 5, *[(False, True)] * 10]).value, 3)
    0.4
    """
    if not pairs:
        return None
    n = len(pairs)
    first, second = sum(a for a, _ in pairs) / n, sum(b for _, b in pairs) / n
    return _kappa(n, sum(a == b for a, b in pairs), first * second + (1 - first) * (1 - second))


def fleiss(answers: Iterable[Sequence[bool]]) -> Kappa | None:
    """Fleiss' kappa of any number of judges, not the same for every item; None where no item has two.

    Each item counts the same, by the share of pairs of its judges that agree. The interval takes an item for
    one observation however many judged it, which is on the safe side.
    """
    told = [list(answer) for answer in answers if len(answer) > 1]
    if not told:
        return None
    agreed = 0.0
    for item in told:
        yes, n = sum(item), len(item)
        agreed += (yes * (yes - 1) + (n - yes) * (n - yes - 1)) / (n * (n - 1))
    share = sum(map(sum, told)) / sum(map(len, told))
    return _kappa(len(told), agreed, share * share + (1 - share) * (1 - share))


def _kappa(items: int, agreed: float, expected: float) -> Kappa:
    observed = agreed / items
    if expected >= 1:
        return Kappa(items, observed, 1.0, None, None, None)
    low, high = wilson(agreed, items)
    # No agreement is below -1, though Wilson's lower end may be below what chance leaves room for.
    beyond = [max(-1.0, (item - expected) / (1 - expected)) for item in (observed, low, high)]
    return Kappa(items, observed, expected, *beyond)


@dataclass(frozen=True, slots=True)
class Agreement:
    """All judges together, and each pair of them that has items in common."""

    together: Kappa | None
    pairs: dict[tuple[str, str], Kappa]
    judges: dict[str, int]


def agreement(verdicts: Iterable[Verdict]) -> Agreement:
    """How far judges agree on detections, each by their newest verdict."""
    told = [_answers(standing) for item, standing in standings(verdicts).items() if item[0] == "detection"]
    names = Counter(judge for item in told for judge in item)
    pairs = {}
    for a, b in combinations(sorted(names), 2):
        kappa = cohen([(item[a], item[b]) for item in told if a in item and b in item])
        if kappa is not None:
            pairs[a, b] = kappa
    return Agreement(fleiss(list(item.values()) for item in told), pairs, dict(sorted(names.items())))


def _answers(standing: Standing) -> dict[str, bool]:
    return {verdict.by: verdict.verdict in TRUE for verdict in standing.verdicts}


def second_look(verdicts: Iterable[Verdict], judge: str, *, share: float = 0.2) -> list[str]:
    """Ids of detections that this judge should judge as well, without being told what others said.

    A fixed share of what others have judged, drawn by the id alone: neither the first verdict nor the
    confidence has a say in it, and asking again draws the same. In an order that tells nothing either.
    """
    found = []
    for item, standing in standings(verdicts).items():
        if item[0] == "detection" and all(verdict.by != judge for verdict in standing.verdicts):
            drawn = int(stable_hash("second look", item[1])[:12], 16) / 16**12
            if drawn < share:
                found.append((drawn, item[1]))
    return [name for _, name in sorted(found)]
