"""Aggregates: no moment of a day that is over stays, durations and counts do."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

from ethogram.usage.retention import coarse, forget_before
from ethogram.usage.sessions import read_sessions
from ethogram.usage.settings import Settings
from ethogram.usage.summary import Summary, read_days, read_stretches, record
from usage_stores import BEGIN, DAY, HALF_HOUR, WHO, fill, is_in, opened


def rows_of(path: Path) -> list[Summary]:
    raw = sqlite3.connect(path)
    rows = raw.execute("SELECT first, newest, events, ahead, zoned, stretches, days FROM people").fetchall()
    assert raw.execute("SELECT count(*) FROM uses").fetchone() == (0,)
    raw.close()
    return [Summary(*row) for row in rows]


def test_aggregates_have_no_moment_of_a_day_that_is_over(path, key):
    with opened(path, key, keep="aggregates") as tracker:
        fill(tracker, 10)
        today = BEGIN + 9 * DAY - 5 * 3600  # five in the morning
        (state,) = rows_of(path)
        fine = [stretch for stretch in read_stretches(state) if stretch.first]
        assert fine
        assert all(item.half_hour * HALF_HOUR >= today for item in fine)
        assert state.first % HALF_HOUR == 0
        list(tracker.sweep(BEGIN + 11 * DAY))
    (state,) = rows_of(path)
    assert not any(stretch.first for stretch in read_stretches(state))
    assert (state.first % HALF_HOUR, state.newest % HALF_HOUR) == (0, 0)
    assert state.events == sum(stretch.events for stretch in read_stretches(state)) == 50


def test_somebody_who_does_not_come_back_is_coarse_when_others_write(path, key):
    # As the file has it: the moment itself, and the half-hour with the seconds in it.
    moment = struct.pack(">I", BEGIN + 77)
    seconds = struct.pack("<IHHH", (BEGIN + 77) // HALF_HOUR, 0, 77, 77)
    with opened(path, key, keep="aggregates") as tracker:
        tracker.record(WHO, BEGIN + 77, 5)
        assert is_in(moment, path)
        assert is_in(seconds, path)
        tracker.record("bo", BEGIN + DAY + 88, 5)
    firsts = sorted(state.first % HALF_HOUR for state in rows_of(path))
    assert firsts == [0, 88]
    assert not is_in(moment, path)
    assert not is_in(seconds, path)


def test_a_name_that_lasts_for_weeks_keeps_no_moment_longer_than_its_day(path, key):
    with opened(path, key, keep="aggregates") as tracker:
        for day in range(10):
            for k in range(4):
                tracker.record(WHO, BEGIN + day * DAY + k * 3000 + 77, 5, session="the whole app")
    (state,) = rows_of(path)
    today = BEGIN + 9 * DAY - 5 * 3600  # five in the morning
    fine = [stretch for stretch in read_stretches(state) if stretch.first]
    assert len(fine) == 4
    assert all(item.half_hour * HALF_HOUR >= today for item in fine)
    assert state.events == sum(stretch.events for stretch in read_stretches(state)) == 40


def test_what_goes_on_over_the_close_of_a_day_is_cut_there():
    """From half past four to half past five in the morning, every two minutes."""
    five = BEGIN // DAY * DAY + 5 * 3600
    state = Summary()
    for k in range(-900, 901, 120):
        state = record(state, five + k + 7)
    later = coarse(state, five + 3600)
    moments = [(stretch.half_hour * HALF_HOUR, stretch.first) for stretch in read_stretches(later)]
    assert moments == [(five - HALF_HOUR, 0), (five, 67)]
    assert later.events == state.events


def test_coarse_sessions_are_as_many_and_as_long_as_they_were():
    """Three sessions: 1 minute, then 44 minutes of pause, 5 minutes, then 70 minutes over midnight."""
    starts = [(9 * 3600 + 10, 60), (9 * 3600 + 45 * 60, 300), (23 * 3600 + 17 * 60 + 3, 4200)]
    state = Summary()
    noon = BEGIN // DAY * DAY
    for start, length in starts:
        for k in range(0, length + 1, 60 if length < 4200 else 700):
            state = record(state, noon + start + k, length=50)
    later = coarse(state, noon + 3 * DAY)
    fine, rough = (read_sessions(item, noon + 3 * DAY, Settings()) for item in (state, later))
    assert [item.minutes for item in rough] == [item.minutes for item in fine] == [1, 5, 70]
    assert [item.events for item in rough] == [item.events for item in fine]
    assert [item.octaves for item in rough] == [item.octaves for item in fine]
    assert [item.start % HALF_HOUR for item in rough] == [0, 0, 0]
    assert [item.start // HALF_HOUR for item in rough] == [item.start // HALF_HOUR for item in fine]
    assert coarse(later, noon + 4 * DAY) == later
    assert later.days == state.days


def test_forgetting_leaves_what_came_after_a_moment():
    state = Summary()
    for day in range(10):
        for k in range(3):
            state = record(state, BEGIN + day * DAY + k * 3600, length=9)
    left = forget_before(state, BEGIN + 4 * DAY + 1800)
    assert left is not None
    # The first message of that day was at ten, the moment is half past ten.
    assert left.events == 5 * 3 + 2
    assert left.first == BEGIN + 4 * DAY + 3600
    assert [day.events for day in read_days(left)] == [2, 3, 3, 3, 3, 3]
    assert forget_before(left, BEGIN) is left
    assert forget_before(state, BEGIN + 20 * DAY) is None
    assert forget_before(Summary(), BEGIN) is None
