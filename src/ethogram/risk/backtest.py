"""Backtest: what a pattern would have found in stored history, beside what others found there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from ..models import SEVERITIES, Detection, rank, stable_hash
from ..models.detection import STANDING
from ..models.record import Record

if TYPE_CHECKING:
    from ..fields import Count, Name, Ratio


Events = frozenset[tuple[str, str]]
"""Events by source and id."""
Fields = tuple[str, ...]
"""What histories are told apart by, sorted: subject, target."""


@dataclass(frozen=True, slots=True)
class Overlap(Record):
    """How far a pattern and another one are about the same events, and the same histories.

    `jaccard` is events in both over events in either; `covered` is the share of the new one's events that
    the other has too. `together` is how often histories with the one have the other, over how often all
    have it, the same from either side: 1 says they have nothing to do with each other, None that there is
    nothing to compare. Of two that look at different histories, those by what both are told apart by count.
    """

    other: Name
    both: Count
    jaccard: Ratio
    covered: Ratio
    together: float | None


@dataclass(frozen=True, slots=True)
class Backtest(Record):
    """What a pattern would have found in history, with examples.

    `shuffled` is what each shuffle of the same histories had, `lift` the detections over their mean; None
    where no shuffle had any. `by_week` is empty where there are no times.
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
    shuffled: tuple[Count, ...]
    lift: float | None


def backtest(
    pattern: str,
    detections: Sequence[Detection],
    others: Iterable[Detection],
    *,
    histories: int,
    wider: Mapping[Fields, int] | None = None,
    timed: bool = True,
    since: datetime | None = None,
    shuffled: Sequence[int] = (),
    examples: int = 3,
) -> Backtest:
    """What a pattern found, and how that lies to what `others` found in the same history.

    `histories` is how many were looked at, `wider` how many these are by fewer fields, `shuffled` what was
    found in each shuffle of the same histories. Detections older than `since` do not count, of either kind.
    """
    own = [item for item in detections if _counts(item, since)]
    rest = sorted(
        (other for other in others if _counts(other, since) and other.pattern != pattern), key=_pattern
    )
    known = {name: list(every) for name, every in groupby(rest, key=_pattern)}
    return Backtest(
        pattern=pattern,
        detections=len(own),
        histories=len(histories_of(own)),
        looked_at=histories,
        by_severity={severity: sum(item.severity == severity for item in own) for severity in SEVERITIES},
        by_week=_weeks(own) if timed else {},
        examples=_examples(own, examples),
        overlaps=overlaps(own, known, histories, wider or {}),
        shuffled=tuple(shuffled),
        lift=len(own) * len(shuffled) / sum(shuffled) if sum(shuffled) else None,
    )


def _counts(detection: Detection, since: datetime | None) -> bool:
    return detection.state in STANDING and (since is None or detection.detected_at >= since)


def _pattern(detection: Detection) -> str:
    return detection.pattern


def overlaps(
    own: Sequence[Detection],
    others: Mapping[str, Sequence[Detection]],
    histories: int,
    wider: Mapping[Fields, int],
) -> tuple[Overlap, ...]:
    """The overlap with each other pattern, the largest first; those without a common event are left out."""
    out = []
    mine = events_of(own)
    for name, every in others.items():
        theirs = events_of(every)
        both = len(mine & theirs)
        if both:
            fields = common_fields(own, every)
            looked_at = histories if fields == common_fields(own, own) else wider.get(fields, 0)
            together = _together(own, every, fields, looked_at)
            out.append(Overlap(name, both, both / len(mine | theirs), both / len(mine), together))
    return tuple(sorted(out, key=lambda item: (-item.jaccard, item.other)))


def common_fields(own: Sequence[Detection], others: Sequence[Detection]) -> Fields:
    """What the histories of both kinds are told apart by."""
    return tuple(sorted(set.intersection(*(set(other.history) for other in (*own, *others)))))


def _together(
    own: Sequence[Detection], others: Sequence[Detection], fields: Fields, looked_at: int
) -> float | None:
    if not fields or not looked_at:
        return None
    whose, people = histories_of(own, fields), histories_of(others, fields)
    return len(whose & people) * looked_at / (len(whose) * len(people))


def events_of(detections: Iterable[Detection]) -> Events:
    """The events that make these detections: evidence, and the first, last and firing one."""
    out: set[tuple[str, str]] = set()
    for detection in detections:
        ids = {
            detection.first_event,
            detection.last_event,
            detection.fired_event,
            *(each.event for each in detection.evidence),
        }
        out |= {(detection.source, name) for name in ids if name}
    return frozenset(out)


def histories_of(detections: Iterable[Detection], fields: Fields | None = None) -> set[tuple[str, ...]]:
    """The histories these detections are in, by all they are told apart by or by some fields alone."""
    return {history_of(detection, fields) for detection in detections}


def history_of(detection: Detection, fields: Fields | None = None) -> tuple[str, ...]:
    """The history of a detection: its source, and what tells it apart from others of the same pattern."""
    names = sorted(detection.history) if fields is None else fields
    return (detection.source, *(str(detection.history[name]) for name in names))


def _weeks(own: Iterable[Detection]) -> dict[str, int]:
    names = sorted(f"{item.detected_at:%G-W%V}" for item in own)
    return {name: sum(1 for _ in every) for name, every in groupby(names)}


def _examples(own: Sequence[Detection], most: int) -> tuple[Detection, ...]:
    """The gravest, the least sure and then any: one a history first, always the same for the same history."""
    if not own or most < 1:
        return ()
    gravest = max(own, key=lambda item: (rank(item.severity), item.confidence, item.id))
    weakest = min(own, key=lambda item: (item.confidence, item.id))
    rest = sorted(own, key=lambda item: stable_hash("example", item.id))
    chosen = dict.fromkeys([gravest.id, weakest.id, *(item.id for item in _one_a_history(rest))])
    by_id = {item.id: item for item in own}
    return tuple(by_id[name] for name in list(chosen)[:most])


def _one_a_history(ordered: Sequence[Detection]) -> list[Detection]:
    """The first of every history, then the others."""
    first: dict[tuple[str, ...], Detection] = {}
    for item in ordered:
        first.setdefault(history_of(item), item)
    chosen = {item.id for item in first.values()}
    return [*first.values(), *(item for item in ordered if item.id not in chosen)]
