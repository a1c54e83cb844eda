"""Validating on any labelled data: how well patterns tell targets from the rest, beside trivial answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from ..fields import Count, Name, Ratio, RecordStruct, SeverityOrAny, one_of
from ..models import Detection, rank
from ..models.record import decimals
from ..risk.discrimination import (
    SHARES,
    Difference,
    Labelled,
    Rate,
    Times,
    horizon,
    recall_within,
    recovery,
    score,
)
from ..risk.versions import compare
from .labels import FIRST, OF, Thing, Things, beside, course, marks

ANY = "any"
"""Stands for all patterns together, for every severity, and for all splits."""
Records = Iterator[dict[str, Any]]
Found = Mapping[str, Sequence[Detection]]
"""Detections about each thing, by its id; things without any are left out."""


class Estimate(RecordStruct):
    """A share with its interval of 95 %."""

    DECIMALS = decimals(4, "value", "low", "high")

    value: Ratio | None
    low: Ratio
    high: Ratio


class RateEstimate(RecordStruct):
    """A share of counted things with its interval of 95 %."""

    DECIMALS = decimals(4, "value", "low", "high")

    hits: Count
    of: Count
    value: Ratio | None
    low: Ratio
    high: Ratio


class DifferenceEstimate(RecordStruct):
    """New less old, with its interval of 95 % and the chance of it by luck."""

    DECIMALS = decimals(4, "value", "low", "high") | decimals(6, "p")

    value: float
    low: float
    high: float
    p: Ratio


class TrivialAnswer(RecordStruct):
    """What a trivial answer reaches on the same things."""

    DECIMALS = decimals(4, "auroc", "precision")

    name: Name
    auroc: Ratio
    precision: Ratio | None


class EventCounts(RecordStruct):
    """In how many histories something happened, and quartiles of after how many events."""

    of: Count
    count: Count
    left_out: Count
    median: float | None
    quartile_low: float | None
    quartile_high: float | None


class Figures(RecordStruct):
    """How well a pattern tells targets from the rest."""

    DECIMALS = decimals(4, "lift")

    of: list[Annotated[str, one_of(*OF)]]
    things: Count
    targets: Count
    groups: Count
    marked: Count
    precision: RateEstimate
    recall: RateEstimate
    false_alarms: RateEstimate
    auroc: Estimate | None
    recall_at_1: Estimate | None
    recall_at_5: Estimate | None
    lift: float | None
    """Precision over the share of targets."""
    trivial: list[TrivialAnswer]
    horizon: EventCounts
    """Events from the first detection to the target."""
    recovery: EventCounts
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
    DECIMALS = decimals(6, "p")

    set: Name
    split: str
    """any: all together."""
    severity: SeverityOrAny
    things: Count
    better: Count
    """Things on which only the new version is right."""
    worse: Count
    p: Ratio
    """McNemar's exact test of the two, by groups."""
    precision: DifferenceEstimate | None
    recall: DifferenceEstimate | None
    false_alarms: DifferenceEstimate | None
    auroc: DifferenceEstimate | None


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
    name: str, record: Things, detections: Sequence[Detection], patterns: Iterable[str], severity: str = ANY
) -> Records:
    """Records about what patterns mark in a set: each pattern in each split, and all of them together.

    A label that names a pattern counts for that one and, with what that one marks, for all together.
    """
    names = sorted(set(patterns))
    record = _looked_for(record, names)
    loud = at_severity(detections, severity)
    versions = {item.pattern: item.version for item in loud}
    # Once for all patterns and splits: both go through every event.
    found, trivial = marks(record.things, loud), {thing.label.id: thing.trivial for thing in record.things}
    near = beside([thing for thing in record.things if thing.label.target], loud)
    for split in splits(record.things):
        things = in_split(record.things, split)
        for pattern in (ANY, *names):
            own = about(things, pattern)
            if own:
                marked, around = (of_pattern(own, every, pattern) for every in (found, near))
                yield LabelledRecord(
                    set=name,
                    pattern=pattern,
                    version=versions.get(pattern),
                    severity=severity,
                    split=split,
                    figures=told_of(own, marked, around, trivial),
                ).to_dict()


def compared(
    name: str,
    record: Things,
    old: Sequence[Detection],
    new: Sequence[Detection],
    severity: str = ANY,
    names: tuple[Collection[str], Collection[str]] | None = None,
) -> Records:
    """Records about how what one selection marks differs from what another does, split by split.

    `names` are the patterns of the old and of the new one. A label that names a pattern of neither is left
    out; a selection without the pattern that a label names stands for it, since it may be another version.
    """
    chosen = names or ({item.pattern for item in old}, {item.pattern for item in new})
    own = _looked_for(record, [item for every in chosen for item in every]).things
    marked = [
        _named(own, marks(own, at_severity(item, severity)), every)
        for item, every in zip((old, new), chosen, strict=True)
    ]
    for split in splits(own):
        things = in_split(own, split)
        found = compare(*(labelled(things, item, {}) for item in marked))
        yield LabelledCompared(
            set=name,
            split=split,
            severity=severity,
            things=len(things),
            better=found.better,
            worse=found.worse,
            p=found.p,
            precision=_difference(found.precision),
            recall=_difference(found.recall),
            false_alarms=_difference(found.false_alarms),
            auroc=_difference(found.area),
        ).to_dict()


def summary(name: str, things: Things, patterns: Iterable[str], severity: str, data: str) -> dict[str, Any]:
    """What was looked at."""
    return LabelledSummary(
        set=name,
        labels=len(things.things) + len(things.not_found),
        things=len(things.things),
        targets=sum(thing.label.target for thing in things.things),
        not_found=len(things.not_found),
        not_found_first=things.not_found[:FIRST],
        patterns=sorted(set(patterns)),
        severity=severity,
        data=data,
    ).to_dict()


def at_severity(detections: Iterable[Detection], severity: str) -> list[Detection]:
    """The detections at this severity or above; all of them for `any`."""
    return [
        detection for detection in detections if severity == ANY or rank(detection.severity) >= rank(severity)
    ]


def splits(things: Iterable[Thing]) -> list[str]:
    """All together, then each split by name where the labels tell any; a single one is all there is."""
    named = sorted({thing.label.split for thing in things})
    return named if len(named) == 1 and named[0] else [ANY, *(item for item in named if item)]


def in_split(things: Sequence[Thing], split: str) -> list[Thing]:
    """The things of a split."""
    return [thing for thing in things if split in (ANY, thing.label.split)]


def _looked_for(things: Things, patterns: Sequence[str]) -> Things:
    """The things without those whose labels name a pattern that nobody looked for: nothing can mark them."""
    own = (thing for thing in things.things if any(thing.is_about(name) for name in patterns))
    return Things(tuple(own), things.not_found) if patterns else things


def about(things: Sequence[Thing], pattern: str) -> list[Thing]:
    """The things whose labels count for a pattern."""
    return [thing for thing in things if pattern == ANY or thing.is_about(pattern)]


def of_pattern(things: Sequence[Thing], result: Found, pattern: str) -> Found:
    """What is found about things of one pattern alone; for `any`, of whatever pattern a label is about."""
    own = {
        thing.label.id: [
            item
            for item in result.get(thing.label.id, ())
            if (thing.is_about(item.pattern) if pattern == ANY else item.pattern == pattern)
        ]
        for thing in things
    }
    return {name: every for name, every in own.items() if every}


def _named(things: Sequence[Thing], result: Found, names: Collection[str]) -> Found:
    """What marks things, of the pattern that a label names where these have it."""
    loose = [thing for thing in things if not any(thing.is_about(name) for name in names)]
    return {
        **of_pattern(things, result, ANY),
        **{item.label.id: result[item.label.id] for item in loose if item.label.id in result},
    }


def labelled(
    things: Sequence[Thing], result: Found, trivial: Mapping[str, Mapping[str, float]]
) -> list[Labelled]:
    """The things, with whether and how strongly each is marked."""
    return [
        Labelled(
            thing.label.id,
            thing.label.target,
            thing.label.id in result,
            max((each.confidence for each in result.get(thing.label.id, ())), default=0.0),
            thing.group,
            trivial.get(thing.label.id, {}),
        )
        for thing in things
    ]


def told_of(
    things: Sequence[Thing], result: Found, near: Found, trivial: Mapping[str, Mapping[str, float]]
) -> Figures:
    """The figures of what marks things; `near` are the detections in the history of each target."""
    items = labelled(things, result, trivial)
    made = score(items)
    courses = [
        item
        for thing in things
        if thing.label.target and (item := course(thing, near.get(thing.label.id, ()))) is not None
    ]
    within = {name: recall_within(items, share) for name, share in SHARES.items()}
    return Figures(
        of=sorted({thing.label.of for thing in things}),
        things=made.things,
        targets=made.targets,
        groups=len({item.cluster for item in items}),
        marked=made.precision.of,
        precision=_rate(made.precision),
        recall=_rate(made.recall),
        false_alarms=_rate(made.false_alarms),
        auroc=None if made.area is None else _ends(made.area.value, made.area.interval),
        **{name: None if item is None else _ends(item.value, item.interval) for name, item in within.items()},
        lift=made.lift,
        trivial=[
            TrivialAnswer(name=item.name, auroc=item.area, precision=item.precision) for item in made.trivial
        ],
        horizon=_times(horizon(courses)),
        recovery=_times(recovery(courses)),
    )


def _ends(value: float | None, interval: tuple[float, float]) -> Estimate:
    return Estimate(value=value, low=interval[0], high=interval[1])


def _rate(rate: Rate) -> RateEstimate:
    return RateEstimate(
        hits=rate.hits, of=rate.of, value=rate.value, low=rate.interval[0], high=rate.interval[1]
    )


def _difference(difference: Difference | None) -> DifferenceEstimate | None:
    if difference is None:
        return None
    return DifferenceEstimate(
        value=difference.value, low=difference.interval[0], high=difference.interval[1], p=difference.p
    )


def _times(times: Times) -> EventCounts:
    low, high = times.quartiles or (None, None)
    return EventCounts(
        of=times.of,
        count=times.count,
        left_out=times.left_out,
        median=times.middle,
        quartile_low=low,
        quartile_high=high,
    )
