"""Withdrawal: no rhythm of one's own is unusual, one missed day is too little, a silence never says less."""

from __future__ import annotations

import random

import pytest

from ethogram.usage import COHORTS, Settings
from ethogram.usage.baseline import Daily
from ethogram.usage.withdrawal import Past, is_quiet, measure_spans, withdrawal
from sampling import seeds

COHORT, SETTINGS = COHORTS[1], Settings()


def asked(events, **how):
    return withdrawal(Daily(0, tuple(events), tuple(map(bool, events))), COHORT, SETTINGS, **how)


def is_gone(events):
    return is_quiet(measure_spans(Past(events[-70:]), COHORT, SETTINGS))


def test_no_rhythm_of_a_week_is_ever_gone_quiet():
    for mask in range(1, 128):
        days = [15 if mask >> day % 7 & 1 else 0 for day in range(84)]
        assert not any(is_gone(days[:end]) for end in range(63, 70)), bin(mask)


@pytest.mark.parametrize("period", range(8, 15))
@pytest.mark.parametrize("active", [1, 4])
def test_no_longer_rhythm_is_either(period, active):
    days = [30 if day % period < active else 0 for day in range(120)]
    assert not any(is_gone(days[:end]) for end in range(80, 80 + period))


def test_one_missed_sunday_is_not_going_quiet_and_two_are():
    sundays = [15 if day % 7 == 6 else 0 for day in range(70)]
    assert asked([*sundays, *[0] * 8])[0].severity == "none"
    assert asked([*sundays, *[0] * 14])[0].severity == "medium"


def test_one_missed_working_day_is_not_going_quiet():
    working = [20 if day % 7 < 5 else 0 for day in range(70)]
    # The tenth weekend is over, and the Monday after it was a holiday.
    assert asked([*working, 0])[0].severity == "none"


@pytest.mark.parametrize("seed", seeds(4, 12))
def test_a_longer_silence_never_says_less(seed):
    chance = random.Random(seed)
    pace = chance.choice([1, 2, 4, 8, 20])
    history = [chance.choice([0, 0, 1, 2, 3]) * pace for _ in range(chance.randint(16, 60))] + [pace]
    strength = 0.0
    for silent in range(50):
        quiet, _ = asked([*history, *[0] * silent])
        if strength and silent:
            assert quiet.severity == "medium"
        if silent:
            assert quiet.strength >= strength
            strength = quiet.strength


def test_who_is_here_today_is_not_gone():
    history = [*[10] * 40, *[0] * 12]
    gone, _ = asked(history)
    here, _ = asked(history, is_here=True)
    assert (gone.severity, here.severity) == ("medium", "none")
    assert here.sentence.startswith("Here today. Before that: Withdrawal: active 0 times in the last 12 days")


def test_sentences_name_what_was_really_there():
    # The quietest five days of the month, wherever they begin, had 3 + 4 + 4 + 4 + 4 messages.
    history = [*[4] * 30, 3, *[4] * 9]
    sentence = asked([*history, *[0] * 5])[0]
    assert (
        sentence.sentence
        == "Withdrawal: active 0 times in the last 5 days; the quietest 5 days of the month before had 19."
    )
    assert sentence.details == {"days": 5.0, "seen": 0.0, "measure": 19.0}
    # Two silent weeks: the five weeks before had 139 messages, so that two have 55.6.
    sentence = asked([*history, *[0] * 14])[0].sentence
    assert sentence == (
        "Withdrawal: active 0 times in the last 14 days; by their usual weeks 56 were to be expected."
    )
