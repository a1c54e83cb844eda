"""Order: events sorted at once, or held back for those that come late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram.errors import Conflict
from ethogram.ingest import Buffer, flush, in_order, ordering, release
from ethogram.models import Event
from waiting import calls_of

START = datetime(2026, 1, 1, tzinfo=UTC)


def moment(second):
    return START + timedelta(seconds=second)


def event(second, seq=0, **fields):
    return Event.sample(id=fields.pop("id", f"{second}.{seq}"), at=moment(second), seq=seq, **fields)


def run(arrivals, lateness):
    """Everything released and everything late, with the end of the stream."""
    buffer, out, late = Buffer(), [], []
    for came in arrivals:
        step = release(buffer, came, timedelta(seconds=lateness))
        buffer, out, late = step.buffer, [*out, *step.events], [*late, *step.late]
    step = flush(buffer)
    return [*out, *step.events], late, step.buffer


seconds = st.lists(st.integers(0, 30), max_size=40)


@given(seconds=seconds, data=st.data())
def test_any_order_of_arrival_is_sorted(seconds, data):
    events = [event(second, seq) for seq, second in enumerate(seconds)]
    shuffled = data.draw(st.permutations(events))
    assert in_order(shuffled) == tuple(sorted(events, key=lambda event: event.order))


def test_the_same_moment_is_ordered_by_number_then_id():
    a, b, c = event(1, 1, id="b"), event(1, 2, id="a"), event(1, 2, id="b2")
    assert in_order([c, b, a]) == (a, b, c)


def test_a_repeat_is_dropped_wherever_it_stood():
    assert in_order([event(1, 1, id="x"), event(1, 7, id="x")]) == (event(1, 1, id="x"),)


def test_one_id_with_two_contents_is_a_conflict():
    with pytest.raises(Conflict, match="'x' came twice"):
        in_order([event(1, id="x"), event(2, id="x")])


def test_one_id_in_two_sources_is_two_events():
    assert len(in_order([event(1, id="x", source="s1"), event(2, id="x", source="s2")])) == 2


@given(
    moves=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=40),
    lateness=st.just(10),
)
def test_events_shuffled_within_the_lateness_come_out_sorted_and_none_is_late(moves, lateness):
    events = [event(second, seq) for seq, (second, _) in enumerate(moves)]
    delays = dict(zip((event.id for event in events), (delay for _, delay in moves), strict=True))
    arrivals = sorted(events, key=lambda event: event.at + timedelta(seconds=delays[event.id]))
    released, late, end = run(arrivals, lateness)
    assert tuple(released) == in_order(events)
    assert late == []
    assert end.late == 0


@given(
    seconds=seconds,
    lateness=st.integers(0, 30),
    ticks=st.lists(st.integers(0, 40), max_size=10),
    data=st.data(),
)
def test_whatever_comes_is_released_in_order_or_late_and_nothing_is_lost(seconds, lateness, ticks, data):
    events = [event(second, seq) for seq, second in enumerate(seconds)]
    arrivals = data.draw(st.permutations([*events, *map(moment, ticks)]))
    released, late, end = run(arrivals, lateness)
    assert released == sorted(released, key=lambda item: item.order)
    assert sorted([*released, *late], key=lambda item: item.order) == list(in_order(events))
    assert end.late == len(late)
    assert end.waiting == ()


@given(seconds=seconds)
def test_without_lateness_an_event_is_released_as_it_comes(seconds):
    buffer = Buffer()
    for item in in_order(event(second, seq) for seq, second in enumerate(seconds)):
        buffer, released, late = release(buffer, item)
        assert (released, late, buffer.waiting) == ((item,), (), ())


def test_an_event_waits_until_another_reaches_its_time_and_the_lateness():
    first, second, third = event(0), event(9), event(10)
    buffer, released, _ = release(Buffer(), first, timedelta(seconds=10))
    assert released == ()
    buffer, released, _ = release(buffer, second, timedelta(seconds=10))
    assert released == ()
    buffer, released, _ = release(buffer, third, timedelta(seconds=10))
    assert released == (first,)
    assert buffer.waiting == (second, third)


def test_a_tick_releases_as_an_event_does():
    buffer, _, _ = release(Buffer(), event(0), timedelta(seconds=10))
    assert release(buffer, moment(9), timedelta(seconds=10)).events == ()
    assert release(buffer, moment(10), timedelta(seconds=10)).events == (event(0),)


def test_an_event_before_the_last_released_is_late_and_handed_back():
    buffer, _, _ = release(Buffer(), event(5))
    step = release(buffer, event(4))
    assert (step.events, step.late, step.buffer.late) == ((), (event(4),), 1)


def test_a_late_event_changes_nothing_else():
    buffer, _, _ = release(Buffer(), event(5))
    after = release(buffer, event(4)).buffer
    assert (after.waiting, after.newest, after.last) == (buffer.waiting, buffer.newest, buffer.last)


def test_an_event_older_than_a_tick_but_not_than_one_released_is_not_late():
    buffer, _, _ = release(Buffer(), moment(100))
    assert release(buffer, event(5)).events == (event(5),)


@pytest.mark.parametrize("lateness", [0, 10])
def test_a_repeat_of_what_the_buffer_holds_is_ignored_and_a_conflict_raised(lateness):
    hold = timedelta(seconds=lateness)
    buffer, _, _ = release(Buffer(), event(5), hold)
    assert release(buffer, event(5), hold) == (buffer, (), ())
    with pytest.raises(Conflict):
        release(buffer, event(5, text="other"), hold)


def test_the_last_moment_there_is_can_wait():
    last = Event.sample(at=datetime.max.replace(tzinfo=UTC))
    buffer, released, _ = release(Buffer(), last, timedelta(days=400))
    assert released == ()
    assert flush(buffer).events == (last,)


def test_flushing_nothing_gives_nothing():
    assert flush(Buffer()) == (Buffer(), (), ())


def test_so_many_events_wait_and_beyond_that_the_earliest_is_let_go(monkeypatch):
    monkeypatch.setattr(ordering, "MOST_WAITING", 3)
    buffer, gone = Buffer(), []
    for k in (0, 2, 1, 4, 3):
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=k)
        buffer, events, late = release(buffer, Event(f"e{k}", at, "ann", seq=k), timedelta(hours=1))
        assert late == ()
        gone += [event.id for event in events]
    assert gone == ["e0", "e1"]
    assert [event.id for event in buffer.waiting] == ["e2", "e3", "e4"]


def test_waiting_takes_no_longer_the_more_events_wait():
    def fill(events: int) -> None:
        buffer = Buffer()
        start = datetime(2026, 1, 1, tzinfo=UTC)
        for k in range(events):
            event = Event(f"e{k}", start + timedelta(milliseconds=k), "ann", seq=k)
            buffer = release(buffer, event, timedelta(hours=1)).buffer

    # One look at each that waits, for each that comes, would be 16 times as many calls.
    assert calls_of(lambda: fill(2_000)) < 6 * calls_of(lambda: fill(500))
