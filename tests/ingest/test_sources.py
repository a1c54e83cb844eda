"""A source as a whole: numbering, ids, repeats, times for all or for none, one kind for each reading."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ethogram.errors import BadEvents
from ethogram.ingest import Limits, read_events
from ethogram.models import EPOCH, default_id

T1, T2, T3 = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))


def ids(batch):
    return [event.id for event in batch.events]


def test_lines_are_numbered_from_zero_as_they_stand(read):
    assert [event.seq for event in read({"subject": "a"}, {"subject": "b"}).events] == [0, 1]


def test_a_bad_line_keeps_its_number_so_that_mending_it_moves_no_other(read):
    good, bad = {"subject": "a"}, {"subject": ""}
    skipped = read(good, bad, good, skip_bad=True)
    mended = read(good, good, good)
    assert [event.seq for event in skipped.events] == [0, 2]
    assert ids(skipped) == [ids(mended)[0], ids(mended)[2]]


def test_a_bad_line_keeps_its_number_in_the_source_it_names(read):
    lines = [
        {"subject": "a"},
        {"subject": "", "source": "s"},
        {"subject": "b", "source": "s"},
        {"subject": "c"},
    ]
    batch = read(*lines, skip_bad=True)
    assert {event.subject: event.seq for event in batch.events} == {"a": 0, "b": 1, "c": 1}


def test_a_line_may_give_its_own_number(read):
    batch = read({"subject": "b", "seq": 9}, {"subject": "a", "seq": 4})
    assert [(event.subject, event.seq) for event in batch.events] == [("a", 4), ("b", 9)]


def test_events_come_in_the_order_of_time_then_number_then_id(read):
    batch = read(
        {"id": "late", "subject": "a", "at": T2},
        {"id": "z", "subject": "a", "at": T1, "seq": 5},
        {"id": "b", "subject": "a", "at": T1, "seq": 6},
        {"id": "a", "subject": "a", "at": T1, "seq": 6},
    )
    assert ids(batch) == ["z", "a", "b", "late"]


def test_without_times_the_number_keeps_the_order(read):
    batch = read({"subject": "a"}, {"subject": "a", "seq": 30})
    assert not batch.timed
    assert [event.timed for event in batch.events] == [False, False]
    assert [event.at for event in batch.events] == [EPOCH, EPOCH + timedelta(seconds=30)]


def test_with_times_the_batch_is_timed(read):
    assert read({"subject": "a", "at": T1}).timed


def test_a_missing_time_is_bad_where_others_have_one_and_each_is_told(lines):
    path = lines({"subject": "a"}, {"subject": "b", "at": T1}, {"subject": "c"})
    with pytest.raises(BadEvents) as caught:
        read_events([path])
    assert [fault.line for fault in caught.value.faults] == [1, 3]
    assert all("only for a whole source" in fault.message for fault in caught.value.faults)


def test_where_bad_lines_are_skipped_those_without_time_are(read):
    batch = read({"subject": "a"}, {"subject": "b", "at": T1}, skip_bad=True)
    assert [event.subject for event in batch.events] == ["b"]
    assert batch.timed
    assert batch.bad_count == 1


def test_faults_found_at_the_end_are_told_in_the_order_of_lines(lines):
    path = lines({"subject": "a"}, "{}", {"subject": "b", "at": T1})
    with pytest.raises(BadEvents) as caught:
        read_events([path])
    assert [fault.line for fault in caught.value.faults] == [1, 2]


def test_each_source_is_timed_or_not_by_itself(read):
    batch = read({"subject": "a", "source": "s1"}, {"subject": "a", "source": "s2", "at": T1})
    assert {event.source: event.timed for event in batch.events} == {"s1": False, "s2": True}
    assert not batch.timed


def test_each_source_is_numbered_by_itself(read):
    lines = [{"subject": "a", "source": name} for name in ("s1", "s2", "s1", "s2")]
    batch = read(*lines)
    assert sorted((event.source, event.seq) for event in batch.events) == [
        ("s1", 0),
        ("s1", 1),
        ("s2", 0),
        ("s2", 1),
    ]


def test_an_id_belongs_to_its_source(read):
    batch = read({"subject": "a", "source": "s1", "id": "x"}, {"subject": "b", "source": "s2", "id": "x"})
    assert ids(batch) == ["x", "x"]


def test_an_id_is_made_of_source_number_and_content(read):
    line = {"subject": "a", "at": "2026-01-01T01:00:00+01:00", "readings": {"x": 1}}
    (event,) = read(line, source="chat").events
    content = {"subject": "a", "at": T1, "kind": "event", "readings": {"x": 1.0}}
    assert event.id == default_id("chat", 0, content)
    assert event.id != read(line, source="mail").events[0].id


def test_an_id_that_is_made_agrees_with_what_the_event_says_of_itself(read):
    readings = {"x": {"value": 1, "scorer": "s", "width": 2}, "y": {"value": "c", "width": 0}, "z": 0.5}
    line = {"subject": "a", "target": "b", "text": "hi", "attributes": {"k": [1]}, "readings": readings}
    for given in (line, {**line, "at": T1}):
        (event,) = read(given).events
        assert event.id == default_id("input", 0, event.to_dict())


def test_the_same_line_twice_without_an_id_is_two_events(read):
    batch = read({"subject": "a"}, {"subject": "a"})
    assert (len(set(ids(batch))), batch.repeated) == (2, 0)


def test_the_same_id_and_content_is_one_event(read):
    line = {"subject": "a", "id": "x", "readings": {"y": 1}}
    batch = read(line, {**line, "readings": {"y": 1.0}}, line)
    assert (ids(batch), batch.repeated) == (["x"], 2)


def test_the_same_moment_in_another_zone_is_the_same_content(read):
    batch = read(
        {"subject": "a", "id": "x", "at": "2026-01-01T00:00:00Z"},
        {"subject": "a", "id": "x", "at": "2026-01-01T01:00:00+01:00"},
    )
    assert batch.repeated == 1


def test_the_same_id_with_other_content_is_bad_and_names_the_other_line(fault):
    found = fault({"subject": "a", "id": "x"}, {"subject": "b"}, {"subject": "b", "id": "x"})
    assert found.line == 3
    assert "the id 'x' has other content at " in found.message
    assert found.message.endswith("events.jsonl:1")


@pytest.mark.parametrize(("first", "then"), [(1, "high"), ("high", 1)])
def test_a_reading_keeps_the_kind_it_first_had(first, then, fault):
    found = fault(
        {"subject": "a"},
        {"subject": "a", "readings": {"x": first}},
        {"subject": "a", "readings": {"x": then}},
    )
    assert found.line == 3
    assert found.message.startswith("reading 'x' is ")
    assert found.message.endswith("events.jsonl:2")


def test_another_source_may_use_a_name_for_another_kind(read):
    batch = read(
        {"subject": "a", "source": "s1", "readings": {"x": 1}},
        {"subject": "a", "source": "s2", "readings": {"x": "high"}},
    )
    assert len(batch.events) == 2


def test_a_bad_line_says_nothing_about_kinds(read):
    batch = read(
        {"subject": "", "readings": {"x": "high"}},
        {"subject": "a", "readings": {"x": 1}},
        skip_bad=True,
    )
    assert batch.bad_count == 1
    assert len(batch.events) == 1


def test_too_many_events_are_refused_even_where_bad_lines_are_skipped(lines):
    path = lines(*[{"subject": "a"}] * 4)
    with pytest.raises(BadEvents, match=r"more than 3 events .*limits: \{events:") as caught:
        read_events([path], limits=Limits(events=3), skip_bad=True)
    assert caught.value.faults[0].line == 4
