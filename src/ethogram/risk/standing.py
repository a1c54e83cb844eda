"""Standing: what several judges, who may change their minds, make of one thing together.

History is kept: nothing is taken out of a list of verdicts. What counts is read from it anew each time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..records import Verdict

Item = tuple[str, ...]
"""What is judged: a detection by its id, or a stretch in which nothing was detected."""
TRUE = frozenset(("confirmed", "missed"))
"""Verdicts that say something was there; the others say that nothing was."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The newest verdict of each judge on one item, in order of judges' names."""

    item: Item
    verdicts: tuple[Verdict, ...]

    @property
    def balance(self) -> int:
        """Judges who say that something was there, less those who say that nothing was.

        A further false alarm never raises it, whoever says so and whatever they said before.
        """
        return sum(1 if one.verdict in TRUE else -1 for one in self.verdicts)

    @property
    def verdict(self) -> str:
        """What most judges say, or `disputed` where as many say the one as the other."""
        if self.balance == 0:
            return "disputed"
        agreed = self.balance > 0
        return next(one.verdict for one in self.verdicts if (one.verdict in TRUE) == agreed)


def item_of(verdict: Verdict) -> Item:
    """What a verdict is about; a later verdict of the same judge on the same item takes its place."""
    if verdict.detection is not None:
        return ("detection", verdict.detection)
    stretch = (verdict.source, verdict.subject, verdict.first_event, verdict.last_event)
    return ("silence", verdict.pattern, *(one or "" for one in stretch))


def standings(verdicts: Iterable[Verdict], as_of: datetime | None = None) -> dict[Item, Standing]:
    """Where every judged item stands at a moment; verdicts given later are not known yet.

    Of two verdicts of one judge at the same moment the one further back in the list counts.
    """
    newest: dict[Item, dict[str, Verdict]] = defaultdict(dict)
    for one in verdicts:
        if as_of is not None and one.at > as_of:
            continue
        own = newest[item_of(one)]
        if one.by not in own or one.at >= own[one.by].at:
            own[one.by] = one
    return {item: Standing(item, tuple(own[judge] for judge in sorted(own))) for item, own in newest.items()}


def balances(verdicts: Iterable[Verdict]) -> Mapping[str, int]:
    """For each judged detection, judges who confirm it less those who call it a false alarm."""
    found = standings(verdicts)
    return {item[1]: one.balance for item, one in found.items() if item[0] == "detection"}
