"""The time axis: few words, in order, and everything in its place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram.models import moment
from ethogram.report.charts import ABOUT, axis_of, ticks

FIRST = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lasting", "words"),
    [
        (timedelta(seconds=8), ["09:00:00", "09:00:02"]),
        (timedelta(minutes=9), ["09:00", "09:02"]),
        (timedelta(hours=20), ["12:00", "18:00", "3 Mar"]),
        (timedelta(days=20), ["4 Mar", "8 Mar"]),
        (timedelta(days=200), ["Apr 2026"]),
        (timedelta(days=4000), ["2028"]),
    ],
)
def test_words_fit_how_long_it_lasts(lasting, words):
    found = [said for _, said in ticks(axis_of([FIRST, FIRST + lasting]))]
    assert found[: len(words)] == words


def test_numbers_of_events_are_round():
    found = ticks(axis_of([moment(0), moment(99_000_000)], timed=False))
    assert [said for _, said in found] == ["no. 20", "no. 40", "no. 60", "no. 80", "no. 100"]


@given(st.integers(0, 2 * 10**17), st.integers(0, 5 * 10**16), st.booleans())
def test_few_words_in_order_within_the_width(start, length, timed):
    axis = axis_of([moment(start), moment(start + length)], timed=timed)
    found = ticks(axis)
    places = [at for at, _ in found]
    assert len(found) <= ABOUT + 1
    assert places == sorted(places)
    assert all(0 <= at <= 100 for at in places)
    assert 0 < axis.place(moment(start)) <= axis.place(moment(start + length)) < 100
