"""What the summary keeps, the clock, and changes that must be found."""

from __future__ import annotations

import itertools
import random

import pytest

from ethogram.usage import Settings, Summary, record, signals
from ethogram.usage.night import infer_zone
from ethogram.usage.sessions import read_sessions
from ethogram.usage.summary import read_days
from sampling import seeds
from usage_people import DAY, HOUR, MINUTE, VARIANTS, Event, Person, unzoned


def test_an_unknown_person_is_quiet_and_insufficient() -> None:
    found = signals(Summary(), 1_800_000_000)
    assert found.score == 0
    assert not found.at_severity("low")
    assert found.status == "insufficient"


def test_a_summary_is_bounded_however_much_is_written() -> None:
    rng, state = random.Random(1), Summary()
    for _ in range(30_000):
        state = record(
            state,
            1_700_000_000 + rng.random() * 400 * DAY,
            length=rng.randint(0, 9000),
            session=rng.choice("abcde"),
        )
    assert len(state.stretches) + len(state.days) <= 2048


@pytest.mark.parametrize("variant", VARIANTS)
def test_sessions_are_those_that_a_pause_cuts(variant: int) -> None:
    rng = random.Random(variant)
    times, at = [], 1_700_000_000
    for _ in range(60):
        at += rng.choice([5, 60, 600, 1799, 1800, 1801, 4000, 40_000])
        times.append(at)
    state = Summary()
    for item in rng.sample(times, 60):
        state = record(state, item)
    cut = [[times[0]]]
    for before, now in itertools.pairwise(times):
        if now - before > 1800:
            cut.append([])
        cut[-1].append(now)
    told = [(s.start, s.end, s.events) for s in read_sessions(state, at, Settings())]
    assert told == [(s[0], s[-1], len(s)) for s in cut]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_return_is_told_once_somebody_is_back(variant: int) -> None:
    person = Person(variant)
    events = [e for day in range(24) for e in person.session(day, person.rng.uniform(9, 22), 4, 15)]
    events += person.session(24 + person.rng.randint(6, 12), 20, 3, 5)
    state = person.know(events)
    assert signals(state, events[-1][0] + MINUTE).to_dict()["return_after_absence"]
    assert not signals(state, events[-1][0] + 3 * DAY).to_dict()["return_after_absence"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_twice_as_long_sessions_are_increasing(variant: int) -> None:
    person = Person(variant)
    lengths = [person.rng.uniform(6, 14) for _ in range(24)] + [person.rng.uniform(16, 28) for _ in range(8)]
    events = [e for day, long in enumerate(lengths) for e in person.session(day, 20, round(long / 2), long)]
    session_length_trend = signals(person.know(events), events[-1][0] + 2 * HOUR).findings[
        "session_length_trend"
    ]
    assert (session_length_trend.value, session_length_trend.severity) == (1.0, "medium")


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_storm_of_messages_is_a_spike_and_a_weekend_no_drop(variant: int) -> None:
    person = Person(variant)
    person.first += (7 - person.first) % 7 + 1  # a Monday
    events = [
        e for day in range(42) if day % 7 < 5 for e in person.session(day, 11, person.rng.randint(5, 9), 40)
    ]
    state = person.know(events)
    assert not signals(state, person.at(42, 6)).at_severity("low")
    storm = person.session(42, 11, 150, 300)
    found = signals(person.know(events + storm), person.at(43, 6))
    assert found.findings["spike"].severity == "medium"
    assert found.findings["frequency_change"].value == 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_shorter_messages_are_told(variant: int) -> None:
    person = Person(variant)
    events: list[Event] = []
    for day in range(30):
        long = person.rng.uniform(120, 260) if day < 22 else person.rng.uniform(20, 50)
        events += [(at, {"length": round(long)}) for at, _ in person.session(day, 20, 5, 12)]
    message_length_change = signals(person.know(events), events[-1][0] + 2 * HOUR).findings[
        "message_length_change"
    ]
    assert message_length_change.severity == "medium"
    assert message_length_change.value < -1


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo", "Australia/Sydney"])
@pytest.mark.parametrize("variant", seeds(3, 10))
def test_a_zone_is_inferred_to_two_hours_and_summer_time_is_no_change(zone: str, variant: int) -> None:
    person = Person(variant)
    person.zone = zone
    person.first = 739_691 - 30  # thirty days before Europe's clocks go forward in March 2026
    hours = [[person.rng.triangular(7.5, 23.5, 20) for _ in range(3)] for _ in range(50)]
    events = sorted(
        (e for day, some in enumerate(hours) for h in some for e in person.session(day, h, 3, 6)),
        key=lambda e: e[0],
    )
    state = unzoned(events)
    ahead, confidence = infer_zone(list(read_days(state)))
    true = {"Europe/Berlin": 1.5, "America/Los_Angeles": -7.3, "Asia/Tokyo": 9, "Australia/Sydney": 10.7}[
        zone
    ]
    assert abs((ahead - true + 12) % 24 - 12) <= 2.5
    assert confidence > 0.6
    for end in range(60, len(events), 20):
        assert not signals(unzoned(events[:end]), events[end - 1][0] + HOUR).to_dict()["is_late_night"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_burst_is_told_while_it_happens_and_an_ordinary_day_is_not(variant: int) -> None:
    person = Person(variant)
    events = [e for day in range(28) for e in person.session(day, 11, person.rng.randint(5, 9), 40)]
    usual = person.session(28, 11, 9, 40)
    assert signals(person.know(events + usual), usual[-1][0]).findings["spike"].severity == "none"
    burst = person.session(28, 11, 60, 20)
    told = [signals(person.know(events + burst[:n]), burst[n - 1][0]).findings["spike"] for n in (45, 60)]
    assert [finding.severity for finding in told] == ["low", "medium"]
    assert told[1].sentence.startswith("Far more than usual: 60 today so far, where ")
    # The next morning it is the same day, and the same finding.
    after = signals(person.know(events + burst), person.at(29, 6))
    assert after.findings["spike"].severity == "medium"
