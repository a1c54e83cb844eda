"""Accuracy, agreement and calibration from the verdicts of a store, including those removed since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ...config import Settings
from ...config.settings import learning_in
from ...errors import BadUsage, did_you_mean
from ...fields import Count, RecordStruct
from ...models import Detection
from ...models.detection import STANDING, base_pattern
from ...risk.accuracy import Accuracy, Agreement, Kappa, accuracy, agreement, second_look
from ...risk.calibration import Calibration, Reliability, calibrate, probability, reliability
from ...risk.verdicts import Counts, consensus_by_item, count_verdicts, to_percent
from ...store.records import Store
from .risk import pattern_files


def _matches(name: str, pattern: str | None) -> bool:
    """Whether a program is the pattern, or comes from its file."""
    return pattern is None or pattern in (name, base_pattern(name))


def accuracies(
    store: Store, pattern: str | None = None, *, minimum: int, silences: int = 0
) -> list[Accuracy]:
    """The accuracy of each version of a pattern, or of all patterns.

    `silences` is the number of stretches without a detection that the judged ones were drawn from at random;
    BadUsage where more were judged.
    """
    verdicts = store.verdicts()
    judged = {item.detection for item in verdicts if item.detection is not None}
    untimed = {source.name for source in store.sources().values() if not source.timed}
    counts = store.verdict_counts()
    new = count_verdicts(verdicts, store.detections(ids=judged), ends=store.silence_ends(), untimed=untimed)
    for slot, count in new.items():
        counts[slot] = counts.get(slot, Counts()) + count
    names = sorted({slot.pattern for slot in counts if _matches(slot.pattern, pattern)})
    judged |= store.settled_verdicts().keys()
    unjudged = Counter(
        (item.pattern, item.version)
        for item in store.detections(patterns=names, states=STANDING)
        if item.id not in judged
    )
    results = [
        item
        for name in names
        for item in accuracy(counts, name, minimum=minimum, unjudged=unjudged, silences=silences)
    ]
    for item in results:
        judged_silences = item.whole.counts.missed + item.whole.counts.correct_silence
        if 0 < silences < judged_silences:
            raise BadUsage(
                f"{judged_silences} silences of {item.pattern} were judged, more than the {silences} given: "
                "expected how many there were in all"
            )
    return results


def check_pattern(store: Store, pattern: str, settings: Settings) -> None:
    """BadUsage where the library, the detections and the verdicts have no pattern of that name."""
    names = {slot.pattern for slot in store.verdict_counts()} | {item.pattern for item in store.verdicts()}
    known = names | {base_pattern(name) for name in names}
    if pattern in known or store.detections(patterns=[pattern]):
        return
    files = pattern_files(settings)
    if base_pattern(pattern) not in files:
        raise BadUsage(f"there is no pattern {pattern!r:.60}{did_you_mean(pattern, {*files, *known})}")


def judge_agreement(store: Store, pattern: str | None = None, *, blind: bool = False) -> Agreement:
    """How far judges agree; `blind`: only the first judge of a detection, and later ones who judged blind."""
    verdicts = [item for item in store.verdicts() if _matches(item.pattern, pattern)]
    if blind:
        first: dict[str | None, str] = {}
        for item in verdicts:
            first.setdefault(item.detection, item.by)
        verdicts = [item for item in verdicts if item.blind or first[item.detection] == item.by]
    return agreement(verdicts)


def second_judge_queue(store: Store, judge: str, settings: Settings) -> list[Detection]:
    """Detections that a second judge should judge too, in an order that does not reveal the verdicts."""
    ids = second_look(store.verdicts(), judge, share=learning_in(settings)["second_look"])
    by_id = {detection.id: detection for detection in store.detections(ids=ids)}
    return [by_id[item] for item in ids if item in by_id]


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


def _judged_pairs(store: Store) -> dict[str, list[tuple[float, bool]]]:
    """For each pattern the confidences of judged detections, and whether they were right; of all versions.

    Confidences are rounded to percent, as they are saved when verdicts are removed: otherwise the calibration
    would change on that day.
    """
    pairs: dict[str, list[tuple[float, bool]]] = {}
    for slot, count in store.verdict_counts().items():
        if slot.percent >= 0:
            truths = [True] * count.confirmed + [False] * count.false_alarm
            pairs.setdefault(slot.pattern, []).extend((slot.percent / 100, truth) for truth in truths)
    verdicts = [verdict for verdict in store.verdicts() if verdict.detection is not None]
    ids = {verdict.detection for verdict in verdicts if verdict.detection is not None}
    by_id = {detection.id: detection for detection in store.detections(ids=ids)}
    for item, consensus in consensus_by_item(verdicts).items():
        if item[1] in by_id and consensus.verdict != "disputed":
            detection = by_id[item[1]]
            pair = (to_percent(detection.confidence) / 100, consensus.verdict == "confirmed")
            pairs.setdefault(detection.pattern, []).append(pair)
    return {pattern: sorted(own) for pattern, own in sorted(pairs.items()) if own}


def stored_calibrations(store: Store) -> dict[str, Calibration]:
    """A calibration for each pattern with verdicts."""
    return {pattern: calibrate(pairs) for pattern, pairs in _judged_pairs(store).items()}


def calibrations(store: Store, pattern: str | None, settings: Settings) -> list[Reliability]:
    """The calibration of one pattern, or of all with verdicts."""
    minimum = learning_in(settings)["accuracy_minimum"]
    return [
        reliability(pairs, name, minimum)
        for name, pairs in _judged_pairs(store).items()
        if _matches(name, pattern)
    ]


def with_probabilities(detections: Iterable[Detection], store: Store, settings: Settings) -> list[Detection]:
    """The detections with calibrated probabilities, where calibration is on and the pattern has verdicts."""
    detections = list(detections)
    table = stored_calibrations(store) if settings.calibration and detections else {}
    return [
        replace(item, probability=round(probability(table, item), 6)) if item.pattern in table else item
        for item in detections
    ]
