"""Parquet: columns as in CSV, typed; rows are the lines."""

from __future__ import annotations

import gzip
import io
import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from ethogram.errors import BadEvents, MissingExtra
from ethogram.ingest import read_events

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NOON = datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC)


@pytest.fixture
def parquet(tmp_path):
    def write(columns, **options):
        path = tmp_path / "events.parquet"
        pq.write_table(pa.table(columns), path, **options)
        return path

    return write


def test_columns_are_fields_readings_and_attributes(parquet):
    path = parquet(
        {
            "subject": ["ann", "bo"],
            "seq": pa.array([3, None], pa.int32()),
            "compassion": pa.array([0.5, None], pa.float64()),
            "readings.code": ["E1", None],
            "colour": pa.array(["red", "blue"]).dictionary_encode(),
            "attributes.cost": [Decimal("1.5"), None],
            "day": [date(2026, 1, 2), None],
        }
    )
    bo, ann = read_events([path]).events
    assert (ann.subject, ann.seq, bo.seq) == ("ann", 3, 1)
    assert (ann.readings, bo.readings) == ({"compassion": 0.5, "code": "E1"}, {})
    assert (ann.attributes, bo.attributes) == (
        {"colour": "red", "cost": 1.5, "day": "2026-01-02"},
        {"colour": "blue"},
    )


def test_readings_may_be_a_map_and_attributes_a_struct(parquet):
    path = parquet(
        {
            "subject": ["ann"],
            "readings": pa.array([[("MAN-X", 1.0), ("warm", None)]], pa.map_(pa.string(), pa.float64())),
            "attributes": pa.array([{"tool": "bash", "when": NOON, "none": None}]),
        }
    )
    (event,) = read_events([path]).events
    assert event.readings == {"MAN_X": 1.0}
    assert event.attributes == {"tool": "bash", "when": "2026-01-01T12:00:00.000005Z"}


@pytest.mark.parametrize("zone", ["UTC", "+01:00", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_times_with_a_zone_are_moments(zone, unit, parquet):
    path = parquet({"subject": ["a"], "at": pa.array([NOON], pa.timestamp(unit, zone))})
    assert read_events([path]).events[0].at == NOON


def test_times_may_be_text(parquet):
    path = parquet({"subject": ["a"], "at": ["2026-01-01T12:00:00.000005Z"]})
    assert read_events([path]).events[0].at == NOON


def faults(path, **options):
    with pytest.raises(BadEvents) as caught:
        read_events([path], **options)
    return [(fault.line, fault.message) for fault in caught.value.faults]


def test_times_without_a_zone_are_bad_rows(parquet):
    path = parquet({"subject": ["a"], "at": pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us"))})
    assert faults(path) == [(1, "at: time 2026-01-01T12:00:00.000005 has no zone: expected UTC")]


def test_times_beyond_the_calendar_are_bad_rows(parquet):
    at = pa.array([0, 2**62], pa.int64()).cast(pa.timestamp("us", "UTC"))
    ((line, message),) = faults(parquet({"subject": ["a", "b"], "at": at}))
    assert line == 2
    assert "cannot be read" in message


def test_bad_values_are_bad_rows(parquet):
    path = parquet({"subject": ["a", None, "c"], "readings.x": [float("nan"), 1.0, 2.0]})
    assert faults(path) == [(1, "reading 'x' is not a finite number"), (2, "an event needs a subject")]


def test_bytes_are_no_attribute(parquet):
    ((_, message),) = faults(parquet({"subject": ["a"], "blob": [b"\x00"]}))
    assert "attribute 'blob' holds a bytes" in message


def test_a_reading_given_twice_in_a_map_is_a_bad_row(parquet):
    twice = pa.array([[("x", 1.0), ("x", 2.0)]], pa.map_(pa.string(), pa.float64()))
    ((line, message),) = faults(parquet({"subject": ["a"], "readings": twice}))
    assert (line, message) == (1, "duplicate key 'x'")


def test_a_table_without_subjects_is_one_fault(parquet):
    ((line, message),) = faults(parquet({"who": ["a", "b"]}))
    assert line == 0
    assert "needs a column 'subject'" in message


def test_rows_are_numbered_through_all_groups(parquet):
    path = parquet({"subject": ["a"] * 9999 + [""]}, row_group_size=1000)
    assert faults(path) == [(10_000, "subject is empty")]


def test_it_may_come_through_a_pipe_or_compressed(parquet, tmp_path):
    path = parquet({"subject": ["a"]})
    packed = tmp_path / "events.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert len(read_events([packed]).events) == 1
    assert len(read_events(["-"], stdin=io.BytesIO(path.read_bytes())).events) == 1


def test_a_torn_file_is_a_fault(tmp_path, parquet):
    whole = parquet({"subject": ["a"] * 1000}).read_bytes()
    for size in (4, 8, len(whole) // 2, len(whole) - 1):
        torn = tmp_path / "torn.parquet"
        torn.write_bytes(whole[:size])
        ((line, message),) = faults(torn)
        assert line == 0
        assert "not a whole Parquet file" in message


def test_without_pyarrow_the_error_says_what_to_install(parquet, monkeypatch):
    path = parquet({"subject": ["a"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"\[parquet\]"):
        read_events([path])
