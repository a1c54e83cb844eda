"""Tally: the four counts of a pattern's version, by source and month, which stay when verdicts go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from types import MappingProxyType

from ..records import Detection, Verdict
from .standing import Item, Standing, item_of, standings


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items stand at each verdict; an item counts once, however many judged it."""

    confirmed: int = 0
    false_alarm: int = 0
    missed: int = 0
    correct_silence: int = 0
    disputed: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Counts)))

    @property
    def judged(self) -> int:
        """Detections on which judges agree; precision is a share of these."""
        return self.confirmed + self.false_alarm


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """What a count is about. `source` is empty where it is not known, `month` is written 2026-11, or
    empty too.

    `percent` is the confidence of what was judged, in hundredths; -1 where it is not known, or nothing was
    detected. It is there so that confidences can be calibrated when the verdicts are gone.
    """

    pattern: str
    version: str
    source: str = ""
    month: str = ""
    percent: int = -1


Tallies = Mapping[Slot, Counts]
EMPTY: Mapping[Item, datetime] = MappingProxyType({})


def tally(
    verdicts: Iterable[Verdict],
    detections: Iterable[Detection] = (),
    *,
    ends: Mapping[Item, datetime] = EMPTY,
    untimed: Collection[str] = (),
    as_of: datetime | None = None,
) -> dict[Slot, Counts]:
    """Counts by slot. The month is that of the detection, or in which a silence ends; '' where it is unknown.

    `detections` are those judged, to know their source and time by, `ends` tells when judged silences end,
    and `untimed` are the sources without times.
    """
    about = {one.id: one for one in detections}
    out: dict[Slot, Counts] = defaultdict(Counts)
    for item, standing in standings(verdicts, as_of).items():
        slot = _slot(item, standing, about, ends.get(item))
        slot = replace(slot, month="") if slot.source in untimed else slot
        out[slot] += Counts(**{standing.verdict: 1})
    return dict(out)


def _slot(item: Item, standing: Standing, about: Mapping[str, Detection], end: datetime | None) -> Slot:
    # Judges may have seen different versions; the last word is on the last one.
    last = max(standing.verdicts, key=lambda one: (one.at, one.by))
    known = about.get(item[1]) if item[0] == "detection" else None
    if known is None:
        return Slot(last.pattern, last.version, last.source, "" if end is None else f"{end:%Y-%m}")
    month, percent = f"{known.detected_at:%Y-%m}", hundredths(known.confidence)
    return Slot(last.pattern, last.version, known.source, month, percent)


def hundredths(confidence: float) -> int:
    """A confidence as it is kept with the counts.

    Calibration goes by this from the first verdict on, so that nothing changes when verdicts become counts.
    """
    return round(100 * confidence)


def added(*several: Tallies) -> dict[Slot, Counts]:
    """Several tallies as one."""
    out: dict[Slot, Counts] = defaultdict(Counts)
    for tallies in several:
        for slot, counts in tallies.items():
            out[slot] += counts
    return dict(out)


def settle(
    verdicts: Iterable[Verdict], detections: Iterable[Detection], *, before: datetime
) -> tuple[dict[Slot, Counts], list[Verdict]]:
    """The counts of items whose newest verdict is older than a moment, and the verdicts that are left.

    An item goes as a whole: half of its judges would make another standing. What has been settled can no
    longer be taken back, since nobody knows any more who said it.
    """
    every = list(verdicts)
    newest: dict[Item, datetime] = {}
    for one in every:
        item = item_of(one)
        newest[item] = max(one.at, newest.get(item, one.at))
    old = [one for one in every if newest[item_of(one)] < before]
    return tally(old, detections), [one for one in every if newest[item_of(one)] >= before]
