"""Agreement: how far two evaluators say the same of the same messages, and what that changes."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...config import Settings
from ...errors import BadUsage
from ...evaluators.base import Evaluator
from ...fields import Amount, Balance, Count, Dollars, Ratio, RecordStruct, Trait
from ...ingest import Batch
from ...models import GIVEN, TRAITS, Detection, Event, is_indicator_name
from ...models.record import decimals
from ...patterns.library import Library
from ...stats import spearman
from ..analyze import analyze_batch
from .questions import Sampling, routed
from .scoring import Paying, evaluate_events, is_scored, settings_for

"""Stands for the readings that came with the events, in place of an evaluator."""
STRONG = 0.5  # from here on a trait is plainly there
RESAMPLES = 400


class SideRecord(RecordStruct):
    """What one evaluator took."""

    DECIMALS = decimals(6, "cost") | decimals(3, "seconds")

    evaluator: str
    scorer: str
    cost: Dollars
    seconds: Amount
    not_measured: Count


class TraitAgreement(RecordStruct):
    """How far two evaluators agree on one trait."""

    DECIMALS = decimals(4, "correlation", "low", "high", "difference", "mean_a", "mean_b")

    trait: Trait
    measured_a: Count
    measured_b: Count
    both: Count
    correlation: Balance | None
    """Of ranks, with an interval of 95 % over subjects."""
    low: Balance | None
    high: Balance | None
    difference: Ratio | None
    mean_a: Ratio | None
    mean_b: Ratio | None
    strong_either: Count
    """Messages with a score of 0.5 or more by one."""
    strong_both: Count


class IndicatorCounts(RecordStruct):
    """Indicators found by each, and by both in the same message."""

    a: Count
    b: Count
    both: Count


class PatternCounts(RecordStruct):
    """Detections of a pattern by the readings of both, and of one alone."""

    both: Count
    only_a: Count
    only_b: Count


class DetectionCounts(RecordStruct):
    """Detections by the readings of both, and of one alone; in all, and by pattern."""

    both: Count
    only_a: Count
    only_b: Count
    by_pattern: Mapping[str, PatternCounts]


class EvaluatorsCompared(RecordStruct):
    """How far two evaluators say the same of the same messages, and what that changes."""

    RECORD = "evaluators_compared"

    messages: Count
    a: SideRecord
    b: SideRecord
    traits: list[TraitAgreement]
    indicators: IndicatorCounts
    detections: DetectionCounts


@dataclass(frozen=True, slots=True)
class Side:
    """What one of the two said: events with its readings and no other's, and what that took."""

    name: str
    scorer: str
    events: tuple[Event, ...]
    cost: float | None = 0.0
    seconds: float = 0.0
    not_measured: int = 0


def side_of(
    events: Collection[Event], evaluator: Evaluator, sampling: Sampling, paying: Paying | None = None
) -> Side:
    """What an evaluator says of the messages that a sampling chooses."""
    bare = [_without_scores(event) for event in events]
    start = time.perf_counter()
    found = evaluate_events(bare, evaluator, sampling=sampling, paying=paying)
    took = time.perf_counter() - start
    found.must_not_have_stopped()
    return Side(
        evaluator.name,
        found.scorer,
        tuple(map(found.readings_of, bare)),
        None if found.unpriced else found.spent,
        took,
        len(found.missing) + found.unasked,
    )


def given_side(events: Collection[Event], sampling: Sampling) -> Side:
    """What came with the messages that a sampling chooses."""
    kept = []
    for event, _, question in routed(events, sampling, with_threads=False):
        kept.append(event if question is not None else _without_scores(event))
    if not any(is_scored(name) for event in kept for name in event.readings):
        raise BadUsage("given: no message that is compared has both a text and scores")
    return Side(GIVEN, GIVEN, tuple(kept))


def _without_scores(event: Event) -> Event:
    left = {name: value for name, value in event.readings.items() if not is_scored(name)}
    return event if len(left) == len(event.readings) else replace(event, readings=left)


def agreement(a: Side, b: Side, *, seed: int = 0) -> list[TraitAgreement]:
    """For every trait that either measured: how many both did, and how far they agree.

    `correlation` is of ranks, with an interval of 95 % over subjects; `strong_both` over `strong_either` is
    the share of messages with a score of 0.5 or more by one that have it by both.
    """
    out = []
    for trait in TRAITS:
        pairs = _pairs(a, b, trait)
        only = (_measured(a, trait), _measured(b, trait))
        if any(only):
            agreed = _agree(pairs, seed)
            out.append(TraitAgreement(trait=trait, measured_a=only[0], measured_b=only[1], **agreed))
    return out


Pair = tuple[str, float, float]


def _pairs(a: Side, b: Side, trait: str) -> list[Pair]:
    return [
        (f"{x.source}\0{x.subject}", float(x.readings[trait]), float(y.readings[trait]))
        for x, y in zip(a.events, b.events, strict=True)
        if trait in x.readings and trait in y.readings
    ]


def _measured(side: Side, name: str) -> int:
    return sum(name in event.readings for event in side.events)


def _agree(pairs: Sequence[Pair], seed: int) -> dict[str, Any]:
    either = sum(x >= STRONG or y >= STRONG for _, x, y in pairs)
    low, high = _interval(pairs, seed)
    return {
        "both": len(pairs),
        "correlation": spearman([x for _, x, _ in pairs], [y for _, _, y in pairs]),
        "low": low,
        "high": high,
        "difference": sum(abs(x - y) for _, x, y in pairs) / len(pairs) if pairs else None,
        "mean_a": sum(x for _, x, _ in pairs) / len(pairs) if pairs else None,
        "mean_b": sum(y for _, _, y in pairs) / len(pairs) if pairs else None,
        "strong_either": either,
        "strong_both": sum(x >= STRONG and y >= STRONG for _, x, y in pairs),
    }


def _interval(pairs: Sequence[Pair], seed: int) -> tuple[float | None, float | None]:
    """Of 95 %, by drawing whole subjects: what one of them says is alike."""
    by: dict[str, list[Pair]] = {}
    for pair in pairs:
        by.setdefault(pair[0], []).append(pair)
    groups, chance, found = list(by.values()), random.Random(seed), []
    if len(groups) < 3:
        return None, None
    for _ in range(RESAMPLES):
        drawn = [pair for group in chance.choices(groups, k=len(groups)) for pair in group]
        value = spearman([x for _, x, _ in drawn], [y for _, _, y in drawn])
        if value is not None:
            found.append(value)
    if len(found) < RESAMPLES / 2:
        return None, None
    found.sort()
    return found[int(0.025 * len(found))], found[min(len(found) - 1, int(0.975 * len(found)))]


def indicators(a: Side, b: Side) -> IndicatorCounts:
    """Indicators found by each, and by both in the same message."""
    item, other = _indicators(a), _indicators(b)
    return IndicatorCounts(len(item), len(other), len(item & other))


def _indicators(side: Side) -> set[tuple[str, str, str]]:
    return {(e.source, e.id, n) for e in side.events for n in e.readings if is_indicator_name(n)}


def detections(a: Side, b: Side, library: Library, settings: Settings) -> DetectionCounts:
    """What is detected by the readings of both, and by those of one alone; in all, and by pattern."""
    item, other = (_detected(side, library, settings) for side in (a, b))
    return DetectionCounts(
        both=len(item & other),
        only_a=len(item - other),
        only_b=len(other - item),
        by_pattern={
            name: PatternCounts(
                *(sum(key[0] == name for key in keys) for keys in (item & other, item - other, other - item))
            )
            for name in sorted({key[0] for key in item | other})
        },
    )


def _detected(side: Side, library: Library, settings: Settings) -> set[tuple[str, ...]]:
    ours = settings if side.scorer == GIVEN else settings_for(settings, side.scorer)
    return {
        _about(detection)
        for detection in analyze_batch(Batch(side.events), library, settings=ours).detections
    }


def _about(detection: Detection) -> tuple[str, ...]:
    return (
        detection.pattern,
        detection.source,
        detection.subject,
        detection.target or "",
        detection.thread or "",
    )


def compared(a: Side, b: Side, library: Library, settings: Settings) -> Mapping[str, Any]:
    """Everything there is to say of two sides, as a JSON record."""
    return EvaluatorsCompared(
        messages=sum(event.text is not None for event in a.events),
        a=_side(a),
        b=_side(b),
        traits=agreement(a, b),
        indicators=indicators(a, b),
        detections=detections(a, b, library, settings),
    ).to_dict()


def _side(side: Side) -> SideRecord:
    return SideRecord(
        evaluator=side.name,
        scorer=side.scorer,
        cost=side.cost,
        seconds=side.seconds,
        not_measured=side.not_measured,
    )
