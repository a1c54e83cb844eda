"""How unusual a day's number of messages is: small steps, nothing on an ordinary day, and storms are told."""

from __future__ import annotations

import itertools
import math

import pytest

from ethogram.usage import COHORTS, Settings
from ethogram.usage.baseline import Daily, Expected, frequency

COHORT, SETTINGS = COHORTS[1], Settings()


def after_twenty_a_day(last: int):
    """What is said of a day after thirty days with twenty messages each."""
    return frequency(Daily(20_000, (*[20] * 30, last), (*[3] * 30, 3)), COHORT, SETTINGS)


def test_a_change_is_twice_the_chance_with_a_day_just_like_this_one_counted_half():
    # Poisson of mean 2, at 0: half of exp(-2), doubled.
    assert Expected(2, 0.0).change(0) == pytest.approx(math.log10(math.exp(-2)))
    # At 3 and above: 1 - 5 exp(-2); at 4 and above: 1 - (19/3) exp(-2).
    up = (1 - 5 * math.exp(-2) + 1 - 19 / 3 * math.exp(-2)) / 2
    assert Expected(2, 0.0).change(3) == pytest.approx(-math.log10(2 * up))


@pytest.mark.parametrize("mean", [0.3, 2, 19, 19.5, 400])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.6, 4.0])
def test_more_messages_are_a_higher_change_and_it_passes_through_nothing(mean: float, spread: float):
    changes = [Expected(mean, spread).change(count) for count in range(int(3 * mean) + 3)]
    assert changes == sorted(changes)
    if mean > 10:
        near = [pair for pair in itertools.pairwise(changes) if -0.3 < pair[0] < 0.3]
        assert max(after - before for before, after in near) < 0.15
        assert min(map(abs, changes)) < 0.1


def test_an_ordinary_day_is_ordinary_and_a_day_of_nothing_is_not():
    values = {last: after_twenty_a_day(last)[0].value for last in (0, 18, 19, 20, 21, 22, 100)}
    assert all(abs(values[last]) < 0.1 for last in (18, 19, 20, 21, 22))
    assert values[19] - values[18] < 0.05
    assert values[0] < -0.5
    assert values[100] == 1


@pytest.mark.parametrize(("last", "severity"), [(20, "none"), (40, "none"), (100, "low"), (200, "medium")])
def test_five_times_as_much_as_on_thirty_days_that_were_alike_is_told(last: int, severity: str):
    change, spike = after_twenty_a_day(last)
    assert (change.severity, spike.severity) == ("none", severity)


def test_of_somebody_whose_days_vary_the_same_day_says_nothing():
    days = [1, 60, 5, 20, 0, 34] * 5
    _, spike = frequency(Daily(20_000, (*days, 100), (*[3] * 30, 3)), COHORT, SETTINGS)
    assert sum(days) == 30 * 20
    assert spike.severity == "none"
