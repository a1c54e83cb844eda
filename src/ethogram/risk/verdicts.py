"""Consensus and counts of verdicts by several judges.

Verdicts are only ever added. What counts is computed from all of them: the newest of each judge on an item.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING

from ..models import Detection, Verdict
from ..models.record import Record

if TYPE_CHECKING:
    from ..fields import Count


Item = tuple[str, ...]
"""What is judged: ("detection", id) or ("silence", pattern, source, subject, first event, last event)."""
TRUE = frozenset(("confirmed", "missed"))
"""Verdicts that say that the behaviour was there."""


@dataclass(frozen=True, slots=True)
class Consensus:
    """The newest verdict of each judge on one item, ordered by judge."""

    verdicts: tuple[Verdict, ...]

    @property
    def balance(self) -> int:
        """Judges who say that the behaviour was there, minus those who say that it was not."""
        return sum(1 if verdict.verdict in TRUE else -1 for verdict in self.verdicts)

    @property
    def verdict(self) -> str:
        """The verdict of the majority, `disputed` in a tie."""
        if self.balance == 0:
            return "disputed"
        is_true = self.balance > 0
        return next(verdict.verdict for verdict in self.verdicts if (verdict.verdict in TRUE) == is_true)


def item_of(verdict: Verdict) -> Item:
    """What a verdict is about."""
    if verdict.detection is not None:
        return ("detection", verdict.detection)
    silence = (verdict.source, verdict.subject, verdict.first_event, verdict.last_event)
    return ("silence", verdict.pattern, *(name or "" for name in silence))


def consensus_by_item(verdicts: Iterable[Verdict]) -> dict[Item, Consensus]:
    """The consensus on every judged item; of verdicts by one judge at one moment the last listed counts."""
    newest: dict[Item, dict[str, Verdict]] = defaultdict(dict)
    for verdict in verdicts:
        own = newest[item_of(verdict)]
        if verdict.by not in own or verdict.at >= own[verdict.by].at:
            own[verdict.by] = verdict
    return {item: Consensus(tuple(own[judge] for judge in sorted(own))) for item, own in newest.items()}


def balances(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Judges who confirm a detection minus those who call it a false alarm, by detection id."""
    consensus = consensus_by_item(verdicts)
    return {item[1]: entry.balance for item, entry in consensus.items() if item[0] == "detection"}


@dataclass(frozen=True, slots=True)
class Counts(Record):
    """Items by consensus; an item counts once, however many judged it."""

    confirmed: Count = 0
    false_alarm: Count = 0
    missed: Count = 0
    correct_silence: Count = 0
    disputed: Count = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Counts)))

    @property
    def judged(self) -> int:
        """Detections with a consensus: the denominator of precision."""
        return self.confirmed + self.false_alarm


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """What a count is about. `source` and `month` (2026-11) are empty where unknown.

    `percent` is the confidence of the detection, -1 where unknown or nothing was detected. It allows
    calibration after the verdicts are removed.
    """

    pattern: str
    version: str
    source: str = ""
    month: str = ""
    percent: int = -1


def count_verdicts(
    verdicts: Iterable[Verdict],
    detections: Iterable[Detection] = (),
    *,
    ends: Mapping[Item, datetime] | None = None,
    untimed: Collection[str] = (),
) -> dict[Slot, Counts]:
    """Counts by slot. The month is that of the detection, or of the end of a silence.

    `detections` are those judged, `ends` the ends of judged silences, `untimed` the sources without times.
    """
    by_id = {detection.id: detection for detection in detections}
    counts: dict[Slot, Counts] = defaultdict(Counts)
    for item, consensus in consensus_by_item(verdicts).items():
        # Judges may have seen different versions: the last verdict decides.
        last = max(consensus.verdicts, key=lambda verdict: (verdict.at, verdict.by))
        detection = by_id.get(item[1]) if item[0] == "detection" else None
        if detection is not None:
            at, source, percent = detection.detected_at, detection.source, to_percent(detection.confidence)
            slot = Slot(last.pattern, last.version, source, f"{at:%Y-%m}", percent)
        else:
            end = (ends or {}).get(item)
            slot = Slot(last.pattern, last.version, last.source, f"{end:%Y-%m}" if end else "")
        slot = replace(slot, month="") if slot.source in untimed else slot
        counts[slot] += Counts(**{consensus.verdict: 1})
    return dict(counts)


def to_percent(confidence: float) -> int:
    """A confidence as it is saved with the counts.

    Calibration uses it from the first verdict on, so that nothing changes when verdicts become counts.
    """
    return round(100 * confidence)
