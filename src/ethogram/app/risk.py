"""Risk of the subjects of a store: what sweeps kept, weighed with what judges said of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from ..config import Settings
from ..config.settings import RISK
from ..errors import BadUsage, did_you_mean
from ..fields import RecordStruct
from ..models import EPOCH, Detection, Event, Risk
from ..models.detection import base_pattern
from ..models.mute import Mute
from ..patterns.catalogue import load_vocabulary
from ..patterns.library import load_patterns, multipliers_of
from ..patterns.pattern_file import PatternFile
from ..risk.assessment import Assessment, Recommendation, assess
from ..risk.scoring import (
    SHADOW,
    Composition,
    Known,
    Weighing,
    WhatIf,
    combined_of,
    compose,
    falls_with,
)
from ..store import open_store
from ..store.protocol import Store, Who
from .analyze import moment_of
from .mute import evidence_events, mutes
from .subject import find_subject

SETTLED = {"confirmed": 1, "false_alarm": -1}
"""Which way judges went, where their verdicts are gone."""


@dataclass(frozen=True, slots=True)
class SubjectRisk:
    """Where one subject stands, and the detections that count, by id."""

    source: str
    subject: str
    composition: Composition
    detections: Mapping[str, Detection]

    @property
    def value(self) -> float:
        """The risk, 0 to 1."""
        return self.composition.value

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: the risk and what it is made of."""
        return RiskRecord(
            risk=self.composition.risk(self.subject, source=self.source), composition=self.composition
        ).to_dict()


class RiskRecord(RecordStruct):
    """Where a subject stands, and which detections make that up."""

    RECORD = "risk"
    FLAT = ("risk", "composition")
    OMITTED = ("without", "recommendations")
    OPTIONAL = ("plain", "causes", "combinations", "floor")

    risk: Risk
    composition: Composition
    without: tuple[WhatIf, ...] | None = None
    """The risk without each detection and what stands on it; only where one subject was asked about."""
    recommendations: tuple[Recommendation, ...] | None = None
    """What to do; only where one subject was asked about."""


def risk_record(assessment: Assessment) -> RiskRecord:
    """The risk of one subject, with what it would be without each part, and what to do."""
    return RiskRecord(
        risk=assessment.composition.risk(assessment.subject, assessment.thread, assessment.source),
        composition=assessment.composition,
        without=assessment.without,
        recommendations=assessment.recommendations,
    )


@dataclass(frozen=True, slots=True)
class Muted:
    """What need not be told, and the moment at which it is asked for."""

    entries: tuple[Mute, ...] = ()
    now: datetime = EPOCH


def subject_risk(
    store: Store | str | Path,
    subject: str,
    *,
    source: str | None = None,
    as_of: datetime | str | None = None,
    settings: Settings | None = None,
    without: Sequence[str] = (),
    muted: Muted | None = None,
) -> Assessment:
    """Where one subject of a store stands: its risk, what it is made of, and what to do.

    `as_of` is the newest moment that the store knows of, where none is given. `without` are ids of detections
    that are left out, with all that stands on them.
    """
    settings = settings or Settings()
    with opened(store) as item:
        row = find_subject(item, subject, source)
        at = moment_of(as_of) or newest(item)
        files = every_file(settings)
        kept = (d for d in item.detections(subjects=[row.who], parts=False) if is_on(d, files, settings))
        found = list(_told(item, list(kept), muted or Muted()))
        return assess(
            left_out(found, without),
            as_of=at,
            weighing=weighing_of(settings, files),
            known=known_in(item, settings),
            source=row.source,
            subject=row.name,
        )


def subject_risks(
    store: Store | str | Path,
    *,
    source: str | None = None,
    as_of: datetime | str | None = None,
    settings: Settings | None = None,
    muted: Muted | None = None,
) -> list[SubjectRisk]:
    """Where every subject stands of whom a detection counts, the highest risk first."""
    settings = settings or Settings()
    with opened(store) as item:
        at = moment_of(as_of) or newest(item)
        files = every_file(settings)
        every = item.detections(sources=None if source is None else [source], parts=False)
        saved = [d for d in every if is_on(d, files, settings)]
        by: dict[Who, list[Detection]] = {}
        for found in _told(item, saved, muted or Muted()):
            by.setdefault((found.source, found.subject), []).append(found)
        weighing, known = weighing_of(settings, files), known_in(item, settings)
    ranked = []
    for (where, name), own in by.items():
        whole = compose(own, as_of=at, weighing=weighing, known=known)
        if whole.detections:
            counts = set(whole.detections)
            ranked.append(SubjectRisk(where, name, whole, {d.id: d for d in own if d.id in counts}))
    return sorted(ranked, key=lambda item: (-item.value, item.source, item.subject))


def weighing_of(settings: Settings, files: Mapping[str, PatternFile] | None = None) -> Weighing:
    """The numbers of the settings; what combinations multiply by is what their files say, or the settings.

    `files` are the patterns that may have been found; without them, all there are.
    """
    files = every_file(settings) if files is None else files
    told = {**RISK, **settings.risk}
    told["weights"] = {**RISK["weights"], **told["weights"]}
    told["multipliers"] = {**multipliers_of(files), **told["multipliers"]}
    try:
        return Weighing(**told)
    except (ValueError, TypeError) as error:
        raise BadUsage(f"settings.risk: {error}") from None


def every_file(settings: Settings) -> Mapping[str, PatternFile]:
    """Every pattern there is, with the status that the settings give it."""
    vocabulary = load_vocabulary(settings.signals)
    return load_patterns(
        more=settings.patterns, vocabulary=vocabulary, status=settings.status, any_status=True
    ).files


def is_on(detection: Detection, files: Mapping[str, PatternFile], settings: Settings) -> bool:
    """Whether the pattern of a detection still counts: not once it is retired or a shadow pattern.

    What was found by a pattern whose file is gone counts as it was found.
    """
    if detection.parts and not settings.combination_detection:
        return False
    file = files.get(base_pattern(detection.pattern))
    return file is None or file.status not in SHADOW


def known_in(store: Store, settings: Settings) -> Known:
    """What a store knows beside detections: verdicts, sources without times, what confidences stand for."""
    untimed = frozenset(source.name for source in store.sources().values() if not source.timed)
    verdicts = tuple(store.verdicts())
    settled = {name: SETTLED.get(verdict, 0) for name, verdict in store.settled_verdicts().items()}
    if not settings.calibration or not store.has_verdicts():
        return Known(verdicts, untimed, None, settled)
    from ..risk.calibration import probability
    from .accuracy import stored_calibrations

    return Known(verdicts, untimed, partial(probability, stored_calibrations(store)), settled)


def newest(store: Store) -> datetime:
    """The newest moment that a store knows of: its last event or the last sweep."""
    last = store.last_sweep()
    return max(
        [*(subject.last_at for subject in store.subjects()), *([] if last is None else [last])], default=EPOCH
    )


def left_out(detections: Sequence[Detection], without: Iterable[str]) -> list[Detection]:
    """The detections, less these and all that stands on them; BadUsage where one of them is not there."""
    ids, stands = [item.id for item in detections], combined_of(detections)
    gone: set[str] = set()
    for name in without:
        if name not in ids:
            known = did_you_mean(name, ids) or (
                f"; there are {', '.join(ids[:5])}" if ids else "; there is none"
            )
            raise BadUsage(f"no detection {name!r:.60} of this subject{known}")
        gone |= falls_with(name, stands)
    return [item for item in detections if item.id not in gone]


@contextmanager
def opened(store: Store | str | Path) -> Iterator[Store]:
    """The store itself, or the one at a path or URL for as long as it is needed."""
    if not isinstance(store, str | Path):
        yield store
        return
    with open_store(str(store)) as item:
        yield item


def _told(store: Store, detections: Sequence[Detection], muted: Muted) -> Iterator[Detection]:
    """The detections that nobody muted."""
    active = [entry for entry in muted.entries if not entry.is_expired(muted.now)]
    events: Mapping[tuple[str, str], Event] = {}
    if detections and any({"path", "command"} & item.asks.keys() for item in active):
        events = evidence_events(
            detections, store.events({(item.source, item.subject) for item in detections})
        )
    for item in detections:
        if not any(mutes(entry, item, events) for entry in active):
            yield item
