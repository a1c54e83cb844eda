"""CSV: the header says what each column is, and every row keeps the line it begins on."""

from __future__ import annotations

import pytest

from ethogram.errors import BadEvents
from ethogram.ingest import Limits, read_events
from ethogram.ingest.formats.csv import attribute_cell, reading_cell


@pytest.fixture
def table(lines):
    return lambda *rows, name="events.csv", **options: read_events([lines(*rows, name=name)], **options)


def faults(lines, *rows, **options):
    with pytest.raises(BadEvents) as caught:
        read_events([lines(*rows, name="events.csv")], **options)
    return caught.value.faults


def test_columns_are_fields_readings_and_attributes(table):
    (event,) = table(
        "id,at,seq,subject,target,text,readings.warm,attributes.tool,attributes.exit_code",
        'e1,2026-01-01T00:00:00Z,4,ann,bo,"hi, there",0.5,bash,1',
    ).events
    assert (event.id, event.seq, event.subject, event.target, event.text) == (
        "e1",
        4,
        "ann",
        "bo",
        "hi, there",
    )
    assert event.readings == {"warm": 0.5}
    assert event.attributes == {"tool": "bash", "exit_code": 1}


def test_a_plain_column_is_a_reading_if_it_is_known_to_be_one_else_an_attribute(table):
    (event,) = table(
        "subject,warm,compassion,MAN-LOVEBOMB,colour,x_y", "ann,1,2,3,red,5", kinds={"warm": "number"}
    ).events
    assert event.readings == {"warm": 1.0, "compassion": 2.0, "MAN_LOVEBOMB": 3.0}
    assert event.attributes == {"colour": "red", "x_y": 5}


def test_an_empty_cell_is_absent(table):
    first, second = table("subject,target,readings.x,attributes.y", "a,,,", "b,c,1,2").events
    assert (first.target, first.readings, first.attributes) == (None, {}, {})
    assert (second.target, second.readings, second.attributes) == ("c", {"x": 1.0}, {"y": 2})


def test_a_category_stays_as_it_is_written(table):
    (event,) = table("subject,readings.code", "a,404", kinds={"code": "category"}).events
    assert event.readings == {"code": "404"}


def test_objects_may_stand_in_a_cell_as_json(table):
    (event,) = table(
        "subject,readings,attributes", 'a,"{""x"": {""value"": 1, ""scorer"": ""s""}}","{""k"": [1]}"'
    ).events
    assert (event.readings, event.scorers, event.attributes) == ({"x": 1.0}, {"x": "s"}, {"k": [1]})


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_delimiter_is_found_in_the_header(mark, table):
    (event,) = table(mark.join(["at", "subject", "kind"]), mark.join(["", "ann", "message"])).events
    assert (event.subject, event.kind) == ("ann", "message")


def test_the_content_says_it_is_a_table_whatever_the_name(table):
    assert table("id,subject", "1,ann", name="dump.txt").events[0].subject == "ann"


def test_a_byte_order_mark_is_no_part_of_the_first_name(table):
    assert table(b"\xef\xbb\xbfsubject,kind", "ann,message").events[0].subject == "ann"


def test_lines_are_those_of_the_file_where_cells_hold_line_ends(lines):
    found = faults(lines, "subject,text", 'a,"one\ntwo\nthree"', "b", "", "c,d,e")
    assert [(fault.line, fault.message) for fault in found] == [
        (5, "expected 2 cells as in the header, found 1"),
        (7, "expected 2 cells as in the header, found 3"),
    ]


def test_line_ends_inside_a_cell_are_kept(table):
    assert table("subject,text", 'a,"one\ntwo"').events[0].text == "one\ntwo"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("subjct,text", "needs a column 'subject' (there is 'subjct')"),
        ("who,what", "needs a column 'subject'; the columns are 'who, what'"),
        ("subject,text,text", "duplicate column 'text'"),
        ("subject,MAN-X,MAN_X", "duplicate column 'MAN_X'"),
        ("subject,,text", "column 2 has no name"),
        ('subject,"text', "not CSV"),
    ],
)
def test_a_bad_header_is_one_fault_for_the_file(header, message, lines):
    (found,) = faults(lines, header, "1,2,3", "4,5,6")
    assert found.line == 1
    assert message in found.message


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,high,", "is text ('high'): expected a number"),
        ("a,nan,", "not a finite number"),
        ("a,-Infinity,", "not a finite number"),
        ("a,1e999,", "not a finite number"),
        ("a,1_000,", "is text ('1_000'): expected a number"),
        (",1,", "an event needs a subject"),
        ("a,1,first", "seq must be a whole number"),
        ("a,1,-3", "seq must be a whole number from 0"),
        ('a,"1"x,', "not CSV"),
        (b"a\xff,1,", "not UTF-8"),
        ('a,"1', "not CSV"),
    ],
)
def test_a_bad_row_is_a_fault_at_its_line(row, message, lines):
    (found,) = faults(lines, "subject,readings.x,seq", "fine,1,", row, kinds={"x": "number"})
    assert found.line == 3
    assert message in found.message


def test_an_object_given_twice_or_broken_in_a_cell_is_a_bad_row(lines):
    found = faults(lines, "subject,readings,readings.x", 'a,"{""x"": 1}",2', "b,{,", "c,[],")
    assert [fault.line for fault in found] == [2, 3, 4]
    assert "duplicate key 'x'" in found[0].message
    assert "not JSON" in found[1].message
    assert "readings must be an object" in found[2].message


def test_a_row_that_is_too_long_is_a_bad_row(table):
    batch = table(
        "subject,text",
        "a," + "x" * 200,
        "b,ok",
        'c,"' + "y\n" * 100 + '"',
        skip_bad=True,
        limits=Limits(line=100),
    )
    assert [event.subject for event in batch.events] == ["b"]
    assert batch.bad[0].line == 2
    assert "row longer than 100 bytes" in batch.bad[0].message


def test_long_texts_fit_in_a_cell(table):
    assert len(table("subject,text", "a," + "x" * 199_000).events[0].text) == 199_000


def test_a_header_alone_is_no_events(table):
    assert table("subject,text").events == ()


def test_numbers_in_cells():
    assert [reading_cell(cell) for cell in ("1", " .5", "-2e3", "TRUE", "no")] == [
        1.0,
        0.5,
        -2000.0,
        1.0,
        "no",
    ]
    assert [attribute_cell(cell) for cell in ("0", "-1.5", "007", "12345678901234567", "true", "nan")] == [
        0,
        -1.5,
        "007",
        "12345678901234567",
        True,
        "nan",
    ]


def test_columns_of_messages_and_logs_are_known_by_their_usual_names(table):
    (event,) = table(
        "author,content,created_at,thread_id,to,score", "ann,hello,2026-01-01T00:00:00Z,t1,bo,3"
    ).events
    assert (event.subject, event.text, event.thread, event.target) == ("ann", "hello", "t1", "bo")
    assert (event.at.year, event.attributes) == (2026, {"score": 3})
    (event,) = table("user_id,timestamp", "17,2026-01-01T00:00:00Z").events
    assert (event.subject, event.kind) == ("17", "usage")
    # Where there is a subject, other columns are what they were.
    (event,) = table("subject,author,at", "ann,bo,2026-01-01T00:00:00Z").events
    assert (event.subject, event.attributes) == ("ann", {"author": "bo"})
