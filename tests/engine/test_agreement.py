"""Both engines say what the plain reading says, on random patterns over random histories.

Each construct and each measure must occur often among the cases that fire and among their near misses
(one reading moved), so that agreement is not agreement on nothing.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from agreement import differences, plain_reading, product
from ethogram.engine.detect import ENGINES
from strategies import KINDS, MEASURES, Case, constructs, near_miss, random_case

CASES = 400 if os.environ.get("ETHOGRAM_TESTS") == "long" else 90
"""Of each kind of shape and of each measure; each is followed by a near miss."""


def check(case: Case) -> bool:
    """Whether the case fires, after making sure that the engines agree."""
    theirs, insufficient = plain_reading(case)
    for engine in ENGINES:
        ours, lacking = product(case, engine)
        assert differences(ours, theirs) == [], (engine, case)
        assert lacking == insufficient, (engine, case)
    return bool(theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_the_engines_agree_with_the_plain_reading(kind: str):
    fired = 0
    for seed in range(CASES):
        case = random_case(seed, kind)
        fired += check(case)
        check(near_miss(case, random.Random(seed)))
    assert fired >= 0.3 * CASES, f"only {fired} of {CASES} cases fire: the test says too little"


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_means_what_the_plain_reading_says(measure: str):
    fired = 0
    for seed in range(CASES):
        case = random_case(seed, measure=measure)
        fired += check(case)
        check(near_miss(case, random.Random(seed)))
    assert fired >= 0.3 * CASES, f"only {fired} of {CASES} cases fire: the test says too little"


def test_every_construct_occurs_among_the_cases():
    seen: Counter[str] = Counter()
    for kind in KINDS:
        for seed in range(CASES):
            for pattern in random_case(seed, kind).patterns:
                seen.update(constructs(pattern))
    rare = {name: count for name, count in seen.items() if count < 10}
    assert not rare
