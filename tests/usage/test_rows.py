"""What is right to say of a person's use, each case in thirty variants: people, hours, zones, lengths."""

from __future__ import annotations

import random

import pytest

from ethogram.usage import Settings, signals
from ethogram.usage.finding import Finding
from ethogram.usage.fusion import CAUSES, behavioural_score
from usage_people import DAY, HOUR, MINUTE, VARIANTS, Person, unzoned


@pytest.mark.parametrize("variant", VARIANTS)
def test_once_a_day_asked_a_day_later_is_normal(variant: int) -> None:
    person = Person(variant)
    hour, many = person.rng.uniform(8, 22), person.rng.randint(15, 25)
    events = [
        e for day in range(7) for e in person.session(day, hour + person.rng.uniform(-0.5, 0.5), many, 30)
    ]
    found = signals(person.know(events), events[-1][0] + 24 * HOUR)
    assert found.findings["frequency_change"].is_ok
    assert not found.at_severity("low")
    assert found.score == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_person_during_todays_session_is_no_spike(variant: int) -> None:
    person = Person(variant)
    hour = person.rng.uniform(8, 22)
    events = [e for day in range(7) for e in person.session(day, hour, 20, 30)]
    events += person.session(7, hour, person.rng.randint(5, 20), 25)
    found = signals(person.know(events), events[-1][0] + MINUTE)
    assert found.findings["spike"].severity == "none"
    assert abs(found.findings["frequency_change"].value) < 0.5
    assert found.score == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_of_a_new_person_too_little_is_known(variant: int) -> None:
    person = Person(variant)
    events = person.session(0, person.rng.uniform(0, 23), person.rng.randint(1, 4), person.rng.uniform(0, 20))
    found = signals(person.know(events), events[-1][0] + person.rng.uniform(0, 3 * DAY))
    told = ("frequency_change", "spike", "drop", "withdrawal", "late_night", "session_length_trend")
    assert all(found.findings[name].status == "insufficient" for name in told)
    assert found.to_dict()["frequency_change"] == 0
    assert found.score == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_absence_is_no_return(variant: int) -> None:
    person = Person(variant)
    days = person.rng.choice([1, 3, 10, 25])
    events = [e for day in range(days) for e in person.session(day, 15, max(3, 40 // days), 30)]
    found = signals(person.know(events), events[-1][0] + person.rng.uniform(25, 40) * DAY)
    assert not found.to_dict()["return_after_absence"]
    if days == 25:
        assert found.findings["withdrawal"].severity == "medium"


@pytest.mark.parametrize("variant", VARIANTS)
def test_three_days_away_is_withdrawal_only_for_who_was_always_here(variant: int) -> None:
    person = Person(variant)
    regular = [e for day in range(21) for e in person.session(day, 18, person.rng.randint(15, 25), 40)]
    weekly = [e for day in range(0, 64, 7) for e in person.session(day, 18, 25, 40)]
    once = person.session(0, 18, 25, 40)
    for events, wanted in ((regular, True), (weekly, False), (once, False)):
        found = signals(person.know(events), events[-1][0] + 3 * DAY)
        assert found.to_dict()["withdrawal_detected"] is wanted
        assert not found.to_dict()["return_after_absence"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_who_says_thanks_after_feeling_much_did_not_break_off(variant: int) -> None:
    person = Person(variant)
    events = person.session(0, 20, person.rng.randint(2, 6), 10)
    events.append((events[-1][0] + 30, {"length": person.rng.randint(80, 300), "emotional": True}))
    events.append((events[-1][0] + person.rng.randint(10, 300), {"length": person.rng.randint(5, 20)}))
    state = person.know(events)
    for later in (5, 29 * MINUTE, 2 * HOUR, DAY):
        assert not signals(state, events[-1][0] + later).to_dict()["abrupt_termination"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_who_stops_after_feeling_much_broke_off_once_time_has_run_out(variant: int) -> None:
    person = Person(variant)
    events = person.session(0, 20, person.rng.randint(2, 6), 10)
    events.append((events[-1][0] + 30, {"length": person.rng.randint(5, 300), "emotional": True}))
    events.append((events[-1][0] + 20, {"length": 200, "is_user": False}))
    state = person.know(events)
    event = events[-2][0]
    assert not signals(state, event + 29 * MINUTE).to_dict()["abrupt_termination"]
    assert signals(state, event + 31 * MINUTE).to_dict()["abrupt_termination"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_mark_of_the_caller_counts_whatever_the_message(variant: int) -> None:
    person = Person(variant)
    events = person.session(0, 20, 5, 10)
    mark: dict[str, object] = {"length": person.rng.choice([3, 80, 2000]), "ended_abruptly": True}
    events.append((events[-1][0] + 30, {**mark, "is_user": bool(variant % 2)}))
    assert signals(person.know(events), events[-1][0] + 5).to_dict()["abrupt_termination"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_short_sessions_over_ten_days_are_stable(variant: int) -> None:
    person = Person(variant)
    events = [
        e
        for day in range(10)
        for hour in (10, 16, 20)[: person.rng.randint(1, 3)]
        for e in person.session(day, hour, person.rng.randint(3, 5), person.rng.choice([5, 3, 4]))
    ]
    found = signals(person.know(events), events[-1][0] + HOUR)
    assert found.to_dict()["session_length_trend"] == "stable"


@pytest.mark.parametrize("variant", VARIANTS)
def test_order_of_arrival_changes_nothing(variant: int) -> None:
    person = Person(variant)
    events = [
        e
        for day in range(person.rng.choice([5, 30, 120]))
        for e in person.session(
            day, person.rng.uniform(0, 24), person.rng.randint(1, 9), person.rng.uniform(0, 90)
        )
    ]
    for at, said in person.rng.sample(events, 5):
        said.update(emotional=True, session=person.rng.choice(["a", "b"]), ended_abruptly=at % 2 < 1)
    in_order = person.know(sorted(events, key=lambda e: e[0]))
    assert person.know(events[::-1]) == in_order
    assert person.know(person.rng.sample(events, len(events))) == in_order


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_score_goes_from_none_to_one(variant: int) -> None:
    rng = random.Random(variant)
    everything = [Finding(name, "ok", 1.0, "medium", 1.0, "") for name in CAUSES]
    assert behavioural_score(everything)[0] == 1
    assert behavioural_score([])[0] == 0
    some = [Finding(item.name, "ok", 1.0, "low", rng.random(), "") for item in rng.sample(everything, 4)]
    assert 0 < behavioural_score(some)[0] < 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_drop_withdrawal_and_return_are_one_cause(variant: int) -> None:
    strength = 0.1 + variant / 40
    finding = Finding("withdrawal", "ok", 1.0, "medium", strength, "")
    more = [
        finding,
        *(Finding(name, "ok", 1.0, "low", strength, "") for name in ("drop", "return_after_absence")),
    ]
    assert behavioural_score(more) == behavioural_score([finding])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("is_zoned", [True, False])
def test_who_always_writes_at_night_is_normal(variant: int, is_zoned: bool) -> None:
    person = Person(variant)
    know = person.know if is_zoned else unzoned
    events = [
        e
        for day in range(40)
        if person.rng.random() < 0.8
        for e in person.session(day, person.rng.uniform(2, 4.5), person.rng.randint(3, 12), 20)
    ]
    for end in range(len(events) // 2, len(events), 23):
        found = signals(know(events[:end]), events[end - 1][0] + HOUR)
        assert not found.to_dict()["is_late_night"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_who_moves_into_the_night_is_not(variant: int) -> None:
    person = Person(variant)
    hours = [person.rng.uniform(9, 22) for _ in range(30)]
    events = [e for day, hour in enumerate(hours) for e in person.session(day, hour, 6, 40)]
    events += [e for day in range(30, 40) for e in person.session(day, person.rng.uniform(26, 28), 6, 40)]
    found = signals(person.know(events), events[-1][0] + DAY)
    assert found.findings["late_night"].severity == "medium"


def test_round_limits_are_kept_where_they_are_good() -> None:
    assert (Settings().night, Settings().absence, Settings().trend) == ((2, 5), 48 * HOUR, (0.7, 1.3))
