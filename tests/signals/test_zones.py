"""The subject's own clock."""

from datetime import UTC, datetime

import pytest

from ethogram.models import Event
from ethogram.signals.base import Unmeasured
from ethogram.signals.options import Options
from ethogram.signals.timing import is_zone, late_night, local_hour, local_time


def at(text: str, **attributes: object) -> Event:
    return Event.sample(at=datetime.fromisoformat(text).replace(tzinfo=UTC), attributes=attributes)


def test_summer_time_moves_the_clock_by_an_hour():
    winter = at("2026-01-15 02:30", time_zone="Europe/Berlin")
    summer = at("2026-07-15 02:30", time_zone="Europe/Berlin")
    assert local_hour(winter) == 3.5
    assert local_hour(summer) == 4.5


def test_the_hour_that_summer_time_skips_is_never_shown():
    # In Berlin on 2026-03-29 two o'clock is followed by three: 00:59 UTC is 01:59, 01:00 UTC is 03:00.
    assert late_night(at("2026-03-29 00:59", time_zone="Europe/Berlin")) == 0.0
    assert local_hour(at("2026-03-29 01:00", time_zone="Europe/Berlin")) == 3.0


def test_the_hour_that_comes_twice_reads_the_same_twice():
    # In New York on 2026-11-01 the hour from one to two comes twice: at 05:30 and at 06:30 UTC.
    assert local_hour(at("2026-11-01 05:30", time_zone="America/New_York")) == 1.5
    assert local_hour(at("2026-11-01 06:30", time_zone="America/New_York")) == 1.5


@pytest.mark.parametrize(
    ("local", "night"),
    [("01:59:59", 0.0), ("02:00:00", 1.0), ("04:59:59", 1.0), ("05:00:00", 0.0), ("15:00:00", 0.0)],
)
def test_late_night_is_from_two_to_five(local: str, night: float):
    assert late_night(Event.sample(local=f"2026-11-15 {local}", zone="Asia/Kolkata")) == night


def test_three_at_night_on_the_server_is_not_night_for_somebody_in_tokyo():
    assert late_night(at("2026-11-15 03:00", time_zone="Asia/Tokyo")) == 0.0


def test_the_default_zone_is_for_subjects_who_do_not_say():
    paris = Options(time_zone="Europe/Paris")
    assert late_night(at("2026-01-15 03:00"), options=paris) == 1.0
    assert late_night(at("2026-01-15 03:00", time_zone="Asia/Tokyo"), options=paris) == 0.0


def test_without_a_zone_or_without_times_there_is_no_local_time():
    assert late_night(Event.sample()) is None
    assert late_night(Event.sample(timed=False, attributes={"time_zone": "UTC"})) is None


@pytest.mark.parametrize(
    "name",
    [
        "Mars/Olympus",
        "../../etc/passwd",
        "/etc/localtime",
        "localtime",
        "Factory",
        "",
        " ",
        "UTC\0",
        7,
        ["UTC"],
    ],
)
def test_a_zone_that_is_none_is_reported_and_never_crashes(name: object):
    found = local_time(at("2026-01-15 03:00", time_zone=name), Options())
    if name == "":
        assert found is None  # an empty field says nothing, rather than something wrong
    else:
        assert isinstance(found, Unmeasured)
        assert "time zone" in found.reason


def test_an_unknown_zone_is_not_replaced_by_the_default():
    found = late_night(at("2026-01-15 03:00", time_zone="Mars/Olympus"), options=Options("Europe/Paris"))
    assert found == Unmeasured("unknown time zone 'Mars/Olympus'")


def test_a_long_zone_name_makes_a_short_reason():
    found = local_time(at("2026-01-15 03:00", time_zone="x" * 100_000), Options())
    assert isinstance(found, Unmeasured)
    assert len(found.reason) < 100


def test_the_ends_of_time_are_absent_rather_than_an_error():
    first = Event.sample(at=datetime(1, 1, 1, tzinfo=UTC), attributes={"time_zone": "America/New_York"})
    assert local_time(first, Options()) is None


def test_a_zone_name_is_spelled_exactly():
    assert is_zone("Europe/Berlin")
    assert not is_zone("europe/berlin")
