"""Agreement of two evaluators on the same messages, and what it changes in the detections."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from ...config import Settings
from ...errors import BadUsage
from ...evaluators.base import Evaluator, is_scored
from ...fields import Amount, Balance, Count, Dollars, Ratio, RecordStruct, Trait
from ...ingest import Batch
from ...ingest.batch import EventList
from ...models import INPUT_SCORER, TRAITS, Event, is_indicator_name
from ...models.record import Record, decimals
from ...models.slotted import dataclass, replace
from ...patterns.library import Library
from ...stats import spearman
from ..analyze import analyze_batch
from .questions import Sampling, routed
from .scoring import Paying, evaluate_events, settings_for

STRONG = 0.5  # score from which a trait is plainly present
RESAMPLES = 400


@dataclass(frozen=True, slots=True)
class Side(Record):
    """What one evaluator took; `events` have its scores alone."""

    HIDDEN = ("events",)
    DECIMALS = decimals(6, "cost") | decimals(3, "seconds")

    evaluator: str
    scorer: str
    events: tuple[Event, ...]
    cost: Dollars = 0.0
    seconds: Amount = 0.0
    not_measured: Count = 0


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


class DetectionCounts(PatternCounts):
    """The same in all, and by pattern."""

    by_pattern: Mapping[str, PatternCounts]


class EvaluatorsCompared(RecordStruct):
    """How far two evaluators say the same of the same messages, and what that changes."""

    RECORD = "evaluators_compared"

    messages: Count
    a: Side
    b: Side
    traits: list[TraitAgreement]
    indicators: IndicatorCounts
    detections: DetectionCounts


def side_of(
    events: Iterable[Event], evaluator: Evaluator, sampling: Sampling, paying: Paying | None = None
) -> Side:
    """What an evaluator says of the messages that a sampling selects."""
    bare = [_without_scores(event) for event in events]
    start = time.perf_counter()
    evaluated = evaluate_events(bare, evaluator, sampling=sampling, paying=paying)
    seconds = time.perf_counter() - start
    evaluated.must_not_have_stopped()
    return Side(
        evaluator.name,
        evaluated.scorer,
        tuple(map(evaluated.readings_of, bare)),
        None if evaluated.unpriced else evaluated.spent,
        seconds,
        len(evaluated.missing) + evaluated.unasked,
    )


def supplied_side(events: Iterable[Event], sampling: Sampling) -> Side:
    """The scores that came with the messages that a sampling selects."""
    selected = tuple(
        event if question is not None else _without_scores(event)
        for event, _, question in routed(events, sampling, with_threads=False)
    )
    if not any(is_scored(name) for event in selected for name in event.readings):
        raise BadUsage("given: no message that is compared has both a text and scores")
    return Side(INPUT_SCORER, INPUT_SCORER, selected)


def _without_scores(event: Event) -> Event:
    left = {name: value for name, value in event.readings.items() if not is_scored(name)}
    return event if len(left) == len(event.readings) else replace(event, readings=left)


def agreement(a: Side, b: Side, *, seed: int = 0) -> list[TraitAgreement]:
    """How far the two agree on every trait that either measured."""
    counts = [Counter(name for event in side.events for name in event.readings) for side in (a, b)]
    return [
        _agreement(trait, counts[0][trait], counts[1][trait], _pairs(a, b, trait), seed)
        for trait in TRAITS
        if counts[0][trait] or counts[1][trait]
    ]


Pair = tuple[str, float, float]  # the subject, and the two scores of a message


def _pairs(a: Side, b: Side, trait: str) -> list[Pair]:
    return [
        (f"{x.source}\0{x.subject}", float(x.readings[trait]), float(y.readings[trait]))
        for x, y in zip(a.events, b.events, strict=True)
        if trait in x.readings and trait in y.readings
    ]


def _agreement(trait: str, in_a: int, in_b: int, pairs: Sequence[Pair], seed: int) -> TraitAgreement:
    low, high = _interval(pairs, seed)
    return TraitAgreement(
        trait=trait,
        measured_a=in_a,
        measured_b=in_b,
        both=len(pairs),
        correlation=_correlation(pairs),
        low=low,
        high=high,
        difference=sum(abs(x - y) for _, x, y in pairs) / len(pairs) if pairs else None,
        mean_a=sum(x for _, x, _ in pairs) / len(pairs) if pairs else None,
        mean_b=sum(y for _, _, y in pairs) / len(pairs) if pairs else None,
        strong_either=sum(x >= STRONG or y >= STRONG for _, x, y in pairs),
        strong_both=sum(x >= STRONG and y >= STRONG for _, x, y in pairs),
    )


def _correlation(pairs: Sequence[Pair]) -> float | None:
    return spearman([x for _, x, _ in pairs], [y for _, _, y in pairs])


def _interval(pairs: Sequence[Pair], seed: int) -> tuple[float | None, float | None]:
    """The 95 % interval of the correlation, by resampling whole subjects: their messages are alike."""
    by_subject: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_subject.setdefault(pair[0], []).append(pair)
    groups, rng = list(by_subject.values()), random.Random(seed)
    if len(groups) < 3:
        return None, None
    draws = (chain.from_iterable(rng.choices(groups, k=len(groups))) for _ in range(RESAMPLES))
    values = sorted(value for draw in draws if (value := _correlation(list(draw))) is not None)
    if len(values) < RESAMPLES / 2:
        return None, None
    return values[int(0.025 * len(values))], values[min(len(values) - 1, int(0.975 * len(values)))]


def indicators(a: Side, b: Side) -> IndicatorCounts:
    """Indicators found by each, and by both in the same message."""
    in_a, in_b = (
        {(e.source, e.id, name) for e in side.events for name in e.readings if is_indicator_name(name)}
        for side in (a, b)
    )
    return IndicatorCounts(len(in_a), len(in_b), len(in_a & in_b))


def detections(a: Side, b: Side, library: Library, settings: Settings) -> DetectionCounts:
    """What is detected by the readings of both, and of one alone; in all, and by pattern."""
    in_a, in_b = (_detected(side, library, settings) for side in (a, b))
    both, only_a, only_b = groups = (in_a & in_b, in_a - in_b, in_b - in_a)
    return DetectionCounts(
        len(both),
        len(only_a),
        len(only_b),
        by_pattern={
            name: PatternCounts(*(sum(key[0] == name for key in keys) for keys in groups))
            for name in sorted({key[0] for key in in_a | in_b})
        },
    )


def _detected(side: Side, library: Library, settings: Settings) -> set[tuple[str, ...]]:
    side_settings = settings if side.scorer == INPUT_SCORER else settings_for(settings, side.scorer)
    detected = analyze_batch(Batch(EventList(side.events)), library, settings=side_settings).detections
    return {(d.pattern, d.source, d.subject, d.target or "", d.thread or "") for d in detected}


def compared(a: Side, b: Side, library: Library, settings: Settings) -> Mapping[str, Any]:
    """The whole comparison as a JSON record."""
    return EvaluatorsCompared(
        messages=sum(event.text is not None for event in a.events),
        a=a,
        b=b,
        traits=agreement(a, b),
        indicators=indicators(a, b),
        detections=detections(a, b, library, settings),
    ).to_dict()
