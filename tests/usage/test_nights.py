"""Nights: more of them never say less, few half-hours are never sure, and what was seen before is no news."""

from __future__ import annotations

import random

import pytest

from ethogram.usage import COHORTS, Settings, Summary, record
from ethogram.usage.night import late_night, nights_of
from sampling import seeds
from usage_people import DAY, HOUR

COHORT, SETTINGS = COHORTS[1], Settings()
FIRST = 20_500
"""A day since 1970; on the clock of UTC it begins at five."""


def known(hours: dict[int, list[float]], zone: str | None = "UTC") -> Summary:
    """Somebody who wrote once at these hours of these days; 27 is three in the night after."""
    state = Summary()
    for day, some in hours.items():
        for hour in some:
            state = record(state, (FIRST + day) * DAY + hour * HOUR, zone=zone)
    return state


def surprise(state: Summary, day: int) -> float:
    found = nights_of(state, FIRST + day, COHORT, SETTINGS)
    return 0.0 if isinstance(found, str) else found.surprise


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_one_more_night_in_the_newest_week_never_says_less(seed: int):
    rng = random.Random(seed)
    share, rate = rng.choice([0.02, 0.1, 0.3]), rng.choice([1, 2, 5])
    days = rng.choice([24, 40, 60])
    hours = {
        day: [rng.uniform(26, 29) if rng.random() < share else rng.uniform(8, 26) for _ in range(rate)]
        for day in range(days)
    }
    state = known(hours)
    told = [surprise(state, days)]
    for _ in range(25):
        night = (FIRST + days - rng.randint(1, 7)) * DAY + rng.uniform(26, 29) * HOUR
        state = record(state, night, zone="UTC")
        told.append(surprise(state, days))
    assert told == sorted(told)
    assert told[-1] > SETTINGS.night_medium


@pytest.mark.parametrize(("nights", "severity"), [(6, "low"), (9, "low"), (10, "medium")])
def test_fewer_than_ten_half_hours_are_never_sure(nights: int, severity: str):
    days = {day: [14.0, 19.0] for day in range(40)}
    # All of the newest fortnight at night, never before, in so many half-hours.
    late = {40 + day: [26.1 + day % 5 / 2] for day in range(nights)}
    found = late_night(known({**days, **late}), FIRST + 54, COHORT, SETTINGS)
    assert found.severity == severity


def test_who_changes_between_day_and_night_shifts_is_not_told_of_every_fortnight():
    hours = {day: [20.0, 22.0, 26.0, 27.5] if day // 7 % 2 else [9.0, 12.0, 18.0, 21.0] for day in range(84)}
    state, told = Summary(), []
    for day, some in hours.items():
        told.append(surprise(state, day))
        for hour in some:
            state = record(state, (FIRST + day) * DAY + hour * HOUR, zone="UTC")
    assert max(told[:28]) > SETTINGS.night_low
    # The fourth week has been like the second; from then on nothing is new.
    assert max(told[28:]) == 0


def test_a_sentence_names_the_hours_that_were_set_and_says_where_the_clock_is_a_guess():
    days = {day: [8.0 + day % 3, 12.0, 15.0, 18.0, 21.0 + day % 2] for day in range(40)}
    late = {40 + day: [26.2, 27.2, 28.2] for day in range(10)}
    early = Settings(night=(1, 5))
    given = late_night(known({**days, **late}), FIRST + 50, COHORT, early)
    assert "More at night than usual: 100% of" in given.sentence
    assert "between 1 and 5 o'clock" in given.sentence
    # Without a zone the nights may begin at ten in the evening; one hour lies in all of them.
    unsure = late_night(known({**days, **late}, zone=None), FIRST + 50, COHORT, SETTINGS)
    assert not unsure.is_ok
    assert "0% to 67% may have been at night" in unsure.sentence
    inmost = {day: [25.2, 25.6] for day in late}
    guessed = late_night(known({**days, **inmost}, zone=None), FIRST + 50, COHORT, SETTINGS)
    assert guessed.is_ok
    assert "More at night than usual: at least " in guessed.sentence
