"""What holds of the statistics whatever the numbers: chances, limits, summaries, and what comes of them."""

from __future__ import annotations

import random

import pytest

from ethogram.errors import BadUsage
from ethogram.usage import COHORTS, Settings, Summary, record, signals
from ethogram.usage.withdrawal import (
    Past,
    add_closes,
    is_fewer,
    is_quiet,
    make_outlook,
    measure_spans,
    predict,
    silent_days,
)
from sampling import seeds
from usage_people import DAY, HOUR

COHORT, SETTINGS = COHORTS[1], Settings()


def random_days(rng: random.Random) -> list[int]:
    rate = 10 ** rng.uniform(-0.7, 1.4)
    days = [round(rng.expovariate(1 / rate)) * (rng.random() < 0.8) for _ in range(rng.randint(8, 69))]
    if rng.random() < 0.5:
        few = rng.randint(1, 20)
        days[-few:] = [round(0.2 * day) for day in days[-few:]]
    return days


@pytest.mark.parametrize("seed", seeds(4, 12))
def test_the_outlook_is_what_every_coming_close_will_say(seed: int):
    rng = random.Random(seed)
    for _ in range(3):
        days, today = random_days(rng), rng.choice([1, 1, 3, 12])
        past = Past(days)
        of = add_closes(make_outlook(past, SETTINGS), past, 28, COHORT, SETTINGS)
        quiet, fewer = predict(of, today, COHORT, SETTINGS)
        asked = [measure_spans(Past([*days, today, *[0] * after]), COHORT, SETTINGS) for after in range(60)]
        assert (quiet.after if quiet and quiet.after < 60 else None) == _first(map(is_quiet, asked))
        assert (fewer.after if fewer and fewer.after < 60 else None) == _first(map(is_fewer, asked))


def _first(answers) -> int | None:
    return next((after for after, answer in enumerate(answers) if answer), None)


def test_who_is_quiet_has_few_messages_and_fewer_messages_never_end_it():
    rng = random.Random(5)
    for _ in range(40):
        days = random_days(rng)
        spans = measure_spans(Past(days), COHORT, SETTINGS)
        assert is_fewer(spans) or not is_quiet(spans)
        if is_quiet(spans) and days[-1] and not silent_days(Past(days)):
            days[-1] -= 1
            assert is_quiet(measure_spans(Past(days), COHORT, SETTINGS)) or days[-1] == 0


@pytest.mark.parametrize("seed", seeds(2, 6))
def test_summaries_are_sets_scores_have_bounds_and_asking_changes_nothing(seed: int):
    rng = random.Random(seed)
    both = other = Summary()
    events = []
    for _ in range(rng.randint(1, 300)):
        at = 1_770_000_000 + rng.random() * rng.choice([2, 40, 90]) * DAY
        fields = {"length": rng.randint(0, 999), "zone": "Europe/Rome", "emotional": rng.random() < 0.1}
        events.append((at, fields))
        both = record(both, at, **fields)
    for at, fields in rng.sample(events, len(events)):
        other = record(other, at, **fields)
    assert other == both
    for later in (0, HOUR, 3 * DAY, 200 * DAY, 3000 * DAY):
        found = signals(both, both.newest + later)
        assert 0 <= found.score <= 1
        assert all(0 <= part <= 1 for part in found.parts.values())
        assert all(0 <= each.strength <= 1 for each in found.findings.values())
        assert found == signals(both, both.newest + later)


@pytest.mark.parametrize("at", [-1, 0, 1e12, float("nan"), float("inf")])
def test_a_time_that_is_none_of_our_days_is_refused(at: float):
    with pytest.raises(BadUsage, match="seconds since 1970"):
        record(Summary(), at)


def test_a_zone_without_meaning_is_refused_with_the_nearest():
    with pytest.raises(BadUsage, match="did you mean 'Europe/Berlin'"):
        record(Summary(), 1_770_000_000, zone="Europe/Berln")
    with pytest.raises(BadUsage, match="unknown time zone"):
        record(Summary(), 1_770_000_000, zone="../../etc/passwd")
