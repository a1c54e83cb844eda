"""Both engines say what the plain reading says, on random patterns over random histories.

Each construct and each measure must occur often among the cases that fire and among their near misses
(one reading moved), so that agreement is not agreement on nothing.
"""

from __future__ import annotations

import random
import secrets
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agreement import differences, plain_reading, product, row_of
from ethogram.language.ast import Compare, Measure, Number, Pattern, Signal, Threshold
from ethogram.models import EPOCH, Event
from live_cases import live_detections
from sampling import IS_LONG
from strategies import KINDS, MEASURES, Case, constructs, near_miss, random_case

FIRST = secrets.randbelow(10**9) if IS_LONG else 0
"""The first seed: `make test` repeats itself exactly, `make test-long` draws anew."""
CASES_OF_A_KIND, CASES_OF_A_MEASURE = (400, 400) if IS_LONG else (40, 20)
"""Each case is followed by a near miss, and the first third are also watched in chunks."""
CHECKED = ("live", "columns", "lines")
"""Engines, and columns of lines that were never events."""
LINES = 3
"""Of so many cases one is also checked as lines."""


def check(case: Case, seed: int = 0, *, chunked: bool = False) -> bool:
    """Whether the case fires, after making sure that the engines agree."""
    theirs, insufficient = plain_reading(case)
    for engine in CHECKED if seed % LINES == 0 else CHECKED[:2]:
        ours, lacking = product(case, engine)
        assert differences(ours, theirs) == [], (engine, case)
        assert lacking == insufficient, (engine, case)
    if chunked:
        # Saved and loaded in a few places, or after every event.
        size, rng = len(case.events) + 1, random.Random(seed)
        cuts = rng.sample(range(size), min(size, rng.choice((1, 2, 2, 5, 40))))
        ours = [row_of(detection) for detection in live_detections(case, cuts=cuts)]
        assert differences(ours, theirs) == [], (cuts, case)
    return bool(theirs)


def check_all(count: int, **options: str) -> None:
    fired = 0
    for seed in range(FIRST, FIRST + count):
        case = random_case(seed, **options)
        fired += check(case, seed, chunked=seed - FIRST < count // 3)
        check(near_miss(case, random.Random(seed)), seed + 1)
    assert fired >= 0.3 * count, f"only {fired} of {count} cases fire: the test says too little"


@pytest.mark.parametrize("kind", KINDS)
def test_the_engines_agree_with_the_plain_reading(kind: str):
    check_all(CASES_OF_A_KIND, kind=kind)


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_means_what_the_plain_reading_says(measure: str):
    check_all(CASES_OF_A_MEASURE, measure=measure)


@pytest.mark.parametrize("kind", ["sequence", "threshold", "silence"])
def test_the_engines_agree_on_histories_of_exchanges(kind: str):
    fired = 0
    for seed in range(FIRST, FIRST + CASES_OF_A_KIND):
        case = random_case(seed, kind=kind)
        patterns = tuple(replace(item, group_by=("subject", "exchange")) for item in case.patterns)
        case = replace(case, patterns=patterns, expected=None)
        fired += check(case, seed, chunked=seed % 3 == 0)
    assert fired >= 0.2 * CASES_OF_A_KIND


def test_every_construct_occurs_among_the_cases():
    seen: Counter[str] = Counter()
    for kind in KINDS:
        for seed in range(FIRST, FIRST + CASES_OF_A_KIND):
            for pattern in random_case(seed, kind).patterns:
                seen.update(constructs(pattern))
    rare = {name: count for name, count in seen.items() if count < CASES_OF_A_KIND // 10}
    assert not rare


def story(readings: list[dict[str, float | str]], **fields: Any) -> tuple[Event, ...]:
    """Events of one subject, a minute apart."""
    return tuple(
        Event(f"e{k}", EPOCH + timedelta(minutes=k), "ann", seq=k, readings=values, **fields)
        for k, values in enumerate(readings)
    )


def test_a_key_that_is_reading_and_attribute_is_read_as_an_attribute():
    above = Compare(">", Measure("sum", Signal("x")), Number(1.5))
    pattern = Pattern("often", Threshold(above), group_by=("subject", "topic"), confidence=Number(1.0))
    apart = [{"x": 1.0, "topic": "a"}, {"x": 1.0, "topic": "b"}]
    assert not check(Case((pattern,), story(apart)))
    assert check(Case((pattern,), story(apart, attributes={"topic": "c"})))


@pytest.mark.parametrize("large", [1e100, 1e145, 1e150, 1e200, 1e290])
@pytest.mark.parametrize("measure", ["mean", "std", "rise", "sum", "max"])
def test_aggregates_of_very_large_numbers(measure: str, large: float):
    above = Compare(">", Measure(measure, Signal("x")), Number(large / 100))
    pattern = Pattern("vast", Threshold(above), confidence=Number(1.0))
    assert check(Case((pattern,), story([{"x": 0.0}, {"x": large}, {"x": 3 * large}])))
