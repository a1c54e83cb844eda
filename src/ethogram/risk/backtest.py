"""Backtest statistics: what a pattern finds in a history, and its overlap with other patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from ..models import SEVERITIES, Detection, rank, stable_hash
from ..models.detection import STANDING
from ..models.record import Record
from ..models.slotted import dataclass

if TYPE_CHECKING:
    from ..fields import Count, Name, Ratio


@dataclass(frozen=True, slots=True)
class Overlap(Record):
    """The overlap of a pattern with another one in events and histories.

    `jaccard` is common events over all events, `covered` the share of the pattern's events that the other has
    too. `together` is how often histories with the one have the other, over how often all have it: 1 means
    independent, None that the two group events differently.
    """

    other: Name
    both: Count
    jaccard: Ratio
    covered: Ratio
    together: float | None


@dataclass(frozen=True, slots=True)
class Backtest(Record):
    """What a pattern would have found in history, with examples.

    `histories` is how many of those `looked_at` have a detection. `shuffled` counts detections in each
    shuffle of the histories; `lift` is the detections over their mean, None where no shuffle has any.
    `by_week` is empty without times.
    """

    RECORD = "backtest"

    pattern: Name
    detections: Count
    histories: Count
    looked_at: Count
    by_severity: dict[str, Count]
    by_week: dict[str, Count]
    examples: tuple[Detection, ...]
    overlaps: tuple[Overlap, ...]
    """`both` counts shared events, `covered` is their share of this pattern's events, `together` how much
    more often than by chance both occur in one history (null where the two group events differently)."""
    shuffled: tuple[Count, ...]
    lift: float | None


def backtest(
    pattern: str,
    detections: Iterable[Detection],
    others: Iterable[Detection],
    *,
    histories: int,
    timed: bool = True,
    since: datetime | None = None,
    shuffled: Sequence[int] = (),
    examples: int = 3,
) -> Backtest:
    """The statistics of a pattern's detections beside those of `others` in the same events.

    `histories` is how many were looked at. Detections before `since` do not count.
    """

    def counts(detection: Detection) -> bool:
        return detection.state in STANDING and (since is None or detection.detected_at >= since)

    own = [item for item in detections if counts(item)]
    rest = sorted(
        (item for item in others if counts(item) and item.pattern != pattern), key=lambda item: item.pattern
    )
    overlaps = [
        _overlap(name, own, list(theirs), histories)
        for name, theirs in groupby(rest, key=lambda item: item.pattern)
    ]
    weeks = Counter(f"{item.detected_at:%G-W%V}" for item in own) if timed else {}
    return Backtest(
        pattern=pattern,
        detections=len(own),
        histories=len(histories_of(own)),
        looked_at=histories,
        by_severity={severity: sum(item.severity == severity for item in own) for severity in SEVERITIES},
        by_week=dict(sorted(weeks.items())),
        examples=_examples(own, examples),
        overlaps=tuple(sorted((o for o in overlaps if o.both), key=lambda o: (-o.jaccard, o.other))),
        shuffled=tuple(shuffled),
        lift=len(own) * len(shuffled) / sum(shuffled) if sum(shuffled) else None,
    )


def _overlap(name: str, own: Sequence[Detection], others: Sequence[Detection], histories: int) -> Overlap:
    mine, theirs = events_of(own), events_of(others)
    both = len(mine & theirs)
    if not both:
        return Overlap(name, 0, 0.0, 0.0, None)
    together = None
    if own[0].history.keys() == others[0].history.keys():
        a, b = histories_of(own), histories_of(others)
        together = len(a & b) * histories / (len(a) * len(b))
    return Overlap(name, both, both / len(mine | theirs), both / len(mine), together)


def events_of(detections: Iterable[Detection]) -> set[tuple[str, str]]:
    """(source, id) of the evidence and of the first, last and firing events."""
    return {
        (item.source, event)
        for item in detections
        for event in (
            item.first_event,
            item.last_event,
            item.fired_event,
            *(evidence.event for evidence in item.evidence),
        )
        if event
    }


def histories_of(detections: Iterable[Detection]) -> set[tuple[str, ...]]:
    """The histories that detections are in."""
    return set(map(_history, detections))


def _history(detection: Detection) -> tuple[str, ...]:
    return (detection.source, *(str(value) for _, value in sorted(detection.history.items())))


def _examples(own: Sequence[Detection], limit: int) -> tuple[Detection, ...]:
    """The most severe, the least certain, then others in hash order, one of each history first."""
    if not own or limit < 1:
        return ()
    worst = max(own, key=lambda item: (rank(item.severity), item.confidence, item.id))
    weakest = min(own, key=lambda item: (item.confidence, item.id))
    rest = sorted(own, key=lambda item: stable_hash("example", item.id))
    firsts: dict[tuple[str, ...], Detection] = {}
    for item in rest:
        firsts.setdefault(_history(item), item)
    by_id = {item.id: item for item in (worst, weakest, *firsts.values(), *rest)}
    return tuple(by_id.values())[:limit]
