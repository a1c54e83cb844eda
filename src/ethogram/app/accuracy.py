"""Accuracy and calibration from the verdicts of a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ..config import Settings
from ..config.settings import learning_in
from ..errors import BadUsage, did_you_mean
from ..fields import Count, Name, Ratio, RecordStruct
from ..models import Detection, Verdict
from ..models.detection import STANDING, base_pattern
from ..models.record import Record, decimals
from ..risk.accuracy import Accuracy, Reliability, accuracy, reliability
from ..risk.agreement import Agreement, Kappa, agreement, second_look
from ..risk.calibration import Calibration, by_pattern, calibrated, probability
from ..risk.verdicts import Counts, Slot, added, hundredths, standings, tally
from ..store.protocol import Store
from .risk import every_file

# Accuracy: what the verdicts of a store come to, those too that are gone, and how far judges agree.


def counts_of(store: Store, as_of: datetime | None = None) -> dict[Slot, Counts]:
    """The counts of all verdicts, those that are gone too."""
    count = store.verdicts()
    ids = {item.detection for item in count if item.detection is not None}
    untimed = {source.name for source in store.sources().values() if not source.timed}
    found, ends = store.detections(ids=ids), store.silence_ends()
    return added(store.verdict_counts(), tally(count, found, ends=ends, untimed=untimed, as_of=as_of))


def accuracies(
    store: Store, pattern: str | None = None, *, minimum: int, silences: int = 0
) -> list[Accuracy]:
    """What is known of each version of a pattern, or of all.

    `silences` is how many stretches without a detection there were, where those judged were drawn at random;
    BadUsage where more were judged.
    """
    counts = counts_of(store)
    names = sorted({slot.pattern for slot in counts})
    chosen = [name for name in names if pattern is None or pattern in (name, base_pattern(name))]
    unjudged = _unjudged(store, chosen)
    found = [
        item
        for name in chosen
        for item in accuracy(counts, name, minimum=minimum, unjudged=unjudged, silences=silences)
    ]
    for item in found:
        looked_at = item.whole.counts.missed + item.whole.counts.correct_silence
        if 0 < silences < looked_at:
            raise BadUsage(
                f"of {item.pattern} {looked_at} silences were judged, which cannot be drawn from {silences}: "
                "say how many there were in all"
            )
    return found


def check_pattern(store: Store, pattern: str, settings: Settings) -> None:
    """BadUsage where there is no pattern of that name, in the library, in detections or in verdicts."""
    names = {slot.pattern for slot in store.verdict_counts()} | {
        verdict.pattern for verdict in store.verdicts()
    }
    known = names | {base_pattern(name) for name in names}
    if pattern in known or store.detections(patterns=[pattern]):
        return
    files = every_file(settings)
    if base_pattern(pattern) not in files:
        raise BadUsage(f"there is no pattern {pattern!r:.60}{did_you_mean(pattern, {*files, *known})}")


def _unjudged(store: Store, patterns: Iterable[str]) -> dict[tuple[str, str], int]:
    """How many detections that stand nobody has judged, by pattern and version."""
    judged = {verdict.detection for verdict in store.verdicts()}
    found = store.detections(patterns=patterns, states=STANDING)
    going = store.settled_detections()
    out: dict[tuple[str, str], int] = {}
    for item in found:
        if item.id not in judged and item.id not in going:
            out[item.pattern, item.version] = out.get((item.pattern, item.version), 0) + 1
    return out


def agreed(store: Store, pattern: str | None = None, *, blind: bool = False) -> Agreement:
    """How far judges agree; `blind`: only where all but the first could not see what was said before."""
    verdicts = _verdicts(store, pattern)
    return agreement(_blind(verdicts) if blind else verdicts)


def _verdicts(store: Store, pattern: str | None) -> list[Verdict]:
    """All verdicts, or those on the detections of a pattern or of the programs of its file."""
    return [
        verdict
        for verdict in store.verdicts()
        if pattern is None or pattern in (verdict.pattern, base_pattern(verdict.pattern))
    ]


def _blind(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Of each detection the first judge's verdicts, and those of later ones who were not told of them."""
    first: dict[str | None, str] = {}
    for item in verdicts:
        first.setdefault(item.detection, item.by)
    return [item for item in verdicts if item.blind or first[item.detection] == item.by]


def to_look_at(store: Store, judge: str, settings: Settings, pattern: str | None = None) -> list[Detection]:
    """Detections that a second judge should judge too, in an order that tells nothing of what was said."""
    verdicts = _verdicts(store, pattern)
    ids = second_look(verdicts, judge, share=learning_in(settings)["second_look"])
    found = {detection.id: detection for detection in store.detections(ids=ids)}
    return [found[item] for item in ids if item in found]


class PairAgreement(RecordStruct):
    """How far two judges agree."""

    FLAT = ("kappa",)

    judges: tuple[str, str]
    kappa: Kappa


class AgreementRecord(RecordStruct):
    """How far judges agree beyond chance."""

    RECORD = "agreement"

    pattern: str | None
    judges: dict[str, Count]
    all: Kappa | None
    blind: Kappa | None
    pairs: list[PairAgreement]


def agreement_record(pattern: str | None, together: Agreement, blind: Agreement) -> AgreementRecord:
    """How far judges agree about one pattern or all, as a record."""
    return AgreementRecord(
        pattern=pattern,
        judges=together.judges,
        all=together.together,
        blind=blind.together,
        pairs=[PairAgreement(judges=names, kappa=kappa) for names, kappa in sorted(together.pairs.items())],
    )


# Calibrating: what confidences have meant in a store, by its verdicts and the counts of those gone.

CurvePoint = tuple[Ratio, Ratio]
Pairs = dict[str, list[tuple[float, bool]]]
"""For each pattern: the confidence of each judged detection, and whether it was right."""


def judged_pairs(store: Store) -> Pairs:
    """What calibration goes by. Every version of a pattern counts: its confidence is the same formula.

    Confidences are taken to the hundredth, as they stay when the verdicts are gone: were they not, the curve
    would move on that day, and somebody's risk could rise without a reason.
    """
    out = settled_pairs(store.verdict_counts())
    verdicts = [verdict for verdict in store.verdicts() if verdict.detection is not None]
    about = {
        detection.id: detection
        for detection in store.detections(ids={item.detection for item in verdicts if item.detection})
    }
    for item, standing in sorted(standings(verdicts).items()):
        if item[1] in about and standing.verdict != "disputed":
            entry = about[item[1]]
            out.setdefault(entry.pattern, []).append(
                (hundredths(entry.confidence) / 100, standing.verdict == "confirmed")
            )
    return {pattern: sorted(pairs) for pattern, pairs in out.items()}


def settled_pairs(counts: Mapping[Slot, Counts]) -> Pairs:
    """The same of verdicts that are gone; their confidences are known to the hundredth."""
    out: Pairs = {}
    for slot, own in sorted(counts.items()):
        if slot.percent >= 0:
            pairs = [True] * own.confirmed + [False] * own.false_alarm
            out.setdefault(slot.pattern, []).extend((slot.percent / 100, true) for true in pairs)
    return out


def stored_calibrations(store: Store) -> dict[str, Calibration]:
    """A calibration for each pattern that has verdicts."""
    return by_pattern(judged_pairs(store))


@dataclass(frozen=True, slots=True)
class CalibrationRow(Record):
    """Detections of about the same confidence."""

    DECIMALS = decimals(6, "low", "high", "said", "share", "share_low", "share_high", "probability")

    count: Count
    right: Count
    low: Ratio
    high: Ratio
    said: Ratio
    share: Ratio
    share_low: Ratio
    share_high: Ratio
    probability: Ratio


@dataclass(frozen=True, slots=True)
class Calibrated(Record):
    """What the confidences of a pattern have meant: in groups, and as a curve."""

    RECORD = "calibration"
    JSON = "pattern verdicts sufficient brier distance rows curve"
    DECIMALS = decimals(6, "brier", "distance", "curve")

    pattern: Name
    calibration: Calibration
    reliability: Reliability
    minimum: int

    @property
    def is_sufficient(self) -> bool:
        """Whether there are enough verdicts to go by the table; few of them move the curve only a little."""
        return self.reliability.count >= self.minimum

    @property
    def verdicts(self) -> Count:
        """How many detections were judged."""
        return self.reliability.count

    @property
    def sufficient(self) -> bool:
        """Whether that is enough to go by the table."""
        return self.is_sufficient

    @property
    def brier(self) -> Ratio:
        """The mean squared error."""
        return self.reliability.brier

    @property
    def distance(self) -> Ratio:
        """The mean distance of confidence and share."""
        return self.reliability.distance

    @property
    def rows(self) -> list[CalibrationRow]:
        """Detections in groups of about the same confidence."""
        return [
            CalibrationRow(
                row.count,
                row.right,
                row.low,
                row.high,
                row.said,
                row.right / row.count,
                row.interval[0],
                row.interval[1],
                self.calibration(row.said),
            )
            for row in self.reliability.rows
        ]

    @property
    def curve(self) -> list[CurvePoint]:
        """Confidences and probabilities, with straight lines between."""
        return list(zip(self.calibration.confidences, self.calibration.probabilities, strict=True))


def calibrations(store: Store, pattern: str | None, settings: Settings) -> list[Calibrated]:
    """What confidences have meant, for one pattern or for all that have verdicts."""
    minimum, out = learning_in(settings)["accuracy_minimum"], []
    for name, pairs in sorted(judged_pairs(store).items()):
        found = reliability(pairs) if pattern is None or pattern in (name, base_pattern(name)) else None
        if found is not None:
            out.append(Calibrated(name, calibrated(pairs), found, minimum))
    return out


def with_probabilities(detections: Iterable[Detection], store: Store, settings: Settings) -> list[Detection]:
    """The detections, each with the probability that its confidence has meant; as they are where calibration
    is off in the settings, or nothing of its pattern was judged."""
    result = list(detections)
    table = stored_calibrations(store) if settings.calibration and result else {}
    return [
        replace(item, probability=round(probability(table, item), 6)) if item.pattern in table else item
        for item in result
    ]
