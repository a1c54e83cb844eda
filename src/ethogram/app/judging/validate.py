"""Validate patterns on labelled data: how well they separate targets from the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from ...fields import Count, Name, RecordStruct, SeverityOrAny, one_of
from ...models import Detection, rank
from ...models.record import decimals
from ...risk.discrimination import (
    FALSE_ALARM_RATES,
    Baseline,
    DurationSummary,
    Estimate,
    Rate,
    ScoredItem,
    discrimination,
    lead_time,
    recall_at_rate,
    recovery_time,
)
from ...risk.versions import VersionComparison, compare_versions
from .labelled_items import (
    SHOWN,
    LabelledItem,
    LabelledItems,
    detections_by_label,
    timeline_of,
)
from .labels import OF

ANY = "any"
"""All patterns together, any severity, or all splits."""
Records = Iterator[dict[str, Any]]
Marks = Mapping[str, Sequence[Detection]]
"""Detections about each item by its id; items without any are left out."""
Baselines = Mapping[str, Mapping[str, float]]


class Figures(RecordStruct):
    """How well a pattern tells targets from the rest."""

    DECIMALS = decimals(4, "lift")

    of: list[Annotated[str, one_of(*OF)]]
    things: Count
    targets: Count
    groups: Count
    marked: Count
    precision: Rate
    recall: Rate
    false_alarms: Rate
    auroc: Estimate | None
    recall_at_1: Estimate | None
    recall_at_5: Estimate | None
    lift: float | None
    """Precision over the share of targets."""
    trivial: tuple[Baseline, ...]
    """What event count, text length, position or marking everything achieves alone."""
    horizon: DurationSummary
    """Events from the first detection to the target."""
    recovery: DurationSummary
    """Events from the end of the target to the end of the detection."""


class LabelledRecord(RecordStruct):
    """How well a pattern tells targets from the rest in labelled data."""

    RECORD = "labelled"
    FLAT = ("figures",)

    set: Name
    pattern: Name
    """any: all of them together."""
    version: str | None
    severity: SeverityOrAny
    split: str
    """any: all together."""
    figures: Figures


class LabelledCompared(RecordStruct):
    """How two versions differ on the same labelled things: new less old."""

    RECORD = "labelled_compared"
    FLAT = ("comparison",)

    set: Name
    split: str
    """any: all together."""
    severity: SeverityOrAny
    things: Count
    comparison: VersionComparison


class LabelledSummary(RecordStruct):
    """Which labels figures are about: the last line."""

    RECORD = "labelled_summary"

    set: Name
    labels: Count
    things: Count
    targets: Count
    not_found: Count
    """Labels about nothing in the events, left out."""
    not_found_first: Sequence[str]
    patterns: list[Name]
    severity: SeverityOrAny
    data: str
    """A digest of the files."""


def validate_labelled(
    name: str,
    labelled: LabelledItems,
    detections: Sequence[Detection],
    patterns: Iterable[str],
    severity: str = ANY,
) -> Records:
    """Records for each pattern and for all together, in each split of a set.

    A label that names a pattern counts for that pattern and, with what it marks, for all together.
    """
    names = sorted(set(patterns))
    items = _checked_items(labelled.items, names)
    detections = _at_severity(detections, severity)
    versions = {item.pattern: item.version for item in detections}
    # Once for all patterns and splits: these go through every event.
    marks, baselines = (
        detections_by_label(items, detections),
        {item.label.id: item.baselines for item in items},
    )
    nearby = detections_by_label([item for item in items if item.label.target], detections, anywhere=True)
    for split in _splits(items):
        for pattern in (ANY, *names):
            own = [item for item in _in_split(items, split) if pattern == ANY or item.is_about(pattern)]
            if own:
                own_marks, own_nearby = (_of_pattern(own, every, pattern) for every in (marks, nearby))
                yield LabelledRecord(
                    set=name,
                    pattern=pattern,
                    version=versions.get(pattern),
                    severity=severity,
                    split=split,
                    figures=_figures(own, own_marks, own_nearby, baselines),
                ).to_dict()


def compare_labelled(
    name: str,
    labelled: LabelledItems,
    old: Sequence[Detection],
    new: Sequence[Detection],
    severity: str = ANY,
    names: tuple[Collection[str], Collection[str]] | None = None,
) -> Records:
    """Records that compare what two selections of patterns mark, in each split of a set.

    `names` are the patterns of the old and the new selection. Labels that name a pattern of neither are left
    out; a selection without the pattern that a label names stands for it, as it may be another version.
    """
    names = names or ({item.pattern for item in old}, {item.pattern for item in new})
    items = _checked_items(labelled.items, [*names[0], *names[1]])
    marks = []
    for detections, patterns in zip((old, new), names, strict=True):
        every = detections_by_label(items, _at_severity(detections, severity))
        others = [item.label.id for item in items if not any(map(item.is_about, patterns))]
        loose = {label: every[label] for label in others if label in every}
        marks.append({**_of_pattern(items, every, ANY), **loose})
    for split in _splits(items):
        own = _in_split(items, split)
        comparison = compare_versions(*(_scored(own, every, {}) for every in marks))
        yield LabelledCompared(
            set=name, split=split, severity=severity, things=len(own), comparison=comparison
        ).to_dict()


def summary(
    name: str, labelled: LabelledItems, patterns: Iterable[str], severity: str, data: str
) -> dict[str, Any]:
    """The record of what was looked at."""
    items, not_found = labelled.items, labelled.not_found
    return LabelledSummary(
        set=name,
        labels=len(items) + len(not_found),
        things=len(items),
        targets=sum(item.label.target for item in items),
        not_found=len(not_found),
        not_found_first=not_found[:SHOWN],
        patterns=sorted(set(patterns)),
        severity=severity,
        data=data,
    ).to_dict()


def _at_severity(detections: Iterable[Detection], severity: str) -> list[Detection]:
    return [item for item in detections if severity == ANY or rank(item.severity) >= rank(severity)]


def _splits(items: Iterable[LabelledItem]) -> list[str]:
    """All together, then each named split; a single one is all there is."""
    named = sorted({item.label.split for item in items})
    return named if len(named) == 1 and named[0] else [ANY, *(name for name in named if name)]


def _in_split(items: Iterable[LabelledItem], split: str) -> list[LabelledItem]:
    return [item for item in items if split in (ANY, item.label.split)]


def _checked_items(items: Sequence[LabelledItem], patterns: Sequence[str]) -> Sequence[LabelledItem]:
    """Items without those whose label names a pattern that was not looked for: nothing can mark them."""
    return [item for item in items if any(map(item.is_about, patterns))] if patterns else items


def _of_pattern(items: Iterable[LabelledItem], marks: Marks, pattern: str) -> Marks:
    """The marks of one pattern; for `any`, of whatever pattern a label is about."""
    own = {
        item.label.id: [
            detection
            for detection in marks.get(item.label.id, ())
            if (item.is_about(detection.pattern) if pattern == ANY else detection.pattern == pattern)
        ]
        for item in items
    }
    return {name: detections for name, detections in own.items() if detections}


def _scored(items: Iterable[LabelledItem], marks: Marks, baselines: Baselines) -> list[ScoredItem]:
    return [
        ScoredItem(
            item.label.id,
            item.label.target,
            item.label.id in marks,
            max((detection.confidence for detection in marks.get(item.label.id, ())), default=0.0),
            item.group,
            baselines.get(item.label.id, {}),
        )
        for item in items
    ]


def _figures(items: Sequence[LabelledItem], marks: Marks, nearby: Marks, baselines: Baselines) -> Figures:
    """The figures of some items; `nearby` are the detections in the history of each target."""
    scored = _scored(items, marks, baselines)
    result = discrimination(scored)
    targets = [item for item in items if item.label.target]
    timelines = [timeline_of(item, nearby.get(item.label.id, ())) for item in targets]
    known = [timeline for timeline in timelines if timeline is not None]
    return Figures(
        of=sorted({item.label.of for item in items}),
        things=result.items,
        targets=result.targets,
        groups=len({item.cluster for item in scored}),
        marked=result.precision.of,
        precision=result.precision,
        recall=result.recall,
        false_alarms=result.false_alarms,
        auroc=result.area,
        **{name: recall_at_rate(scored, share) for name, share in FALSE_ALARM_RATES.items()},
        lift=result.lift,
        trivial=result.baselines,
        horizon=lead_time(known),
        recovery=recovery_time(known),
    )
