"""Coming back, breaking off, and sessions: what counts, by whatever name, and on which clock."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ethogram.usage import Settings, Summary, UsageSignals, fuse, record, signals
from ethogram.usage.absence import Absence, is_heavy, is_unusual
from ethogram.usage.sessions import read_sessions
from ethogram.usage.summary import ACTIVE_DAYS, DAYS, read_days
from usage_people import DAY, HOUR, MINUTE

MONDAY = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp())
NOON = MONDAY + 12 * HOUR


def know(times: list[float], state: Summary | None = None, **said: object) -> Summary:
    state = state or Summary()
    for at in times:
        state = record(state, at, **said)  # type: ignore[arg-type]
    return state


def severity(usage_signals: UsageSignals, name: str = "return_after_absence") -> str:
    return usage_signals.findings[name].severity


def is_broken_off(state: Summary, as_of: float) -> bool:
    return signals(state, as_of).findings["abrupt_termination"].severity == "medium"


# --- breaking off -------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, -1])
def test_who_goes_on_after_a_mark_did_not_break_off(order: int) -> None:
    said = [(NOON, {}), (NOON + 60, {"ended_abruptly": True})]
    said += [(NOON + 300 + 60 * k, {}) for k in range(10)] + [(NOON + 900, {"closing": True})]
    state = Summary()
    for at, more in said[::order]:
        state = record(state, at, **more)
    for later in (10, 2 * HOUR, 3 * DAY):
        assert not is_broken_off(state, NOON + 900 + later)
    assert is_broken_off(record(state, NOON + 960, ended_abruptly=True, is_user=False), NOON + 970)


def test_the_session_that_ended_last_is_the_newest_whichever_began_first() -> None:
    state = record(record(Summary(), NOON, session="x"), NOON + 70, session="y")
    state = record(state, NOON + 600, session="x", emotional=True)
    assert is_broken_off(state, NOON + 2 * HOUR)


def test_a_named_session_is_cut_where_nobody_was_there_for_hours() -> None:
    state = know([NOON, NOON + 5 * HOUR, NOON + 12 * HOUR], session="app")
    told = [(session.start, session.end) for session in read_sessions(state, NOON + DAY, Settings())]
    assert told == [(NOON, NOON + 5 * HOUR), (NOON + 12 * HOUR, NOON + 12 * HOUR)]


# --- too little is known ------------------------------------------------------------------------


@pytest.mark.parametrize("later", [10 * MINUTE, 2 * HOUR, 5 * DAY])
@pytest.mark.parametrize("apart", [MINUTE, 40 * HOUR])
def test_of_three_messages_nothing_is_known_and_nothing_is_fused(later: int, apart: int) -> None:
    found = signals(know([NOON, NOON + apart, NOON + 2 * apart]), NOON + 2 * apart + later)
    assert found.status == "insufficient"
    assert found.for_fusion is None
    assert fuse({"text": 0.8, "behaviour": found.for_fusion}).score == pytest.approx(0.8)


def test_a_new_person_who_broke_off_is_told_and_fused() -> None:
    found = signals(record(Summary(), NOON, emotional=True), NOON + HOUR)
    assert found.status == "ok"
    assert found.for_fusion == found.score > 0


# --- coming back --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_no_monday_is_a_return_for_who_works_on_weekdays(seed: int) -> None:
    rng, state = random.Random(seed), Summary()
    for day in range(84):
        if day % 7 > 4:
            continue
        times = sorted(rng.uniform(9, 17) * HOUR for _ in range(30))
        state = know([MONDAY + day * DAY + at for at in times], state)
        if day % 7 == 0:
            assert severity(signals(state, state.newest + MINUTE)) == "none"


def test_no_single_second_makes_something_of_nothing() -> None:
    times = [NOON + day * DAY + k * MINUTE for day in range(20) for k in range(20)]
    state, last = know(times), times[-1]
    told = [severity(signals(know([last + away], state), last + away + 1)) for away in (2 * DAY - 1, 2 * DAY)]
    assert told == ["none", "low"]


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({}, (True, True)),
        ({"pause": 2.9 * DAY}, (True, False)),
        ({"pause": 1.9 * DAY}, (False, False)),
        ({"ratio": 1.4}, (True, False)),
        ({"ratio": 1.05}, (False, False)),
        ({"surprise": 2.0}, (True, False)),
        ({"surprise": 2.0, "missed": 5}, (False, False)),
        ({"weight": 1.6}, (True, False)),
    ],
)
def test_of_severity_medium_is_what_is_long_by_every_measure(
    changed: dict, wanted: tuple[bool, bool]
) -> None:
    plain = Absence(pause=4 * DAY, surprise=2.3, ratio=2, missed=30, weight=1.8, usual=DAY)
    item = replace(plain, **changed)
    assert (is_unusual(item, Settings()), is_heavy(item, Settings())) == wanted


@pytest.mark.parametrize("days", [30, 65, 70, 100, 400])
def test_who_comes_back_after_months_is_back(days: int) -> None:
    times = [NOON + day * DAY + k * MINUTE for day in range(40) for k in range(8)]
    back = times[-1] + days * DAY
    found = signals(know([*times, back], None), back + 1)
    # Somebody was told that they had gone quiet, so that it is of severity low; eight a day were missed.
    assert severity(found) == "low"
    assert found.findings["return_after_absence"].details["missed"] == pytest.approx(8 * days)


def test_a_return_under_the_old_name_or_the_only_name_is_a_return() -> None:
    for name in ("app", None):
        state = know([NOON + day * DAY for day in range(20)], session=name)
        state = record(state, NOON + 31 * DAY, session="app")
        found = signals(state, NOON + 31 * DAY + 60)
        assert severity(found) != "none"
        assert found.findings["return_after_absence"].details["days_away"] == pytest.approx(12)


# --- what is kept -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_days_are_the_newest_seventy_and_the_newest_active_ones_in_any_order(seed: int) -> None:
    rng = random.Random(seed)
    # Weeks, months and years of absence between weeks of use.
    days, at = [], 0
    for _ in range(120):
        at += rng.choice([1, 1, 1, 2, 5, 90, 400][: rng.choice([4, 7])])
        days.append(at)
    times = [NOON + day * DAY for day in days]
    state = know(times)
    wanted = [day for place, day in enumerate(days) if day > days[-1] - DAYS or place >= 120 - ACTIVE_DAYS]
    assert [day.day - NOON // DAY for day in read_days(state)] == wanted
    mixed = rng.sample(times, len(times))
    assert know(mixed) == state


def test_an_event_without_a_zone_is_on_the_clock_known_before() -> None:
    zone, evening = "America/Los_Angeles", int(datetime(2026, 1, 6, 3, tzinfo=UTC).timestamp())
    times = [evening + day * DAY + k * 15 * MINUTE for day in range(35) for k in range(5)]
    state = know(times[140:], know(times[:140], zone=zone))
    found = signals(state, times[-1] + DAY)
    assert severity(found, "late_night") == "none"
    assert found.findings["late_night"].details["share"] == 0
    # 19:00 in Los Angeles is half-hour 28 of a day that begins at five.
    assert {day.active & 1 << 28 for day in read_days(state)} == {1 << 28}
