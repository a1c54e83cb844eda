"""A JSON array of events: each element at the line it begins on."""

from __future__ import annotations

import pytest

from ethogram.errors import BadEvents
from ethogram.ingest import Limits, read_events


@pytest.fixture
def array(tmp_path):
    def write(content):
        path = tmp_path / "events.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def faults(path, **options):
    with pytest.raises(BadEvents) as caught:
        read_events([path], **options)
    return [(fault.line, fault.column, fault.message) for fault in caught.value.faults]


def test_every_element_is_an_event(array):
    batch = read_events([array(b'\xef\xbb\xbf [\n {"subject": "a"},\n\n {"subject":\n "b"}\n]\n')])
    assert [event.subject for event in batch.events] == ["a", "b"]


@pytest.mark.parametrize("content", ["[]", " [ ]\n"])
def test_an_empty_array_is_no_events(content, array):
    assert read_events([array(content)]).events == ()


def test_a_bad_element_is_a_fault_at_the_line_it_begins_on(array):
    path = array('[\n{"subject": "a"},\n{"subject":\n""}, 3,\n{"subject": "b"}]')
    assert faults(path) == [(3, 0, "subject is empty"), (4, 0, "an event is an object {...}, not a number")]


@pytest.mark.parametrize(
    ("content", "line", "column", "message"),
    [
        ('[\n{"subject": "a"}\n{"subject": "b"}]', 3, 1, "',' or ']' is missing"),
        ('[\n{"subject": "a"},\n {"subject": b}]', 3, 14, "not JSON"),
        ('[\n{"subject": "a"},', 2, 18, "not JSON"),
        ('[{"subject": "a"}', 1, 18, "',' or ']' is missing"),
        ('[{"subject": "a"}]\n  x', 2, 3, "unexpected text after the value"),
        ('[\n{"subject": "a", "subject": "b"}]', 1, 0, "duplicate key"),
        ("[" * 100_000, 1, 0, "nested too deep"),
        (b'[\n{"subject": "\xff"}]', 2, 0, "not UTF-8"),
    ],
)
def test_reading_stops_where_it_is_not_json(content, line, column, message, array):
    (found,) = faults(array(content))
    assert found[:2] == (line, column)
    assert message in found[2]


def test_what_stands_before_the_bad_syntax_is_read_where_asked(array):
    batch = read_events([array('[{"subject": "a"}, {"subject": ]')], skip_bad=True)
    assert [event.subject for event in batch.events] == ["a"]
    assert "the rest of the file was not read" in batch.bad[0].message


def test_a_long_element_is_a_bad_one(array):
    content = '[{"subject": "a", "text": "' + "x" * 100 + '"}]'
    ((_, _, message),) = faults(array(content), limits=Limits(line=100))
    assert "element longer than 100" in message


def test_a_file_too_large_to_hold_says_so(array):
    ((_, _, message),) = faults(array("[" + " " * 200 + "]"), limits=Limits(whole=100))
    assert "larger than 100 bytes" in message
    assert "limits: {whole: ...}" in message
