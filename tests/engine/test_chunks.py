"""Histories cut into chunks, with the state carried, give what the plain reading gives of the whole."""

from __future__ import annotations

import os
import random

import pytest

from agreement import differences, plain_reading, row_of
from live_cases import live_detections
from strategies import KINDS, MEASURES, Case, random_case

CASES = 250 if os.environ.get("ETHOGRAM_TESTS") == "long" else 30


def check(case: Case, seed: int) -> int:
    """How much the engine finds where it is saved and loaded in a few places, or after every event."""
    size, rng = len(case.events) + 1, random.Random(seed)
    cuts = rng.sample(range(size), min(size, rng.choice((1, 2, 2, 5, 40))))
    ours = [row_of(detection) for detection in live_detections(case, cuts=cuts)]
    assert differences(ours, plain_reading(case)[0]) == []
    return len(ours)


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_in_chunks(kind: str):
    assert sum(check(random_case(seed, kind), seed) for seed in range(CASES)) > CASES / 3


@pytest.mark.parametrize("measure", MEASURES)
def test_aggregates_in_chunks(measure: str):
    assert sum(check(random_case(seed, measure=measure), seed) for seed in range(CASES)) > CASES / 3
