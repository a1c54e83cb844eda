from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ethogram.risk.calibration import calibrate, probability, reliability
from ethogram.risk.scoring import RiskContext, compose
from risk_makers import NOW, detection

scores = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))
pairs = st.lists(st.tuples(scores, st.booleans()), max_size=40)
PLACES = np.linspace(0, 1, 23)


@settings(max_examples=40)
@given(pairs)
def test_probabilities_rise_with_confidence_and_stay_between_0_and_1(told):
    found = [calibrate(told)(x) for x in PLACES]
    assert all(0 <= a <= b <= 1 for a, b in pairwise(found))


@settings(max_examples=40)
@given(pairs, scores)
def test_a_false_alarm_lowers_every_probability_and_a_confirmation_raises_it_or_leaves_it(told, at):
    before = [calibrate(told)(x) for x in PLACES]
    lower = [calibrate([*told, (at, False)])(x) for x in PLACES]
    upper = [calibrate([*told, (at, True)])(x) for x in PLACES]
    assert all(a <= b + 1e-9 and b <= c + 1e-9 for a, b, c in zip(lower, before, upper, strict=True))


@settings(max_examples=40)
@given(pairs, scores)
def test_so_with_calibration_a_false_alarm_never_raises_a_risk(told, at):
    found = [detection("a", confidence=0.4), detection("b", confidence=0.8, cause="other")]

    def value(given):
        table = {"loop": calibrate(given)}
        return compose(
            found, as_of=NOW, context=RiskContext(calibrate=lambda item: probability(table, item))
        ).value

    assert value([*told, (at, False)]) <= value(told) + 1e-6


def test_without_verdicts_confidence_stays_as_it_is():
    assert [calibrate([])(x) for x in PLACES] == pytest.approx(list(PLACES))
    assert probability({}, detection(confidence=0.3)) == 0.3


def test_a_few_verdicts_move_it_a_little_and_many_decide():
    few, many = calibrate([(0.8, False)] * 3), calibrate([(0.8, False)] * 300)
    assert 0.4 < few(0.8) < 0.8
    assert many(0.8) < 0.05


@pytest.mark.parametrize("n", [60, 400])
def test_it_comes_near_to_the_truth(n):
    rng = np.random.default_rng(n)
    error, plain = [], []
    for _ in range(40):
        x = rng.random(n)
        told = calibrate(zip(x, rng.random(n) < x**2, strict=True))
        for at in (0.2, 0.5, 0.8):
            error.append((told(at) - at**2) ** 2)
            plain.append((at - at**2) ** 2)
    assert np.mean(error) < 0.5 * np.mean(plain)


def test_the_table_tells_what_was_said_and_what_was_seen():
    told = reliability([(0.9, True)] * 9 + [(0.9, False)] + [(0.1, False)] * 10, "loop", 20)
    assert [(row.count, round(row.said, 2), row.right) for row in told.rows] == [
        (10, 0.1, 0),
        (10, 0.9, 9),
    ]
    assert told.distance == pytest.approx(0.05)
    assert told.sufficient
