"""DataFrames in and out: what a frame says is what the same rows in a file say."""

from __future__ import annotations

from contextlib import closing, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import ethogram
from ethogram.errors import BadEvents, BadUsage
from ethogram.ingest import reader
from ethogram.ingest.arrow import ArrowReader
from ethogram.ingest.column_reader import Irregular
from ethogram.ingest.column_spill import ColumnBuckets, read_columns
from ethogram.ingest.event_columns import EventColumns
from ethogram.ingest.event_parser import Rules
from ethogram.ingest.format import Input
from ethogram.ingest.formats.parquet import open_parquet
from ethogram.models.limits import Limits

START = datetime(2026, 1, 1, tzinfo=UTC)
WARM = {"compassion": 0.9, "manipulation": 0.1}
PRESSING = {"compassion": 0.1, "manipulation": 0.9}


def rows(days: int = 6) -> list[dict[str, Any]]:
    """One subject turns from warmth to pressure on a target; another is always kind."""
    out = []
    for day in range(2 * days):
        scores = WARM if day < days else PRESSING
        at = START + timedelta(days=day)
        out.append({"id": f"a{day}", "at": at, "subject": "ann", "target": "bo", **scores})
        out.append({"id": f"c{day}", "at": at, "subject": "cy", "target": "bo", **WARM})
    return out


FRAMES = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "arrow": pyarrow.Table.from_pylist,
}


def detections(events: Any, **options: Any) -> list[dict[str, Any]]:
    return [item.to_dict() for item in ethogram.analyze(events, **options).detections]


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_batches_may_share_a_dictionary_that_grows(is_on_disk: bool, tmp_path: Path):
    words, names = ["ann", "bo", "cy", "di"], ["ann", "bo", "ann", "cy", "di", "ann", "ann", "eve", "bo"]
    parts = [(words[:2], [0, 1, 0]), (words, [2, 3, 0]), (["ann", "eve", "bo"], [0, 1, 2])]
    kind = pyarrow.schema([("subject", pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))])
    batches = [
        pyarrow.record_batch(
            [pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes, pyarrow.int32()), own)], kind
        )
        for own, codes in parts
    ]
    rules = Rules(Limits(), {})
    buckets = ColumnBuckets("input", count=2, folder=tmp_path) if is_on_disk else None
    with closing(buckets) if buckets else nullcontext():
        arrow = ArrowReader("input", rules, ["subject"], buckets and buckets.put)
        assert len(list(arrow.take(batches))) == len(parts)
        if buckets is None:
            assert [event.subject for event in arrow.columns()] == names
        else:
            buckets.flush()
            rows = [(event.seq, event.subject) for path in buckets.paths for event in read_columns(path)]
            assert sorted(rows) == list(enumerate(names))


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_gives_what_its_rows_give(library: str):
    lines = [
        {
            **{name: row[name] for name in ("id", "subject", "target")},
            "at": row["at"].isoformat(),
            "readings": {name: row[name] for name in WARM},
        }
        for row in rows()
    ]
    expected = detections(lines)
    assert [item["pattern"] for item in expected] == ["love_bombing"]
    assert detections(FRAMES[library](rows())) == expected


def test_a_parquet_file_is_read_as_columns_and_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "events.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows()), path)
    expected = detections(path)
    monkeypatch.setattr(reader, "COLUMNS_FROM", 0)
    assert isinstance(ethogram.read_events(path).events, EventColumns)
    assert detections(path) == expected != []


def test_absent_values_of_a_frame_are_absent_readings():
    frame = pandas.DataFrame({"subject": ["a", "b"], "compassion": [0.5, None], "manipulation": [None, 0.25]})
    events = ethogram.ingest.read_frame(frame).events
    assert [dict(event.readings) for event in events] == [{"compassion": 0.5}, {"manipulation": 0.25}]


def test_other_columns_are_attributes():
    frame = polars.DataFrame({"subject": ["a"], "path": ["/x"], "exit_code": [1], "when": [START]})
    (event,) = ethogram.ingest.read_frame(frame).events
    assert dict(event.attributes) == {"path": "/x", "exit_code": 1, "when": "2026-01-01T00:00:00Z"}


def test_faults_of_a_frame_name_the_row():
    frame = pandas.DataFrame({"subject": ["a", "b"], "compassion": [0.5, 1.5]})
    with pytest.raises(BadEvents, match=r"DataFrame:2: compassion: 1\.5 is outside 0 to 1"):
        ethogram.analyze(frame)
    assert ethogram.analyze(frame, skip_bad=True).events == 1
    with pytest.raises(BadEvents, match="needs a column 'subject'"):
        ethogram.analyze(pandas.DataFrame({"who": ["a"]}))


def test_a_time_without_a_zone_is_a_fault():
    frame = pandas.DataFrame({"subject": ["a"], "at": [START.replace(tzinfo=None)]})
    with pytest.raises(BadEvents, match="has no zone"):
        ethogram.analyze(frame)


def test_what_is_no_table_is_bad_usage():
    with pytest.raises(BadUsage, match="expected a path, a DataFrame, or a list"):
        ethogram.analyze(3)  # type: ignore[arg-type]


def test_detections_come_back_as_frames():
    analysis = ethogram.analyze(polars.DataFrame(rows()))
    (detection,) = analysis.detections
    for frame in (analysis.to_pandas(), analysis.to_polars().to_pandas(), analysis.to_arrow().to_pandas()):
        assert list(frame["pattern"]) == ["love_bombing"]
        assert list(frame["subject"]) == ["ann"]
        assert list(frame["detected_at"]) == [pandas.Timestamp(detection.detected_at)]
        assert list(frame["evidence"][0]) == [evidence.event for evidence in detection.evidence]
    assert ethogram.analyze([]).to_arrow().num_rows == 0


TEXTS = {
    "string": pyarrow.string(),
    "large_string": pyarrow.large_string(),
    "dictionary": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
}


def read_batches(kind: Any, *parts: dict[str, list[str | None]]) -> EventColumns:
    """The events of record batches whose columns are texts."""
    arrow = ArrowReader("input", Rules(Limits(name=20), {}), list(parts[0]))
    for _ in arrow.take(
        pyarrow.record_batch({name: pyarrow.array(texts, kind) for name, texts in part.items()})
        for part in parts
    ):
        pass
    return arrow.columns()


@pytest.mark.parametrize("kind", TEXTS.values(), ids=TEXTS)
def test_names_of_any_kind_are_read_as_they_are(kind: Any):
    first = {"subject": ["ann", "Ünal", " bo"], "target": [None, "two words", ""], "thread": [None] * 3}
    second = {"subject": ["bo", "ann", "cy"], "target": [None] * 3, "thread": ["t1", None, "t\n2"]}
    events = read_batches(kind, first, second)
    subjects, targets, threads = ([*first[name], *second[name]] for name in first)
    targets[2] = None  # an empty name is none
    assert list(events.values("subject", "target", "thread")) == list(
        zip(subjects, targets, threads, strict=True)
    )
    assert [(event.subject, event.target) for event in events.events([1, 5])] == [
        ("Ünal", "two words"),
        ("cy", None),
    ]
    assert events.counts("subject") == {"ann": 2, "Ünal": 1, " bo": 1, "bo": 1, "cy": 1}
    assert events.count_subjects() == 5
    later = events.take([5, 0])
    assert list(later.values("subject")) == ["cy", "ann"]
    assert [column[4] for column in (events.fields["subject"], events.fields["thread"])] == ["ann", None]


@pytest.mark.parametrize("kind", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", ["", " ", "\u2003", "a\0b", "x" * 21, None])
def test_a_bad_name_is_read_by_its_row(kind: Any, name: str | None):
    with pytest.raises(Irregular):
        read_batches(kind, {"subject": ["ann", name]})


def test_a_name_of_broken_bytes_is_read_by_its_row():
    content = (pyarrow.py_buffer(np.array([0, 2, 4], np.int32)), pyarrow.py_buffer(b"anb\xff"))
    broken = pyarrow.Array.from_buffers(pyarrow.string(), 2, [None, *content])
    arrow = ArrowReader("input", Rules(Limits(), {}), ["subject"])
    with pytest.raises(Irregular):
        list(arrow.take([pyarrow.record_batch({"subject": broken})]))


@pytest.mark.parametrize(("longest", "is_shared"), [(30, False), (3_000, True)])
def test_short_texts_that_seldom_come_again_are_read_without_a_dictionary(
    longest: int, is_shared: bool, tmp_path: Path
):
    # A dictionary has the long text whatever comes after it, and every row could hold it.
    names = ["x" * longest, *(f"subject number {number}" for number in range(9_999))]
    path = tmp_path / "events.parquet"
    options = {"dictionary_pagesize_limit": 4_096, "row_group_size": 5_000}
    pyarrow.parquet.write_table(pyarrow.table({"subject": names}), path, **options)
    with path.open("rb") as stream:
        parquet, _ = open_parquet(Input(str(path), stream, b"PAR1", {}, Limits()))
        kind = parquet.schema_arrow.field("subject").type
    assert pyarrow.types.is_dictionary(kind) is is_shared
    if longest <= Limits().name:
        assert list(reader.read_events([path]).events.values("subject")) == names
