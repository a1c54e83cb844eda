"""JSON lines: every field of an event line, and what is made of it."""

from __future__ import annotations

from datetime import UTC, datetime

FULL = {
    "id": "e1",
    "at": "2026-11-15T03:10:00+01:00",
    "seq": 7,
    "source": "chat",
    "subject": "ann",
    "target": "bo",
    "reply_to": "e0",
    "thread": "t",
    "session": "s",
    "kind": "message",
    "text": "hello",
    "attributes": {"tool": "bash", "exit_code": 1, "nested": {"a": [1, None]}},
    "readings": {"compassion": 0.8, "error_key": "ENOENT"},
}


def test_every_field_of_a_line_arrives(read):
    (event,) = read(FULL).events
    assert event.id == "e1"
    assert event.at == datetime(2026, 11, 15, 2, 10, tzinfo=UTC)
    assert event.timed
    assert (event.seq, event.source, event.subject, event.target) == (7, "chat", "ann", "bo")
    assert (event.reply_to, event.thread, event.session, event.kind) == ("e0", "t", "s", "message")
    assert event.text == "hello"
    assert event.attributes == {"tool": "bash", "exit_code": 1, "nested": {"a": [1, None]}}
    assert event.readings == {"compassion": 0.8, "error_key": "ENOENT"}
    assert event.scorers == {}
    assert event.widths == {}


def test_a_subject_is_enough(read):
    (event,) = read({"subject": "ann"}).events
    assert (event.subject, event.kind, event.source, event.target, event.text) == (
        "ann",
        "event",
        "input",
        None,
        None,
    )


def test_whole_numbers_and_truth_read_as_floats(read):
    (event,) = read({"subject": "a", "readings": {"one": 1, "yes": True, "no": False}}).events
    assert event.readings == {"one": 1.0, "yes": 1.0, "no": 0.0}
    assert all(type(value) is float for value in event.readings.values())


def test_null_is_not_measured(read):
    (event,) = read({"subject": "a", "target": None, "at": None, "readings": {"x": None, "y": 1}}).events
    assert event.readings == {"y": 1.0}
    assert event.target is None


def test_a_reading_may_say_who_measured_it_with_how_much_context(read):
    readings = {"warm": {"value": 0.8, "scorer": "gpt@2", "width": 4}, "cold": {"value": None, "scorer": "x"}}
    (event,) = read({"subject": "a", "readings": readings}).events
    assert event.readings == {"warm": 0.8}
    assert event.scorers == {"warm": "gpt@2"}
    assert event.widths == {"warm": 4}


def test_indicators_are_kept_with_an_underscore(read):
    (event,) = read({"subject": "a", "readings": {"MAN-LOVEBOMB": 0.4, "some-thing": 1}}).events
    assert event.readings == {"MAN_LOVEBOMB": 0.4, "some-thing": 1.0}


def test_strange_keys_are_kept_as_attributes(read):
    (event,) = read({"subject": "a", "x_run": 3, "channel": "c", "attributes": {"tool": "t"}}).events
    assert event.attributes == {"tool": "t", "x_run": 3, "channel": "c"}


def test_a_whole_number_is_a_fine_id(read):
    assert [event.id for event in read({"subject": "a", "id": 12}).events] == ["12"]


def test_an_empty_name_is_none(read):
    (event,) = read({"subject": "a", "target": "", "thread": "", "kind": "", "id": ""}).events
    assert (event.target, event.thread, event.kind) == (None, None, "event")
    assert event.id


def test_blank_lines_and_a_byte_order_mark_are_passed_over(read):
    batch = read(b'\xef\xbb\xbf{"subject": "a"}', "", "   ", '\t{"subject": "b"}\r')
    assert [event.subject for event in batch.events] == ["a", "b"]


def test_text_that_no_encoder_takes_is_mended(read):
    (event,) = read(r'{"subject": "a", "text": "x\ud800\u0000y", "attributes": {"k": ["\udfff"]}}').events
    assert event.text == "x\ufffd\ufffdy"
    assert event.attributes == {"k": ["\ufffd"]}


def test_a_whole_surrogate_pair_is_one_character(read):
    (event,) = read(r'{"subject": "\ud83d\ude00", "text": "\ud83d\ude00"}').events
    assert event.subject == event.text == "😀"


def test_a_last_line_needs_no_end(tmp_path, read):
    from ethogram.ingest import read_events

    path = tmp_path / "a.jsonl"
    path.write_text('{"subject": "a"}\n{"subject": "b"}')
    assert len(read_events([path]).events) == 2
