"""Verdicts of several judges: consensus and counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..models import Detection, Verdict
from ..models.record import Record

if TYPE_CHECKING:
    from ..fields import Count


# Standing: what several judges, who may change their minds, make of one thing together.
#
# History is kept: nothing is taken out of a list of verdicts. What counts is read from it anew each time.

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
        return sum(1 if verdict.verdict in TRUE else -1 for verdict in self.verdicts)

    @property
    def verdict(self) -> str:
        """What most judges say, or `disputed` where as many say the one as the other."""
        if self.balance == 0:
            return "disputed"
        agreed = self.balance > 0
        return next(verdict.verdict for verdict in self.verdicts if (verdict.verdict in TRUE) == agreed)


def item_of(verdict: Verdict) -> Item:
    """What a verdict is about; a later verdict of the same judge on the same item takes its place."""
    if verdict.detection is not None:
        return ("detection", verdict.detection)
    stretch = (verdict.source, verdict.subject, verdict.first_event, verdict.last_event)
    return ("silence", verdict.pattern, *(item or "" for item in stretch))


def standings(verdicts: Iterable[Verdict], as_of: datetime | None = None) -> dict[Item, Standing]:
    """Where every judged item stands at a moment; verdicts given later are not known yet.

    Of two verdicts of one judge at the same moment the one further back in the list counts.
    """
    newest: dict[Item, dict[str, Verdict]] = defaultdict(dict)
    for verdict in verdicts:
        if as_of is not None and verdict.at > as_of:
            continue
        own = newest[item_of(verdict)]
        if verdict.by not in own or verdict.at >= own[verdict.by].at:
            own[verdict.by] = verdict
    return {item: Standing(item, tuple(own[judge] for judge in sorted(own))) for item, own in newest.items()}


def balances(verdicts: Iterable[Verdict]) -> Mapping[str, int]:
    """For each judged detection, judges who confirm it less those who call it a false alarm."""
    record = standings(verdicts)
    return {item[1]: entry.balance for item, entry in record.items() if item[0] == "detection"}


# Tally: the four counts of a pattern's version, by source and month, which stay when verdicts go.


@dataclass(frozen=True, slots=True)
class Counts(Record):
    """How many items stand at each verdict; an item counts once, however many judged it."""

    confirmed: Count = 0
    false_alarm: Count = 0
    missed: Count = 0
    correct_silence: Count = 0
    disputed: Count = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Counts)))

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
    about = {detection.id: detection for detection in detections}
    out: dict[Slot, Counts] = defaultdict(Counts)
    for item, standing in standings(verdicts, as_of).items():
        slot = _slot(item, standing, about, ends.get(item))
        slot = replace(slot, month="") if slot.source in untimed else slot
        out[slot] += Counts(**{standing.verdict: 1})
    return dict(out)


def _slot(item: Item, standing: Standing, about: Mapping[str, Detection], end: datetime | None) -> Slot:
    # Judges may have seen different versions; the last word is on the last one.
    last = max(standing.verdicts, key=lambda verdict: (verdict.at, verdict.by))
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
