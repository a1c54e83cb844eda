"""Validating on any labelled data: how well patterns tell targets from the rest, beside trivial answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..models import Detection, rank
from ..risk.discrimination import (
    SHARES,
    Area,
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
from .labels import FIRST, Thing, Things, beside, course, marks

ANY = "any"
"""Stands for all patterns together, for every severity, and for all splits."""
Records = Iterator[dict[str, Any]]
Found = Mapping[str, Sequence[Detection]]
"""Detections about each thing, by its id; things without any are left out."""


def validate_labelled(
    name: str, told: Things, detections: Sequence[Detection], patterns: Iterable[str], severity: str = ANY
) -> Records:
    """Records about what patterns mark in a set: each pattern in each split, and all of them together.

    A label that names a pattern counts for that one and, with what that one marks, for all together.
    """
    names = sorted(set(patterns))
    told = _looked_for(told, names)
    loud = at_severity(detections, severity)
    versions = {one.pattern: one.version for one in loud}
    # Once for all patterns and splits: both go through every event.
    found, trivial = marks(told.things, loud), {one.label.id: one.trivial for one in told.things}
    near = beside([one for one in told.things if one.label.target], loud)
    for split in splits(told.things):
        things = in_split(told.things, split)
        for pattern in (ANY, *names):
            own = about(things, pattern)
            if own:
                marked, around = (of_pattern(own, every, pattern) for every in (found, near))
                figures = told_of(own, marked, around, trivial)
                about_it = {"set": name, "pattern": pattern, "version": versions.get(pattern)}
                yield {"record": "labelled", **about_it, "severity": severity, "split": split, **figures}


def compared(
    name: str,
    told: Things,
    old: Sequence[Detection],
    new: Sequence[Detection],
    severity: str = ANY,
    names: tuple[Collection[str], Collection[str]] | None = None,
) -> Records:
    """Records about how what one selection marks differs from what another does, split by split.

    `names` are the patterns of the old and of the new one. A label that names a pattern of neither is left
    out; a selection without the pattern that a label names stands for it, since it may be another version.
    """
    chosen = names or ({one.pattern for one in old}, {one.pattern for one in new})
    own = _looked_for(told, [one for every in chosen for one in every]).things
    marked = [
        _named(own, marks(own, at_severity(one, severity)), every)
        for one, every in zip((old, new), chosen, strict=True)
    ]
    for split in splits(own):
        things = in_split(own, split)
        found = compare(*(labelled(things, one, {}) for one in marked))
        yield {
            "record": "labelled_compared",
            "set": name,
            "split": split,
            "severity": severity,
            "things": len(things),
            "better": found.better,
            "worse": found.worse,
            "p": _number(found.p, 6),
            **{key: _difference(getattr(found, key)) for key in ("precision", "recall", "false_alarms")},
            "auroc": _difference(found.area),
        }


def summary(name: str, told: Things, patterns: Iterable[str], severity: str, data: str) -> dict[str, Any]:
    """What was looked at."""
    return {
        "record": "labelled_summary",
        "set": name,
        "labels": len(told.things) + len(told.not_found),
        "things": len(told.things),
        "targets": sum(one.label.target for one in told.things),
        "not_found": len(told.not_found),
        "not_found_first": list(told.not_found[:FIRST]),
        "patterns": sorted(set(patterns)),
        "severity": severity,
        "data": data,
    }


def at_severity(detections: Iterable[Detection], severity: str) -> list[Detection]:
    """The detections at this severity or above; all of them for `any`."""
    return [one for one in detections if severity == ANY or rank(one.severity) >= rank(severity)]


def splits(things: Iterable[Thing]) -> list[str]:
    """All together, then each split by name where the labels tell any; a single one is all there is."""
    named = sorted({one.label.split for one in things})
    return named if len(named) == 1 and named[0] else [ANY, *(one for one in named if one)]


def in_split(things: Sequence[Thing], split: str) -> list[Thing]:
    """The things of a split."""
    return [one for one in things if split in (ANY, one.label.split)]


def _looked_for(told: Things, patterns: Sequence[str]) -> Things:
    """The things without those whose labels name a pattern that nobody looked for: nothing can mark them."""
    own = (one for one in told.things if any(one.is_about(name) for name in patterns))
    return Things(tuple(own), told.not_found) if patterns else told


def about(things: Sequence[Thing], pattern: str) -> list[Thing]:
    """The things whose labels count for a pattern."""
    return [one for one in things if pattern == ANY or one.is_about(pattern)]


def of_pattern(things: Sequence[Thing], found: Found, pattern: str) -> Found:
    """What is found about things of one pattern alone; for `any`, of whatever pattern a label is about."""
    own = {
        thing.label.id: [
            one
            for one in found.get(thing.label.id, ())
            if (thing.is_about(one.pattern) if pattern == ANY else one.pattern == pattern)
        ]
        for thing in things
    }
    return {name: every for name, every in own.items() if every}


def _named(things: Sequence[Thing], found: Found, names: Collection[str]) -> Found:
    """What marks things, of the pattern that a label names where these have it."""
    loose = [one for one in things if not any(one.is_about(name) for name in names)]
    return {
        **of_pattern(things, found, ANY),
        **{one.label.id: found[one.label.id] for one in loose if one.label.id in found},
    }


def labelled(
    things: Sequence[Thing], found: Found, trivial: Mapping[str, Mapping[str, float]]
) -> list[Labelled]:
    """The things, with whether and how strongly each is marked."""
    return [
        Labelled(
            one.label.id,
            one.label.target,
            one.label.id in found,
            max((each.confidence for each in found.get(one.label.id, ())), default=0.0),
            one.group,
            trivial.get(one.label.id, {}),
        )
        for one in things
    ]


def told_of(
    things: Sequence[Thing], found: Found, near: Found, trivial: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    """The figures of what marks things; `near` are the detections in the history of each target."""
    items = labelled(things, found, trivial)
    made = score(items)
    courses = [
        one
        for thing in things
        if thing.label.target and (one := course(thing, near.get(thing.label.id, ()))) is not None
    ]
    return {
        "of": sorted({one.label.of for one in things}),
        "things": made.things,
        "targets": made.targets,
        "groups": len({one.cluster for one in items}),
        "marked": made.precision.of,
        "precision": _rate(made.precision),
        "recall": _rate(made.recall),
        "false_alarms": _rate(made.false_alarms),
        "auroc": _area(made.area),
        **_at_rates(items),
        "lift": _number(made.lift),
        "trivial": [
            {"name": one.name, "auroc": _number(one.area), "precision": _number(one.precision)}
            for one in made.trivial
        ],
        "horizon": _times(horizon(courses)),
        "recovery": _times(recovery(courses)),
    }


def _at_rates(items: Sequence[Labelled]) -> Mapping[str, Any]:
    found = {name: recall_within(items, share) for name, share in SHARES.items()}
    return {name: None if one is None else _ends(one.value, one.interval) for name, one in found.items()}


def _number(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def _ends(value: float | None, interval: tuple[float, float]) -> dict[str, float | None]:
    return {"value": _number(value), "low": _number(interval[0]), "high": _number(interval[1])}


def _rate(one: Rate) -> dict[str, Any]:
    return {"hits": one.hits, "of": one.of, **_ends(one.value, one.interval)}


def _area(one: Area | None) -> dict[str, Any] | None:
    return None if one is None else _ends(one.value, one.interval)


def _difference(one: Difference | None) -> dict[str, Any] | None:
    return None if one is None else {**_ends(one.value, one.interval), "p": _number(one.p, 6)}


def _times(one: Times) -> dict[str, Any]:
    low, high = one.quartiles or (None, None)
    told = {"of": one.of, "count": one.count, "left_out": one.left_out}
    return {**told, "median": one.middle, "quartile_low": low, "quartile_high": high}
