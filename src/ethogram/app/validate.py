"""Validate patterns on labelled data: how well they separate targets from the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..models import Detection, rank
from ..risk.discrimination import (
    FALSE_ALARM_RATES,
    Difference,
    DurationSummary,
    Rate,
    ScoredItem,
    discrimination,
    lead_time,
    recall_at_rate,
    recovery_time,
)
from ..risk.versions import compare_versions
from .labelled_items import (
    SHOWN,
    LabelledItem,
    LabelledItems,
    detections_by_label,
    timeline_of,
)

ANY = "any"
"""All patterns together, any severity, or all splits."""
Records = Iterator[dict[str, Any]]
Marks = Mapping[str, Sequence[Detection]]
"""Detections about each item by its id; items without any are left out."""
Baselines = Mapping[str, Mapping[str, float]]


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
                yield {
                    "record": "labelled",
                    "set": name,
                    "pattern": pattern,
                    "version": versions.get(pattern),
                    "severity": severity,
                    "split": split,
                    **_figures(own, own_marks, own_nearby, baselines),
                }


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
        result = compare_versions(*(_scored(own, every, {}) for every in marks))
        yield {
            "record": "labelled_compared",
            "set": name,
            "split": split,
            "severity": severity,
            "things": len(own),
            "better": result.better,
            "worse": result.worse,
            "p": _rounded(result.p, 6),
            "precision": _difference(result.precision),
            "recall": _difference(result.recall),
            "false_alarms": _difference(result.false_alarms),
            "auroc": _difference(result.area),
        }


def summary(
    name: str, labelled: LabelledItems, patterns: Iterable[str], severity: str, data: str
) -> dict[str, Any]:
    """The record of what was looked at."""
    items, not_found = labelled.items, labelled.not_found
    return {
        "record": "labelled_summary",
        "set": name,
        "labels": len(items) + len(not_found),
        "things": len(items),
        "targets": sum(item.label.target for item in items),
        "not_found": len(not_found),
        "not_found_first": list(not_found[:SHOWN]),
        "patterns": sorted(set(patterns)),
        "severity": severity,
        "data": data,
    }


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


def _figures(
    items: Sequence[LabelledItem], marks: Marks, nearby: Marks, baselines: Baselines
) -> dict[str, Any]:
    """The figures of some items; `nearby` are the detections in the history of each target."""
    scored = _scored(items, marks, baselines)
    result = discrimination(scored)
    targets = [item for item in items if item.label.target]
    timelines = [timeline_of(item, nearby.get(item.label.id, ())) for item in targets]
    known = [timeline for timeline in timelines if timeline is not None]
    recalls = {name: recall_at_rate(scored, share) for name, share in FALSE_ALARM_RATES.items()}
    return {
        "of": sorted({item.label.of for item in items}),
        "things": result.items,
        "targets": result.targets,
        "groups": len({item.cluster for item in scored}),
        "marked": result.precision.of,
        "precision": _rate(result.precision),
        "recall": _rate(result.recall),
        "false_alarms": _rate(result.false_alarms),
        "auroc": None if result.area is None else _estimate(result.area.value, result.area.interval),
        **{name: None if r is None else _estimate(r.value, r.interval) for name, r in recalls.items()},
        "lift": _rounded(result.lift),
        "trivial": [
            {"name": item.name, "auroc": _rounded(item.area), "precision": _rounded(item.precision)}
            for item in result.baselines
        ],
        "horizon": _durations(lead_time(known)),
        "recovery": _durations(recovery_time(known)),
    }


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def _estimate(value: float | None, interval: tuple[float, float]) -> dict[str, float | None]:
    return {"value": _rounded(value), "low": _rounded(interval[0]), "high": _rounded(interval[1])}


def _rate(rate: Rate) -> dict[str, Any]:
    return {"hits": rate.hits, "of": rate.of, **_estimate(rate.value, rate.interval)}


def _difference(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {**_estimate(difference.value, difference.interval), "p": _rounded(difference.p, 6)}


def _durations(summary: DurationSummary) -> dict[str, Any]:
    low, high = summary.quartiles or (None, None)
    counts = {"of": summary.of, "count": summary.count, "left_out": summary.left_out}
    return {**counts, "median": summary.median, "quartile_low": low, "quartile_high": high}
