"""Validating on people: who is looked at, what is planted, and how figures come about."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from ethogram.config import Settings
from ethogram.modes.plant_usage import Case, draw, planted, to_expect
from ethogram.modes.plant_usage_change import CHANGES, middle_hour
from ethogram.modes.plant_usage_steady import steady, steady_cases
from ethogram.modes.validate_usage_fixed import fixed_episodes, fixed_limits
from ethogram.modes.validate_usage_found import Opening, moments, morning_of, openings, usage_patterns
from ethogram.modes.validate_usage_natural import falls, natural_falls
from ethogram.modes.validate_usage_people import at_night, groups_of, people_of, sessions_of, well_known
from ethogram.modes.validate_usage_rates import by_cause, final_silence, rate, rates
from ethogram.modes.validate_usage_recall import delay, recall
from ethogram.modes.validate_usage_shared import Shared
from ethogram.records import Event

HOUR, DAY = 3_600, 86_400
START = 1_767_225_600
"""Thursday 1 January 2026, midnight UTC."""


def every_day(days: int, hours: tuple[int, ...] = (10, 14, 18), start: int = START) -> list[int]:
    """A message at each of these hours of so many days."""
    return [start + day * DAY + hour * HOUR for day in range(days) for hour in hours]


def opening(at: float, pattern: str = "withdrawal", level: str = "medium", **more: object) -> Opening:
    return Opening("ann", pattern, "activity", level, at, **more)  # type: ignore[arg-type]


def test_people_take_three_weeks_and_thirty_events() -> None:
    people = {
        "both": every_day(22, (10, 12)),
        "short": every_day(21, (10, 12)),
        "few": every_day(29, (10,)),
        "just": [*every_day(29, (10,)), START + 29 * DAY],
    }
    assert set(well_known(people)) == {"both", "just"}
    halves = [set(well_known(people, half)) for half in ("tune", "report")]
    assert halves[0] | halves[1] == {"both", "just"}
    assert not halves[0] & halves[1]


def test_what_an_assistant_writes_is_nobodys_activity() -> None:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    events = [Event.sample(subject="ann", at=at, id="1", attributes={"role": "user"})]
    events += [Event.sample(subject=f"b{k}", at=at, id=f"2{k}", attributes={"role": role})
               for k, role in enumerate(("assistant", "system", "tool"))]  # fmt: skip
    assert people_of(events) == {"ann": [int(at.timestamp())]}


def test_groups_say_how_people_are() -> None:
    people = {"owl": every_day(28, (3, 4)), "lark": every_day(28, (6,)), "bee": every_day(28, (8, 9, 10))}
    found = groups_of(people, "UTC", "all")
    assert (found["night people"], found["day people"]) == (["owl"], ["lark", "bee"])
    # 28 events in 27 days are seven a week, three times as many 21; so nobody is sparse.
    assert (found["middle"], found["busy"]) == (["owl", "lark"], ["bee"])
    assert "sparse" not in found
    assert sorted(found.get("tuned half", []) + found.get("other half", [])) == ["bee", "lark", "owl"]
    # Without a zone nobody knows what night is.
    assert "night people" not in groups_of(people, None, "report")


@pytest.mark.parametrize("day", ["2026-01-15", "2026-03-08", "2026-07-01", "2026-11-01"])
def test_a_day_begins_at_five_on_the_own_clock(day: str) -> None:
    # The second and the last are those on which summer time begins and ends.
    five = datetime.fromisoformat(f"{day}T05:00").replace(tzinfo=ZoneInfo("America/Los_Angeles"))
    number = (five.date() - date(1970, 1, 1)).days
    assert morning_of(number, "America/Los_Angeles") == five.timestamp()


def test_moments_are_closes_of_days_and_beginnings_of_sessions() -> None:
    times = [START + 10 * HOUR, START + 10 * HOUR + 60, START + DAY + 12 * HOUR, START + DAY + 12 * HOUR + 9]
    closes = [START + DAY + 5 * HOUR + 1]
    assert moments(times, None) == sorted([times[0], times[2], times[3], *closes])


@pytest.mark.parametrize(
    ("times", "after", "on"),
    [
        # Twenty messages once a day for a week: a day later nothing came in the last hour.
        (every_day(7, (10,) * 20), DAY, "withdrawal"),
        # And while writing them, the hour is far above the week's rate.
        (every_day(7, (10,) * 20), 60, "spike"),
        # Somebody new is compared with five an hour.
        ([START, START + 60, START + 120], 2 * HOUR, "withdrawal"),
        # Never came back, and is told to have returned.
        (every_day(1, (10,) * 40), 30 * DAY, "return_after_absence"),
        (every_day(2, (10,) * 25), 3 * DAY, "return_after_absence"),
        # Always writes at three.
        (every_day(30, (3,)), 60, "late_night"),
    ],
)
def test_fixed_limits_are_wrong_in_the_known_ways(times: list[int], after: int, on: str) -> None:
    assert on in fixed_limits(times, None, times[-1] + after)


def test_fixed_limits_know_nothing_before_the_first_event() -> None:
    assert fixed_limits([START], None, START - 1) == frozenset()


def test_an_episode_of_fixed_limits_ends_after_a_week_without_it() -> None:
    # One at three in the morning, the next within a week of it, and one more than a week later.
    times = [START + 3 * HOUR, START + 5 * DAY + 3 * HOUR, START + 15 * DAY + 3 * HOUR]
    found = [at for name, at in fixed_episodes(times, None, times) if name == "late_night"]
    assert found == [times[0], times[2]]


def test_a_rate_is_openings_over_weeks() -> None:
    told = rate([2, 0], [6.0, 4.0], seed=0)
    assert (told["rate"], told["openings"], told["with_any"], told["people"]) == (0.2, 2, 0.5, 2)
    # Drawn again, both may be the first (2 of 6 weeks, twice) or both the second.
    assert told["interval"] == [0.0, pytest.approx(1 / 3, abs=1e-4)]


def test_one_cause_within_a_week_counts_once() -> None:
    days = [0.0, 5.0, 11.0, 30.0]
    assert by_cause([opening(START + day * DAY) for day in days]) == 2
    assert by_cause([opening(START), opening(START, is_on=False)]) == 1
    lasting = opening(START, until=START + 20 * DAY)
    assert by_cause([lasting, opening(START + 25 * DAY)]) == 1


def test_what_opens_after_the_last_event_is_told_apart() -> None:
    people = {"ann": every_day(28)}
    last = people["ann"][-1]
    found = {"ann": [opening(last - DAY), opening(last + 5 * DAY)]}
    rows = rates({}, people, found, "UTC", "all", 0)
    whole = next(
        one for one in rows if (one["group"], one["pattern"], one["level"]) == ("all", "all", "medium")
    )
    assert whole["openings"] == 1
    silent = {one["days"]: one["quiet"] for one in final_silence({}, people, found) if one["level"] == "low"}
    assert silent == {3: 0, 7: 1, 14: 1, 28: 1}


def test_low_counts_medium_too_and_not_the_other_way() -> None:
    people = {"ann": every_day(28)}
    found = {"ann": [opening(START + DAY, level="low"), opening(START + 20 * DAY)]}
    told = {one["level"]: one["openings"] for one in rates({}, people, found, None, "tune", 0)
            if one["group"] == one["pattern"] == "all"}  # fmt: skip
    assert told == {"low": 2, "medium": 1}


def test_what_is_to_be_expected() -> None:
    # Weeks of 21, 21, 21 and 7: the quietest promises one a day, the mean two and a half.
    times = [*every_day(21), *every_day(7, (10,), START + 21 * DAY)]
    start = START + 28 * DAY
    assert to_expect(times, start, 14, "quietest") == pytest.approx(14)
    assert to_expect(times, start, 14, "mean") == pytest.approx(70 / 27.6 * 14, rel=0.01)
    assert to_expect(times[-14:], start, 14, "quietest") == 0


@pytest.mark.parametrize("background", ["real", "habit"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_case_is_the_persons_own_until_the_change(change: str, background: str) -> None:
    times = sorted(at + 60 * (k % 4) for k, at in enumerate(every_day(60, (9, 13, 13, 15))))
    case = draw("ann", times, change, background, "quietest", "UTC", random.Random(4))
    assert case is not None
    early = [at for at in times if at < case.start - 12 * HOUR]
    assert list(case.times[: len(early)]) == early
    assert [at for at in case.control if at < case.start] == [at for at in times if at < case.start]
    assert case.expected >= 10
    assert case.times != case.control


def test_the_same_seed_plants_the_same() -> None:
    people = {"ann": every_day(50), "bo": every_day(40, (8, 9, 20))}
    first, again, other = (list(planted(people, "UTC", seed, 2)) for seed in ("1", "1", "2"))
    assert first == again != other
    assert {one.background for one in first} == {"real", "habit"}
    assert {one.measure for one in first} == {"quietest", "mean"}
    assert list(steady_cases(people, "UTC", "1", 1)) == list(steady_cases(people, "UTC", "1", 1))


def test_what_each_change_does() -> None:
    before, rng = every_day(28, (9, 9, 10, 15)), random.Random(1)
    before = sorted(at + 60 * (k % 4) for k, at in enumerate(before))
    inside = [at + 28 * DAY for at in before]
    made = {name: change(inside, before, "UTC", rng) for name, change in CHANGES.items()}
    sessions = len(sessions_of(inside))
    # A fifth of 112, give or take three deviations of 4.2.
    assert 9 < len(made["fewer_events"]) < 36
    kept = {tuple(one) for one in sessions_of(made["fewer_sessions"])}
    assert kept < {tuple(one) for one in sessions_of(inside)}
    assert middle_hour(made["night_shift"], "UTC") == pytest.approx(3.5, abs=0.1)
    assert at_night(made["into_night"], "UTC") > 0.5
    assert sorted(at % DAY for at in made["into_night"]) != sorted(at % DAY for at in inside)
    assert len(made["twice_as_long"]) == 2 * len(inside)
    assert (len(made["stretched"]), len(sessions_of(made["stretched"]))) == (len(inside), sessions)
    assert made["absence"] == []


def test_steady_people_keep_their_sessions_at_the_pace_of_their_busiest_month() -> None:
    # Two sessions a day for four weeks, then nothing: two a day on average, for a hundred days.
    made = steady([*every_day(28, (9, 20)), START + 80 * DAY], 100, "UTC", random.Random(2))
    assert 150 < len(made) < 250
    assert {at // HOUR % 24 for at in made} <= {0, 9, 20}


CASE = Case("ann", "fewer_sessions", "real", "mean", START, 14, START + 14 * DAY, 12.0, (START,), (START,))


@pytest.mark.parametrize(
    ("found", "level", "days"),
    [
        ([], "low", float("inf")),
        ([opening(START + 3 * DAY)], "medium", 3.0),
        ([opening(START + 3 * DAY, "frequency_drop", "low")], "low", 3.0),
        ([opening(START + 3 * DAY, "frequency_drop", "low")], "medium", float("inf")),
        ([opening(START + 3 * DAY, "late_night_shift")], "low", float("inf")),
        ([opening(START + 20 * DAY)], "low", float("inf")),
        # Told two days before, and open: the change cannot be told again.
        ([opening(START - 2 * DAY)], "low", None),
        ([opening(START - 2 * DAY), opening(START + DAY)], "low", 1.0),
        ([opening(START - 30 * DAY, until=START - 20 * DAY)], "low", float("inf")),
    ],
)
def test_delay_is_from_the_change_to_the_first_wanted_opening(
    found: list[Opening], level: str, days: float | None
) -> None:
    assert delay(CASE, found, level) == days


def test_recall_stands_beside_luck() -> None:
    hit, miss = [opening(START + 2 * DAY)], [opening(START + 99 * DAY)]
    low, medium = recall({"set": "made"}, [CASE, CASE], [(hit, hit), (hit, miss)])
    assert (low["level"], low["recall"], low["control"], low["delay_days"]) == ("low", 1.0, 0.5, 2.0)
    assert medium["found"] == 2
    # Two of two: Wilson's interval begins at 2 / (2 + 1.96 ** 2).
    assert low["interval"] == [pytest.approx(2 / (2 + 1.959964**2), abs=1e-4), 1.0]
    assert [one["cases"] for one in low["by_expected"]] == [2, 0, 0]


def test_a_history_measured_from_where_it_changed_gives_what_analyze_gives() -> None:
    own = every_day(60, (9, 20))
    quiet = [at for at in own if at < START + 45 * DAY] + every_day(1, (9,), START + 70 * DAY)
    nights = [at for at in own if at < START + 30 * DAY] + every_day(30, (2, 3, 4), START + 30 * DAY)
    library = usage_patterns(Settings())
    shared = Shared("UTC", library, Settings())
    for times, wanted in ((quiet, {"withdrawal", "return_after_absence"}), (nights, {"late_night_shift"})):
        whole = openings({"somebody": times}, "UTC", library, Settings())["somebody"]
        assert shared.openings(own, times) == whole
        assert wanted <= {one.pattern for one in whole}


def test_natural_falls_begin_once() -> None:
    assert falls([1.0, 0.1, None, 0.3, 0.1, 0.6, 0.2]) == 2
    # Three a day for five weeks, then one a day for two: from there on no week has a fifth of 21.
    times = [*every_day(35), *every_day(14, (10,), START + 35 * DAY)]
    week = next(natural_falls({}, {"ann": times}, "UTC"))
    assert (week["days"], week["fallen"], week["falls"]) == (7, 0, 0)
    # And with one in two weeks: some weeks have none.
    times = [*every_day(35), START + 48 * DAY]
    week = next(natural_falls({}, {"ann": times}, "UTC"))
    assert week["falls"] == 1
