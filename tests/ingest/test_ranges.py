"""Readings outside the range of a known signal are bad lines; misspelt names are counted and told."""

from __future__ import annotations

import math

import pytest

from ethogram import analyze
from ethogram.app.result import MOST, strange
from ethogram.errors import BadEvents
from ethogram.ingest import Batch, events_of, read_events
from ethogram.ingest.batch import EventList
from ethogram.models import Event
from ethogram.patterns.catalogue import known_ranges
from ethogram.report.coverage import left_out

RANGES = {"x": (0.0, 1.0), "calls": (0.0, math.inf), "stage": ("what", "how")}
OUTSIDE = [
    ("x", 2, "x: 2 is outside 0 to 1"),
    ("x", -0.5, "x: -0.5 is outside 0 to 1"),
    ("x", {"value": 1.5, "scorer": "me"}, "x: 1.5 is outside 0 to 1"),
    ("calls", -1, "calls: -1 is outside 0 or more"),
    ("stage", "why", "stage: 'why' is none of what, how"),
]


@pytest.mark.parametrize(("name", "value", "message"), OUTSIDE)
def test_a_reading_outside_its_range_is_a_bad_line(name, value, message, fault):
    assert fault({"subject": "a", "readings": {name: value}}, ranges=RANGES).message == message


@pytest.mark.parametrize(("name", "value"), [("x", 0), ("x", 1.0), ("x", True), ("stage", "how"), ("y", 7)])
def test_the_ends_of_a_range_belong_to_it(name, value, read):
    assert len(read({"subject": "a", "readings": {name: value}}, ranges=RANGES).events) == 1


def test_lines_in_memory_and_tables_are_checked_too(lines):
    with pytest.raises(BadEvents, match="x: 2 is outside 0 to 1"):
        events_of([{"subject": "a", "readings": {"x": 2}}], ranges=RANGES)
    with pytest.raises(BadEvents, match=r"csv:2: x: 2 is outside 0 to 1"):
        read_events([lines("subject,readings.x", "a,2", name="f.csv")], ranges=RANGES)


def test_a_parquet_row_is_checked_too(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "f.parquet"
    parquet.write_table(pyarrow.table({"subject": ["a"], "readings.x": [2.0], "stge": ["how"]}), path)
    batch = read_events([path], ranges=RANGES, kinds={"stage": "category"}, skip_bad=True)
    assert batch.bad[0].message == "x: 2 is outside 0 to 1"
    assert batch.strays == {"stge": 1}


def test_analyze_knows_the_ranges_of_the_vocabulary():
    assert known_ranges()["manipulation"] == (0, 1)
    with pytest.raises(BadEvents, match="compassion: 2 is outside 0 to 1"):
        analyze([{"subject": "a", "readings": {"compassion": 2}}])


def test_a_misspelt_reading_is_told():
    lines = [{"subject": "a", "readings": {"compasion": 0.5, "my_own_thing": 1}}] * 3
    summary = analyze([{**line, "id": str(n)} for n, line in enumerate(lines)]).summary()
    assert summary["unknown_readings"] == [{"signal": "compasion", "count": 3, "near": ["compassion"]}]


def test_known_readings_and_indicators_are_not_told():
    readings = {"compassion": 0.5, "MAN_LOVEBOMB": 1}
    assert analyze([{"subject": "a", "readings": readings}]).summary()["unknown_readings"] == []


def test_a_misspelt_column_is_told_as_a_reading_would_be(lines):
    table = lines("subject,compasion,colour,attributes.deceptoin", "a,0.5,red,1", "a,,red,1", name="f.csv")
    (found,) = analyze(table).summary()["unknown_readings"]
    assert found == {"signal": "compasion", "count": 1, "near": ["compassion"]}


def test_no_more_than_so_many_strange_names_are_held():
    events = [Event.sample(readings={f"n{number}": 1.0, "x": 1.0}) for number in range(MOST + 50)]
    assert len(strange(EventList(events), {"x"})) == MOST


def test_a_person_is_told_what_nobody_reads(lines):
    found = analyze(lines({"subject": "a", "readings": {"compasion": 0.5}}))
    batch = Batch((), skipped={"files that are not events": 1}, not_events=("a.md",))
    assert list(left_out(found, batch)) == [
        "Skipped: 1 file that is not events: a.md",
        "No pattern reads 'compasion' (1 reading); did you mean 'compassion'?",
    ]


@pytest.mark.parametrize("value", [1e101, -1e300, 10**120])
def test_a_number_whose_square_would_not_be_one_is_refused(value):
    with pytest.raises(BadEvents, match="larger than 1e"):
        events_of([{"subject": "ann", "readings": {"heat": value}}])
