"""Risk of the subjects of a store: saved detections weighed with the verdicts on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from ...config import Settings
from ...config.settings import RISK
from ...errors import BadUsage, did_you_mean
from ...fields import RecordStruct
from ...models import EPOCH, Detection, Risk
from ...models.detection import base_pattern
from ...models.mute import Mute
from ...patterns.library import multipliers_of
from ...patterns.pattern_file import PatternFile
from ...risk.assessment import Assessment, Recommendation, assess
from ...risk.scoring import (
    SHADOW,
    Composition,
    RiskContext,
    RiskWeights,
    WhatIf,
    combinations_by_part,
    compose,
    with_dependents,
)
from ...store import open_store
from ...store.records import Store, Who
from ..analyze import moment_of, overlaid_patterns
from ..stored_events import mutes_in
from ..subject import find_subject

SETTLED = {"confirmed": 1, "false_alarm": -1}
"""Outcome of verdicts that were removed -> balance of the judges."""


@dataclass(frozen=True, slots=True)
class SubjectRisk:
    """The risk of one subject, and the detections that count by id."""

    source: str
    subject: str
    composition: Composition
    detections: Mapping[str, Detection]

    @property
    def value(self) -> float:
        return self.composition.value

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: the risk and its contributions."""
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
    """The risk of one subject, with the risk without each detection, and what to do."""
    return RiskRecord(
        risk=assessment.composition.risk(assessment.subject, assessment.thread, assessment.source),
        composition=assessment.composition,
        without=assessment.without,
        recommendations=assessment.recommendations,
    )


@dataclass(frozen=True, slots=True)
class Muted:
    """Mutes, and the time at which they apply."""

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
    """The assessment of one subject of a store: its risk, contributions and recommendations.

    `as_of` defaults to the newest moment in the store. `without` are ids of detections to leave out, with
    the combinations that depend on them.
    """
    settings = settings or Settings()
    with opened(store) as item:
        row = find_subject(item, subject, source)
        at, files = moment_of(as_of) or newest(item), pattern_files(settings)
        detections = _counting(item, {"subjects": [row.who]}, settings, files, muted)
        return assess(
            _leave_out(detections, without),
            as_of=at,
            weights=risk_weights(settings, files),
            context=_context(item, settings),
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
    """The risk of every subject with a detection that counts, the highest first."""
    settings = settings or Settings()
    with opened(store) as item:
        at, files = moment_of(as_of) or newest(item), pattern_files(settings)
        by_subject: dict[Who, list[Detection]] = {}
        only = {"sources": None if source is None else [source]}
        for detection in _counting(item, only, settings, files, muted):
            by_subject.setdefault((detection.source, detection.subject), []).append(detection)
        weights, context = risk_weights(settings, files), _context(item, settings)
    risks = []
    for (where, name), own in by_subject.items():
        composition = compose(own, as_of=at, weights=weights, context=context)
        if composition.detections:
            counted = {d.id: d for d in own if d.id in set(composition.detections)}
            risks.append(SubjectRisk(where, name, composition, counted))
    return sorted(risks, key=lambda risk: (-risk.value, risk.source, risk.subject))


def risk_weights(settings: Settings, files: Mapping[str, PatternFile] | None = None) -> RiskWeights:
    """The weights of the settings; multipliers of combinations come from their files unless set.

    `files` are the patterns that may have fired, all of them by default.
    """
    files = pattern_files(settings) if files is None else files
    values = {**RISK, **settings.risk}
    values["weights"] = {**RISK["weights"], **values["weights"]}
    values["multipliers"] = {**multipliers_of(files), **values["multipliers"]}
    try:
        return RiskWeights(**values)
    except (ValueError, TypeError) as error:
        raise BadUsage(f"settings.risk: {error}") from None


def pattern_files(settings: Settings) -> Mapping[str, PatternFile]:
    """Every pattern, with its status in the settings."""
    return overlaid_patterns(settings, parameters={}, any_status=True).files


def newest(store: Store) -> datetime:
    """The time of the last event or the last sweep of a store."""
    rows = (*store.subjects(), *store.detected_subjects())
    times = [*(subject.last_at for subject in rows), store.last_sweep()]
    return max((time for time in times if time is not None), default=EPOCH)


@contextmanager
def opened(store: Store | str | Path) -> Iterator[Store]:
    """The store itself, or the one at a path or URL, closed afterwards."""
    if not isinstance(store, str | Path):
        yield store
        return
    with open_store(str(store)) as item:
        yield item


def _counting(
    store: Store,
    only: Mapping[str, Any],
    settings: Settings,
    files: Mapping[str, PatternFile],
    muted: Muted | None,
) -> list[Detection]:
    """Saved detections that are not muted and whose pattern is on; a pattern whose file is gone counts."""

    def is_on(detection: Detection) -> bool:
        if detection.parts and not settings.combination_detection:
            return False
        file = files.get(base_pattern(detection.pattern))
        return file is None or file.status not in SHADOW

    detections = [item for item in store.detections(**only, parts=False) if is_on(item)]
    muted = muted or Muted()
    muting = mutes_in(muted.entries, detections, store, muted.now)
    return [item for item in detections if muting(item) is None]


def _context(store: Store, settings: Settings) -> RiskContext:
    """Verdicts, sources without times and calibrations of a store."""
    calibrate = None
    if settings.calibration and store.has_verdicts():
        from ...risk.calibration import probability  # NumPy
        from .accuracy import stored_calibrations

        calibrate = partial(probability, stored_calibrations(store))
    return RiskContext(
        verdicts=tuple(store.verdicts()),
        untimed=frozenset(source.name for source in store.sources().values() if not source.timed),
        calibrate=calibrate,
        settled={name: SETTLED.get(verdict, 0) for name, verdict in store.settled_verdicts().items()},
    )


def _leave_out(detections: Sequence[Detection], without: Iterable[str]) -> list[Detection]:
    """The detections without some and the combinations that depend on them."""
    ids, combinations = [item.id for item in detections], combinations_by_part(detections)
    removed: set[str] = set()
    for name in without:
        if name not in ids:
            known = f"expected one of {', '.join(ids[:5])}" if ids else "it has no detections"
            raise BadUsage(
                f"no detection {name!r:.60} of this subject{did_you_mean(name, ids) or f'; {known}'}"
            )
        removed |= with_dependents(name, combinations)
    return [item for item in detections if item.id not in removed]
