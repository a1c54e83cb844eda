"""How often learning is right: random, honest and wrong verdicts. `make test-long` draws anew and prints it.

With few runs the same limits hold as shares; what is only reported has a looser one.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field

import numpy as np
import pytest

from ethogram.risk.proposal import Proposal
from risk_lines_world import one_run

IS_LONG = os.environ.get("ETHOGRAM_TESTS") == "long"
RUNS = 100 if IS_LONG else 5


@dataclass
class Trial:
    """What came of many runs of the same kind."""

    seed: int
    proposed: int = 0
    inside: int = 0
    narrow: int = 0
    widths: list[float] = field(default_factory=list)


def trial(name: str, **given) -> Trial:
    """`inside`: the right threshold is in the interval; `narrow`: and that is no wider than .2."""
    out = Trial(secrets.randbelow(2**32) if IS_LONG else 11)
    rng = np.random.default_rng(out.seed)
    for _ in range(RUNS):
        right, told = one_run(rng, **given)
        if isinstance(told, Proposal):
            low, high = told.low, told.high
            is_inside = told.parameter == "threshold" and low <= right <= high
            out.proposed += 1
            out.inside += is_inside
            out.narrow += is_inside and high - low <= 0.2 + 1e-9
            out.widths.append(high - low)
    width = float(np.median(out.widths)) if out.widths else float("nan")
    print(
        f"{name}: seed {out.seed}: of {RUNS} runs {out.proposed} proposed, {out.inside} with the right value "
        f"inside, {out.narrow} of them no wider than .2; median width {width:.2f}"
    )
    return out


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("random verdicts", {"wrong": 0.5}),
        ("random verdicts, 120", {"wrong": 0.5, "n": 120}),
        ("random, a fifth confirmed", {"share": 0.0, "wrong": 0.2}),
    ],
)
def test_random_verdicts_lead_to_nothing_in_95_of_100_runs(name, given):
    assert trial(name, **given).proposed <= 0.05 * RUNS


@pytest.mark.parametrize(
    ("name", "given"), [("60 honest", {}), ("60 honest, a quarter true", {"share": 0.25})]
)
def test_with_60_honest_verdicts_the_right_one_is_inside_a_narrow_interval_in_90_of_100(name, given):
    assert trial(name, **given).narrow >= 0.9 * RUNS


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("the right one taken up, 120 honest", {"n": 120, "beside": 0.0}),
        ("the right one taken up, 160, a third wrong", {"n": 160, "wrong": 0.35, "beside": 0.0}),
        ("a stricter one set by hand, 120, a fifth wrong", {"n": 120, "wrong": 0.2, "beside": 0.1}),
    ],
)
def test_once_the_number_is_right_or_too_strict_nothing_is_proposed_in_95_of_100_runs(name, given):
    """Verdicts are from before; what the number in force does well already speaks for no other."""
    assert trial(name, **given).proposed <= 0.05 * RUNS


def test_a_step_on_the_way_the_right_one_is_still_found():
    record = trial("a step on the way, 120 honest", n=120, beside=-0.2, right=0.8)
    assert record.narrow >= 0.9 * RUNS


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "given", "proposed", "inside"),
    [
        ("60, a fifth wrong", {"wrong": 0.2}, 80, 0.88),
        ("60 honest, 15 % true", {"share": 0.15}, 85, 0.9),
        ("60, 15 % true and a fifth wrong", {"share": 0.15, "wrong": 0.2}, 40, 0.85),
        ("120, a fifth wrong", {"wrong": 0.2, "n": 120}, 95, 0.9),
    ],
)
def test_wrong_verdicts_and_another_base_rate_make_it_say_less_and_not_something_else(
    name, given, proposed, inside
):
    record = trial(name, **given)
    assert record.proposed >= proposed * RUNS / 100
    assert record.inside >= inside * record.proposed
