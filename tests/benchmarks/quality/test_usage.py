"""Validating on people: who is looked at, what is planted, and how figures come about."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from benchmarks.quality.usage import Shared, watched
from benchmarks.quality.usage_baseline import fixed_episodes, fixed_limits
from benchmarks.quality.usage_changes import (
    CHANGES,
    MOST_EACH,
    NIGHT_RISE,
    Case,
    Row,
    mean_minutes,
    middle_hour,
    reached,
    row,
    twice_as_long,
)
from benchmarks.quality.usage_figures import (
    by_cause,
    delay,
    falls,
    final_silence,
    natural_falls,
    rate,
    rates,
    reached_at,
    recall,
)
from benchmarks.quality.usage_people import (
    Opening,
    active_weeks,
    at_night,
    groups_of,
    moments,
    morning_of,
    openings,
    people_of,
    sessions_of,
    usage_event,
    usage_patterns,
    well_known,
)
from benchmarks.quality.usage_planting import draw, planted, steady, steady_rows, to_expect
from ethogram.config import Settings
from ethogram.language.ast import Compare, Number, Pattern, Signal, Threshold
from ethogram.language.compiler import compile_pattern
from ethogram.models import Event

HOUR, DAY = 3_600, 86_400
START = 1_767_225_600
"""Thursday 1 January 2026, midnight UTC."""


def every_day(days: int, hours: tuple[int, ...] = (10, 14, 18), start: int = START) -> list[int]:
    """A message at each of these hours of so many days."""
    return [start + day * DAY + hour * HOUR for day in range(days) for hour in hours]


def opening(at: float, pattern: str = "withdrawal", severity: str = "medium", **more: object) -> Opening:
    """An opening that had its severity from the beginning, where nothing else is said."""
    known = {"medium_at": at if severity == "medium" else None, **more}
    return Opening("ann", pattern, "activity", severity, at, **known)  # type: ignore[arg-type]


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
    ats = [at for name, at in fixed_episodes(times, None, times) if name == "late_night"]
    assert ats == [times[0], times[2]]


def test_a_rate_is_openings_over_weeks() -> None:
    told = rate([2, 0], [6.0, 4.0], [4, 1], seed=0)
    assert (told["rate"], told["openings"], told["with_any"], told["people"]) == (0.2, 2, 0.5, 2)
    # Drawn again, both may be the first (2 of 6 weeks, twice) or both the second.
    assert told["interval"] == [0.0, pytest.approx(1 / 3, abs=1e-4)]
    assert (told["active_weeks"], told["active_rate"]) == (5, 0.4)
    assert told["active_interval"] == [0.0, 0.5]


def test_an_active_week_is_a_calendar_week_with_an_event() -> None:
    # Sunday 4 January, Monday the 5th before and after five in the morning, and Monday the 26th.
    sunday, monday = START + 3 * DAY + 12 * HOUR, START + 4 * DAY
    assert active_weeks({"ann": [sunday, monday + HOUR]}, None) == {"ann": 1}
    assert active_weeks({"ann": [sunday, monday + 6 * HOUR]}, None) == {"ann": 2}
    assert active_weeks({"ann": [sunday, monday + 6 * HOUR, monday + 27 * DAY]}, None) == {"ann": 3}


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
        row for row in rows if (row["group"], row["pattern"], row["severity"]) == ("all", "all", "medium")
    )
    assert whole["openings"] == 1
    silent = {
        item["days"]: item["quiet"] for item in final_silence({}, people, found) if item["severity"] == "low"
    }
    assert silent == {3: 0, 7: 1, 14: 1, 28: 1}


def test_low_counts_medium_too_and_not_the_other_way() -> None:
    people = {"ann": every_day(28)}
    found = {"ann": [opening(START + DAY, severity="low"), opening(START + 20 * DAY)]}
    told = {rate["severity"]: rate["openings"] for rate in rates({}, people, found, None, "tune", 0)
            if rate["group"] == rate["pattern"] == "all"}  # fmt: skip
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
    assert {item.background for item in first} == {"real", "habit"}
    assert {item.measure for item in first} == {"quietest", "mean"}
    assert list(steady_rows(people, "UTC", "1", 1)) == list(steady_rows(people, "UTC", "1", 1))
    # Stretched, steady and what must rise by so much get half of the draws.
    counts = {(item.change, item.rise): len(item.cases) for item in first}
    assert counts["fewer_events", None] == counts["night_shift", None] == 2
    assert counts["stretched", None] <= 1
    assert counts["into_night", NIGHT_RISE] == 1


def case(who: str, rise: float | None, control: tuple[int, ...] = (START,)) -> Case:
    return replace(CASE, who=who, change="into_night", reached=rise, control=control)


def test_a_change_that_comes_to_too_little_is_counted_where_it_is_left_out() -> None:
    rng, people = random.Random(1), {"ann": [START], "bo": [START]}
    changed = (START + HOUR,)

    def drawn(who: str, _: random.Random) -> Case:
        return case(who, 0.5 if who == "ann" else 0.1, changed)

    name = ("into_night", "real", "mean")
    whole = row((*name, None), people, 4, rng, drawn)
    assert (len(whole.cases), whole.drawn, whole.too_small) == (4, 4, 0)
    # In turns: each time that ann is drawn bo is drawn too, the last time maybe not.
    clear = row((*name, 0.3), people, 4, rng, drawn)
    assert ({case.who for case in clear.cases}, len(clear.cases)) == ({"ann"}, 4)
    assert clear.drawn == 4 + clear.too_small
    assert clear.too_small in (3, 4)
    # What changes nothing is no change, and nobody stands in a row more often than that.
    same = row((*name, None), people, 4, rng, lambda who, _: case(who, 0.0))
    assert (same.cases, same.drawn, same.too_small) == ((), 2 * MOST_EACH, 2 * MOST_EACH)
    assert len(row((*name, None), people, 99, rng, drawn).cases) == 2 * MOST_EACH


def test_a_draw_to_the_night_is_kept_however_little_it_comes_to() -> None:
    # A message in every hour of the day: wherever the day is moved, an eighth of it is night.
    people = {"ann": every_day(60, tuple(range(24)))}
    rows = {
        item.rise: item for item in planted(people, "UTC", "1", 2, ["night_shift"]) if item.measure == "mean"
    }
    assert rows[None].drawn == MOST_EACH or len(rows[None].cases) == 2
    assert (rows[NIGHT_RISE].cases, rows[NIGHT_RISE].too_small) == ((), rows[NIGHT_RISE].drawn)
    assert rows[NIGHT_RISE].drawn > 0


def test_twice_as_long_is_twice() -> None:
    # A talk of three messages in ten minutes, one message, and a talk of two in four minutes.
    inside = [START, START + 120, START + 600, START + 5 * HOUR, START + 9 * HOUR, START + 9 * HOUR + 240]
    made = twice_as_long(inside, [], None, random.Random(1))
    assert [(item[-1] - item[0]) // 60 for item in sessions_of(made)] == [20, 0, 8]
    assert made[:5] == [START, START + 120, START + 600, START + 720, START + 1200]
    assert mean_minutes(inside) == pytest.approx(14 / 3)
    assert reached("twice_as_long", inside, made, None) == pytest.approx(2)
    assert reached("twice_as_long", inside[3:4], inside[3:4], None) is None


def test_what_a_change_came_to() -> None:
    noon, night = every_day(4, (12,)), every_day(4, (3,))
    assert reached("into_night", noon, [*noon[:2], *night[2:]], "UTC") == 0.5
    assert reached("fewer_events", noon, noon[:1], None) == 0.25
    assert reached("absence", noon, [], None) == 0


def test_what_each_change_does() -> None:
    before, rng = every_day(28, (9, 9, 10, 15)), random.Random(1)
    before = sorted(at + 60 * (k % 4) for k, at in enumerate(before))
    inside = [at + 28 * DAY for at in before]
    made = {name: change(inside, before, "UTC", rng) for name, change in CHANGES.items()}
    sessions = len(sessions_of(inside))
    # A fifth of 112, give or take three deviations of 4.2.
    assert 9 < len(made["fewer_events"]) < 36
    kept = {tuple(item) for item in sessions_of(made["fewer_sessions"])}
    assert kept < {tuple(item) for item in sessions_of(inside)}
    assert middle_hour(made["night_shift"], "UTC") == pytest.approx(3.5, abs=0.1)
    assert at_night(made["into_night"], "UTC") > 0.5
    assert sorted(at % DAY for at in made["into_night"]) != sorted(at % DAY for at in inside)
    assert reached("twice_as_long", inside, made["twice_as_long"], "UTC") == pytest.approx(2)
    assert len(sessions_of(made["twice_as_long"])) == sessions
    assert (len(made["stretched"]), len(sessions_of(made["stretched"]))) == (len(inside), sessions)
    assert made["absence"] == []


def test_steady_people_keep_their_sessions_at_the_pace_of_their_busiest_month() -> None:
    # Two sessions a day for four weeks, then nothing: two a day on average, for a hundred days.
    made = steady([*every_day(28, (9, 20)), START + 80 * DAY], 100, "UTC", random.Random(2))
    assert 150 < len(made) < 250
    assert {at // HOUR % 24 for at in made} <= {0, 9, 20}


CASE = Case("ann", "fewer_sessions", "real", "mean", START, 14, START + 14 * DAY, 12.0, (START,), (START,))


@pytest.mark.parametrize(
    ("found", "severity", "days"),
    [
        ([], "low", float("inf")),
        ([opening(START + 3 * DAY)], "medium", 3.0),
        ([opening(START + 3 * DAY, "frequency_drop", "low")], "low", 3.0),
        ([opening(START + 3 * DAY, "frequency_drop", "low")], "medium", float("inf")),
        ([opening(START + 3 * DAY, "late_night_shift")], "low", float("inf")),
        ([opening(START + 20 * DAY)], "low", float("inf")),
        # Told two days before, and open: the change cannot be told again.
        ([opening(START - 2 * DAY)], "low", None),
        # Whatever was told after it: the case is left out, found or not.
        ([opening(START - 2 * DAY), opening(START + DAY)], "low", None),
        # Open at low, and risen after the change: left out at low, found at medium when it rose.
        ([opening(START - DAY, medium_at=START + 4 * DAY)], "low", None),
        ([opening(START - DAY, medium_at=START + 4 * DAY)], "medium", 4.0),
        # Opened at low, and risen later: each severity has its own delay.
        ([opening(START + DAY, medium_at=START + 6 * DAY)], "low", 1.0),
        ([opening(START + DAY, medium_at=START + 6 * DAY)], "medium", 6.0),
        # Risen only after the period.
        ([opening(START + DAY, medium_at=START + 15 * DAY)], "medium", float("inf")),
        ([opening(START - 30 * DAY, until=START - 20 * DAY)], "low", float("inf")),
    ],
)
def test_delay_is_from_the_change_to_the_first_wanted_opening(
    found: list[Opening], severity: str, days: float | None
) -> None:
    assert delay(CASE, found, severity) == days


def test_recall_stands_beside_luck() -> None:
    hit, miss = [opening(START + 2 * DAY)], [opening(START + 99 * DAY)]
    cases = (replace(CASE, reached=0.1), replace(CASE, reached=0.3))
    item = Row("fewer_sessions", "real", "mean", None, cases, 5, 3)
    low, medium = recall({"set": "made"}, [item], [[(hit, hit), (hit, miss)]])
    assert (low["severity"], low["recall"], low["control"], low["delay_days"]) == ("low", 1.0, 0.5, 2.0)
    assert (low["drawn"], low["too_small"], low["people"], low["reached"]) == (5, 3, 1, 0.2)
    assert medium["found"] == 2
    # Two of two: Wilson's interval begins at 2 / (2 + 1.96 ** 2).
    assert low["interval"] == [pytest.approx(2 / (2 + 1.959964**2), abs=1e-4), 1.0]
    assert [item["cases"] for item in low["by_expected"]] == [2, 0, 0]


def test_what_was_open_before_counts_neither_as_found_nor_as_luck() -> None:
    open_, hit = [opening(START - DAY), opening(START + DAY)], [opening(START + DAY)]
    item = Row("fewer_sessions", "real", "mean", None, (CASE, CASE), 2, 0)
    low, _ = recall({"set": "made"}, [item], [[(open_, open_), (hit, [])]])
    assert (low["cases"], low["open_before"], low["found"], low["control"]) == (1, 1, 1, 0.0)


def test_a_history_measured_from_where_it_changed_gives_what_analyze_gives() -> None:
    own = every_day(60, (9, 20))
    quiet = [at for at in own if at < START + 45 * DAY] + every_day(1, (9,), START + 70 * DAY)
    nights = [at for at in own if at < START + 30 * DAY] + every_day(30, (2, 3, 4), START + 30 * DAY)
    library = usage_patterns(Settings())
    shared = Shared("UTC", library, Settings())
    for times, wanted in ((quiet, {"withdrawal", "return_after_absence"}), (nights, {"late_night_shift"})):
        whole = openings({"somebody": times}, "UTC", library, Settings())["somebody"]
        found = shared.openings(own, times)
        assert [replace(item, medium_at=None) for item in found] == whole
        assert wanted <= {item.pattern for item in whole}
        assert all((item.severity == "low") == (item.medium_at is None) for item in found)
        assert all((reached_at(item, "medium") or item.at) >= item.at for item in found)


def test_an_opening_reaches_medium_when_its_severity_rises() -> None:
    x = Signal("x")
    severities = (("low", None), ("medium", Compare(">", x, Number(0.8))))
    busier = Pattern(
        "busier", Threshold(Compare(">", x, Number(0.4))), confidence=Number(0.5), severities=severities
    )
    # Readings low at the second event, medium at the fourth; and medium at once, after it cleared.
    values = [0.0, 0.5, 0.6, 0.9, 0.7, 0.0, 0.95]
    events = [
        replace(usage_event(k, START + k * DAY), readings={"x": value}) for k, value in enumerate(values)
    ]
    found = watched(compile_pattern(busier), events, datetime.fromtimestamp(START + 9 * DAY, UTC))
    days = [((item.at - START) / DAY, ((item.medium_at or 0) - START) / DAY) for item in found]
    assert days == [(1.0, 3.0), (6.0, 6.0)]


def test_no_pattern_of_usage_is_a_combination() -> None:
    # Those would take detections: `watched` looks at events alone.
    assert not any(program.is_combination for program in usage_patterns(Settings()).programs)


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
