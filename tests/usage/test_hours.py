"""Hours: a move to hours that were never used is a change on any clock; what cannot be judged is said."""

from __future__ import annotations

import random

import pytest

from ethogram import analyze
from ethogram.config import Settings as AppSettings
from ethogram.models import moment
from ethogram.usage import Settings, Summary, record, signals
from ethogram.usage.hours import hours_change
from usage_people import DAY, HOUR, VARIANTS, Person, unzoned

DAY_US, HOUR_US = DAY * 1_000_000, HOUR * 1_000_000
FIRST, SETTINGS = 20_500, Settings()
USUAL = {"evenings": [18.0, 18.5, 19.2], "mornings": [9.0, 9.6], "days": [8.0, 12.0, 15.0, 18.0, 21.5]}


def known(hours: dict[int, list[float]], zone: str | None) -> Summary:
    """Somebody who wrote once at these hours of these days; 27 is three in the night after."""
    state = Summary()
    for day, some in hours.items():
        for hour in some:
            state = record(state, (FIRST + day) * DAY + hour * HOUR, zone=zone)
    return state


@pytest.mark.parametrize("usual", USUAL.values(), ids=USUAL)
def test_a_move_of_everything_into_the_night_is_told_with_a_zone_and_without(usual):
    hours = dict.fromkeys(range(30), usual) | {30 + day: [26.2, 27.2, 28.2] for day in range(7)}
    as_of = (FIRST + 37) * DAY + 6 * HOUR
    zoned = signals(known(hours, "UTC"), as_of)
    assert zoned.findings["late_night"].severity == "medium"
    guessed = signals(known(hours, None), as_of)
    assert guessed.findings["hours_change"].severity == "medium"
    assert "2:00 to 4:30 UTC; the time zone is not known" in guessed.findings["hours_change"].sentence
    night = guessed.findings["late_night"]
    assert not night.is_ok or night.severity != "none"  # never that nothing is unusual
    # One cause: neither adds to the other.
    assert 0 < zoned.parts["nights"] <= 0.1
    assert 0 < guessed.parts["nights"] <= 0.1


def test_what_cannot_be_judged_without_a_zone_is_said():
    hours = dict.fromkeys(range(30), USUAL["mornings"]) | {30 + day: [26.2, 27.2, 28.2] for day in range(7)}
    night = signals(known(hours, None), (FIRST + 37) * DAY + 6 * HOUR).findings["late_night"]
    assert night.status == "insufficient"
    assert "the time zone is not known, so 0% to 100% may have been at night" in night.sentence


def test_another_hour_of_the_day_is_told_as_low_where_the_zone_says_that_it_is_no_night():
    hours = {day: [18.0, 18.6, 19.2] for day in range(30)} | {30 + day: [9.0, 9.6, 10.2] for day in range(7)}
    found = signals(known(hours, "UTC"), (FIRST + 37) * DAY + 6 * HOUR).findings
    assert (found["hours_change"].severity, found["late_night"].severity) == ("low", "none")


@pytest.mark.parametrize(("zone", "severity"), [(None, "medium"), ("UTC", "low")])
def test_analyze_reports_the_same_change(zone, severity):
    hours = {day: [18.0, 18.6, 19.2] for day in range(30)} | {30 + day: [9.0, 9.6, 10.2] for day in range(8)}
    events = [
        {"subject": "kim", "kind": "usage", "at": moment((FIRST + day) * DAY_US + round(hour * HOUR_US))}
        for day, some in hours.items()
        for hour in some
    ]
    found = analyze(events, ["hours_change"], settings=AppSettings(time_zone=zone))
    assert [(item.pattern, item.severity) for item in found] == [("hours_change", severity)]
    assert "at hours of the day that they had not used before" in found.detections[0].explanation


def test_an_hour_more_or_less_is_the_same_hour():
    hours = {day: [18.0, 19.0] for day in range(30)} | {30 + day: [17.0, 20.0] for day in range(7)}
    assert hours_change(known(hours, None), FIRST + 37, SETTINGS).value == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_people_whose_hours_never_change_are_not_told_of(variant: int) -> None:
    person, rng = Person(variant), random.Random(variant)
    low, high = rng.choice([(8, 24), (17, 23), (9, 13)])
    events = [e for day in range(60) for e in person.session(day, rng.uniform(low, high), 3, 10)]
    severities = [
        signals(unzoned(events[:n]), events[n - 1][0] + DAY).findings["hours_change"].severity
        for n in range(30, len(events), 9)
    ]
    assert severities.count("none") >= len(severities) - 1


def test_of_somebody_new_nothing_is_said():
    assert hours_change(known({0: [8.0], 1: [27.0]}, None), FIRST + 3, SETTINGS).status == "insufficient"
