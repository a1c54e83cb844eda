"""Every kind of bad line is a fault with its place and what would be right, and never passes silently."""

from __future__ import annotations

import json

import pytest

from ethogram.errors import BadEvents, BadUsage
from ethogram.ingest import Limits, events_of, read_events
from ethogram.ingest.batch import Faults, Place

DEEP = "[" * 40 + "]" * 40
BAD = {
    "not JSON": ('{"subject": "a",}', "not JSON"),
    "cut off": ('{"subject": "a"', "not JSON"),
    "two on a line": ('{"subject": "a"} {"subject": "b"}', "unexpected text after the value"),
    "a list": ("[1]", "an event is an object {...}, not a list"),
    "a number": ("12", "an event is an object {...}, not a number"),
    "no subject": ('{"text": "hi"}', "an event needs a subject"),
    "another name": ('{"agent": "a", "step": 1}', "an event needs a subject (there is 'agent': rename it)"),
    "null subject": ('{"subject": null}', "an event needs a subject"),
    "empty subject": ('{"subject": ""}', "subject is empty"),
    "blank subject": ('{"subject": "  "}', "subject is empty"),
    "subject a number": ('{"subject": 4}', "subject must be text, not a number"),
    "subject false": ('{"subject": false}', "subject must be text, not true or false"),
    "time without zone": ('{"subject": "a", "at": "2026-01-01T00:00:00"}', "has no zone"),
    "no time": ('{"subject": "a", "at": "yesterday"}', "is not a time"),
    "time out of range": ('{"subject": "a", "at": "9999-12-31T23:59:59-01:00"}', "outside the years"),
    "date as a number": ('{"subject": "a", "at": 20260301}', "or seconds since 1970"),
    "time far off": ('{"subject": "a", "at": 1' + "0" * 400 + "}", "is not a time"),
    "time a list": ('{"subject": "a", "at": []}', "at must be an ISO 8601 time"),
    "NaN": ('{"subject": "a", "readings": {"x": NaN}}', "NaN is not a value"),
    "Infinity": ('{"subject": "a", "attributes": {"x": [-Infinity]}}', "Infinity is not a value"),
    "infinite reading": ('{"subject": "a", "readings": {"x": 1e400}}', "not a finite number"),
    "infinite attribute": ('{"subject": "a", "attributes": {"x": [1e400]}}', "not a finite number"),
    "integer beyond floats": (
        '{"subject": "a", "readings": {"x": 1' + "0" * 400 + "}}",
        "not a finite number",
    ),
    "endless integer": ('{"subject": "a", "seq": ' + "1" * 100_000 + "}", "too many digits"),
    "target a number": ('{"subject": "a", "target": 3}', "target must be text, not a number"),
    "thread zero": ('{"subject": "a", "thread": 0}', "thread must be text, not a number"),
    "kind a list": ('{"subject": "a", "kind": []}', "kind must be text, not a list"),
    "text a number": ('{"subject": "a", "text": 3}', "text must be text, not a number"),
    "attributes a list": ('{"subject": "a", "attributes": []}', "attributes must be an object, not a list"),
    "readings a list": ('{"subject": "a", "readings": []}', "readings must be an object, not a list"),
    "reading a list": ('{"subject": "a", "readings": {"x": []}}', "must be a number or text, not a list"),
    "reading without value": ('{"subject": "a", "readings": {"x": {}}}', "has no value"),
    "reading with a typo": ('{"subject": "a", "readings": {"x": {"valu": 1}}}', "did you mean 'value'?"),
    "width a text": ('{"subject": "a", "readings": {"x": {"value": 1, "width": "4"}}}', "width must be"),
    "scorer a number": ('{"subject": "a", "readings": {"x": {"value": 1, "scorer": 4}}}', "scorer must be"),
    "empty reading name": ('{"subject": "a", "readings": {"": 1}}', "empty name"),
    "indicator twice": (
        '{"subject": "a", "readings": {"MAN-X": 1, "MAN_X": 1}}',
        "duplicate reading 'MAN_X'",
    ),
    "unknown key": ('{"subject": "a", "treadh": "t"}', "unknown key 'treadh'; did you mean 'thread'?"),
    "unknown key, null": ('{"subject": "a", "treadh": null}', "unknown key 'treadh'"),
    "indicator as key": ('{"subject": "a", "MAN-LOVEBOMB": 1}', "put it in readings"),
    "kept key twice": ('{"subject": "a", "x_a": 1, "attributes": {"x_a": 2}}', "both a key and in"),
    "duplicate key": ('{"subject": "a", "subject": "b"}', "duplicate key 'subject'"),
    "duplicate inside": ('{"subject": "a", "readings": {"x": 1, "x": 2}}', "duplicate key 'x'"),
    "too deep": ('{"subject": "a", "attributes": {"x": ' + DEEP + "}}", "nested more than 32 deep"),
    "far too deep": ("[" * 100_000, "nested too deep"),
    "spread over lines": ('{\n"subject": "a",\n  "attributes": {\n  }\n}', "expected one event per line"),
    "seq a text": ('{"subject": "a", "seq": "1"}', "seq must be a whole number"),
    "seq a fraction": ('{"subject": "a", "seq": 1.5}', "seq must be a whole number"),
    "seq true": ('{"subject": "a", "seq": true}', "seq must be a whole number"),
    "seq negative": ('{"subject": "a", "seq": -1}', "seq must be a whole number from 0, not -1"),
    "seq too large": ('{"subject": "a", "seq": 9223372036854775808}', "from 0 to 9223372036854775807, not"),
    "seq past all time": ('{"subject": "a", "seq": 253402300800}', "too large for a source without times"),
    "id a fraction": ('{"subject": "a", "id": 1.5}', "id must be text, not a number"),
    "id true": ('{"subject": "a", "id": true}', "id must be text, not true or false"),
    "half a pair in a name": (r'{"subject": "\ud800"}', "a lone surrogate"),
    "null in a name": (r'{"subject": "a\u0000b"}', "holds a null"),
    "long name": (json.dumps({"subject": "a" * 513}), "subject is longer than 512 characters"),
    "long id": (json.dumps({"subject": "a", "id": "a" * 513}), "id is longer than 512 characters"),
    "long category": (json.dumps({"subject": "a", "readings": {"x": "a" * 513}}), "longer than 512"),
    "long text": (json.dumps({"subject": "a", "text": "a" * 200_001}), "text is longer than 200,000"),
    "long attribute": (json.dumps({"subject": "a", "attributes": {"k": "a" * 200_001}}), "200,000"),
    "many readings": (
        json.dumps({"subject": "a", "readings": dict.fromkeys(map(str, range(257)), 1)}),
        "more than 256 readings",
    ),
    "many attributes": (
        json.dumps({"subject": "a", "attributes": dict.fromkeys(map(str, range(257)), 1)}),
        "more than 256 attributes",
    ),
    "long line": (json.dumps({"subject": "a", "text": "a" * 1_000_000}), "line longer than 1,000,000 bytes"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_is_a_fault_at_its_line(kind, fault):
    line, expected = BAD[kind]
    found = fault({"subject": "fine"}, line, {"subject": "fine"})
    assert expected in found.message
    assert found.line == 2
    assert found.path.endswith("events.jsonl")
    str(found).encode()


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_is_counted_and_the_rest_read_where_asked(kind, read):
    batch = read({"subject": "first"}, BAD[kind][0], {"subject": "last"}, skip_bad=True)
    assert [event.subject for event in batch.events] == ["first", "last"]
    assert (len(batch.bad), batch.bad_count) == (1, 1)


def test_bytes_that_are_no_text_are_a_bad_line_with_their_column(fault):
    found = fault({"subject": "fine"}, b'{"subject": "\xff"}')
    assert (found.line, found.column) == (2, 14)
    assert "not UTF-8" in found.message


def test_bad_json_says_in_which_column(fault):
    assert fault({"subject": "fine"}, '{"subject": x}').column == 13


def test_a_message_about_an_over_long_value_says_how_to_raise_the_limit(fault):
    assert "limits: {name: ...} in ethogram.yaml" in fault({"subject": "a" * 513}).message


def test_a_raised_limit_lets_more_in(read):
    batch = read({"subject": "a" * 513}, limits=Limits(name=600))
    assert len(batch.events[0].subject) == 513


def test_every_bad_line_is_counted_and_the_first_fifty_are_told(lines):
    with pytest.raises(BadEvents) as caught:
        read_events([lines(*["{}"] * 73)])
    assert [fault.line for fault in caught.value.faults] == list(range(1, 51))
    assert caught.value.more == 23
    assert "... and 23 more" in str(caught.value)


def test_a_text_where_a_number_is_due_is_a_bad_line(fault):
    found = fault({"subject": "a", "readings": {"x": "high"}}, kinds={"x": "number"})
    assert found.message == "reading 'x' is text ('high'): expected a number"


def test_a_number_where_a_category_is_due_is_a_bad_line(fault):
    found = fault({"subject": "a", "readings": {"x": 404}}, kinds={"x": "category"})
    assert found.message == "reading 'x' is a number (404): expected text"


def test_a_fraction_where_a_category_is_due_is_a_bad_line(fault):
    assert "expected text" in fault({"subject": "a", "readings": {"x": 0.5}}, kinds={"x": "category"}).message


def test_a_kind_there_is_none_of_is_refused(lines):
    with pytest.raises(BadUsage, match="number"):
        read_events([lines({"subject": "a"})], kinds={"x": "text"})


def test_lines_in_memory_are_checked_as_those_of_a_file():
    batch = events_of([{"subject": "a"}, {"subjet": "b"}, 3], skip_bad=True)
    assert [event.subject for event in batch.events] == ["a"]
    assert [(fault.path, fault.line) for fault in batch.bad] == [("events", 2), ("events", 3)]
    assert "did you mean 'subject'?" in batch.bad[0].message
    with pytest.raises(BadEvents):
        events_of([{}])


def test_a_fault_is_cut_where_it_repeats_the_input_at_length(tmp_path):
    talk = {"conversation_id": "9" * 5000, "turns": [{"speaker": "ann", "role": "agent", "text": "a"}, 7]}
    (tmp_path / "talk.jsonl").write_text(json.dumps(talk) + "\n")
    with pytest.raises(BadEvents) as error:
        read_events([tmp_path / "talk.jsonl"], limits=Limits(name=10_000))
    (fault,) = error.value.faults
    assert fault.message == f"turn 2 of {'9' * 60}: expected an object with a speaker"


def test_every_fault_can_be_printed_and_is_short():
    faults = Faults(50)
    faults.add(Place(0, 1, "a"), "x" * 5000)
    faults.add(Place(0, 2, "a"), "half \ud800")
    long, half = faults.as_tuple()
    assert long.message == "x" * 1000 + "..."
    assert half.message == "half \\ud800"


@pytest.mark.parametrize("at", ["1767225600", "1767225600.0", "1767225600000", '"1767225600"'])
def test_numbers_are_seconds_or_milliseconds_since_1970(at, tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(f'{{"subject": "a", "at": {at}}}\n')
    # 2026-01-01 is 56 years and 14 leap days, so 20,454 days of 86,400 seconds, after 1970.
    assert [event.at.isoformat() for event in read_events([path]).events] == ["2026-01-01T00:00:00+00:00"]


def test_faults_of_one_kind_are_one_line_with_their_places(tmp_path):
    path = tmp_path / "events.jsonl"
    line = '{{"subject": "a", "at": "2026-01-01T00:00:{:02}"}}\n'
    path.write_text("".join(map(line.format, range(9))) + '{"text": "hi"}\n')
    with pytest.raises(BadEvents) as caught:
        read_events([path])
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{path}:1: at: time '2026-01-01T00:00:00' has no zone: expected ")
    assert first.endswith("; also lines 2, 3, 4, 5, 6 and 3 more")
    assert second == f"{path}:10: an event needs a subject"
    assert len(caught.value.faults) == 10
