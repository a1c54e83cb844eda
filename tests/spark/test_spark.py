"""Spark gives the detections of one machine, with their ids; on a real Spark of two threads."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

if os.environ.get("CI") != "true":
    pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet

from ethogram import spark as spark_module
from ethogram.app.analyze import analyze_gathered, load_library
from ethogram.app.live.stream_consumer import EventWriter
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.data import DATA
from ethogram.errors import BadUsage
from ethogram.ingest import read_events
from ethogram.models.detection import STANDING
from ethogram.models.limits import Limits
from ethogram.patterns.library import Library
from ethogram.spark import _line_maker, blocks, detect, read_parquet, read_stream, session, write_stream
from ethogram.store import open_store
from markdown_blocks import ROOT, blocks_of
from sampling import for_each
from small import write_patterns
from waiting import wait_until

START = datetime(2026, 2, 1, tzinfo=UTC)
TEXTS = (
    "Please give me your password now.",
    "Thank you, that was kind of you.",
    "Buy this coin today, it doubles.",
)
PRESSES = """\
name: presses
title: Pressure
description: Presses somebody.
group_by: [subject, target]
shape:
  threshold: {when: manipulation > 0.8, clears: manipulation < 0.5}
confidence: manipulation
severity: low
examples:
  fires: [{story: presses, target: bo, manipulation: [0.1, 0.9], at: 2}]
  quiet:
    - {story: does not, target: bo, manipulation: [0.1, 0.2]}
    - {story: nearly does, target: bo, manipulation: [0.1, 0.8]}
"""
SPREADS = """\
name: pressure_spreads
title: Spread of pressure
description: Others press after they met somebody who did.
shape:
  spread: {from: presses, to: presses, at_least: 2, within: 30d}
severity: medium
examples:
  fires:
    - story: two after one
      subject: [a, a, b, c]
      target: [b, c, a, a]
      manipulation: [0.9, 0.9, 0.9, 0.9]
  quiet:
    - {story: one after one, subject: [a, b], target: [b, a], manipulation: [0.9, 0.9]}
    - {story: nobody presses, subject: [a, b], target: [b, a], manipulation: [0.1, 0.1]}
"""


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        # It lives for a minute: to optimise its code takes longer than to run it.
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        started = session("local[2]")
    started.conf.set("spark.sql.shuffle.partitions", "3")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = write_patterns(tmp_path_factory.mktemp("patterns"), PRESSES, SPREADS)
    return load_library(["*", folder], Settings())


def random_rows(seed: int, count: int = 300) -> pa.Table:
    rng = random.Random(seed)
    rows = [
        {
            "id": f"e{k}" if rng.random() < 0.8 else None,
            "at": START + timedelta(minutes=30 * k if rng.random() < 0.8 else 30 * (k // 10) * 10),
            "subject": f"s{min(rng.randrange(14), 9)}",
            "target": f"s{rng.randrange(10)}" if rng.random() < 0.7 else None,
            "thread": f"t{rng.randrange(5)}" if rng.random() < 0.5 else None,
            "reply_to": f"e{rng.randrange(k)}" if k and rng.random() < 0.3 else None,
            "text": rng.choice(TEXTS) if rng.random() < 0.5 else None,
            "kind": "message",
            "compassion": round(rng.random(), 3),
            "manipulation": round(rng.random(), 3) if rng.random() < 0.9 else None,
            "role": rng.choice(["user", "assistant", None]),
        }
        for k in range(count)
    ]
    schema = pa.Table.from_pylist(rows).schema
    at = pa.field("at", pa.timestamp("us", "UTC"))
    return pa.Table.from_pylist(rows, schema.set(schema.get_field_index("at"), at))


def records(analysis: Any) -> list[str]:
    return [json.dumps(record, sort_keys=True) for record in analysis.to_dicts()]


@pytest.mark.parametrize(
    "block_rows",
    [pytest.param(200_000, id="in one block", marks=pytest.mark.long), pytest.param(25, id="in many")],
)
def test_the_same_records_as_on_one_machine(block_rows: int, spark: Any, library: Library, tmp_path: Path):
    path = tmp_path / "events.parquet"
    pa.parquet.write_table(random_rows(1), path)
    theirs = analyze_gathered(read_events(path), library, settings=Settings())
    assert "pressure_spreads" in {item.pattern for item in theirs}
    frame = read_parquet(spark, str(path))
    ours = detect(frame, library, settings=Settings(), block_rows=block_rows)
    assert records(ours) == records(theirs)


def test_the_order_of_rows_and_sources_do_not_matter(spark: Any, tmp_path: Path):
    table = random_rows(2).append_column("seq", pa.array(range(300), pa.int64()))
    table = table.append_column("source", pa.array([f"x{k % 2}" for k in range(300)]))
    table = table.drop_columns(["text", "thread"])
    path = tmp_path / "events.parquet"
    pa.parquet.write_table(table, path)
    theirs = analyze_gathered(read_events(path), load_library(None, Settings()))
    for part in range(3):
        folder = tmp_path / "parts"
        folder.mkdir(exist_ok=True)
        rows = random.Random(part).sample(range(part, 300, 3), 100)
        pa.parquet.write_table(table.take(rows), folder / f"{part}.parquet")
    ours = detect(read_parquet(spark, str(tmp_path / "parts")), as_of=theirs.as_of)
    assert records(ours) == records(theirs)


def test_the_command_writes_the_records_of_analyze(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path, out = tmp_path / "events.parquet", tmp_path / "out"
    pa.parquet.write_table(random_rows(3), path)
    chosen = ["--patterns", "love_bombing", "--patterns", "repeated_pressure"]
    asked = ["spark", "analyze", "--master", "local[2]", "--input", str(path), "--output", str(out)]
    assert main([*asked, *chosen]) == 0
    capsys.readouterr()
    assert main(["analyze", str(path), "--json", *chosen]) == 0
    theirs = capsys.readouterr().out.splitlines()
    (written,) = out.glob("part-*")
    assert [json.loads(line) for line in written.read_text().splitlines()] == list(map(json.loads, theirs))


def test_the_recipe_of_the_page_finds_in_json_lines_what_analyze_finds(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pa.parquet.write_table(random_rows(4), tmp_path / "events.parquet")
    shutil.copy(DATA / "examples" / "network.jsonl", tmp_path / "events.jsonl")
    recipe = next(block for block in blocks_of(ROOT / "docs" / "scaling.md") if "read.json" in block.text)
    monkeypatch.setattr(spark_module, "session", lambda master: spark)
    names: dict[str, Any] = {}
    # Whole paths: the JVM may have been started elsewhere.
    exec(recipe.text.replace('"events.', f'"{tmp_path}/events.'), names)
    theirs = analyze_gathered(read_events(tmp_path / "events.jsonl"), load_library(None, Settings()))
    assert theirs.detections
    assert records(names["analysis"]) == records(theirs)


def test_what_cannot_be_told_apart_is_refused(spark: Any):
    def refused(rows: str, what: str) -> None:
        with pytest.raises(BadUsage, match=what):
            detect(spark.sql(rows), ["love_bombing"])

    refused("SELECT 'a' AS subject, current_timestamp() AS at", "'id' or 'seq'")
    refused("SELECT 'a' AS subject, 'x' AS id, '2026-01-01' AS at", "expected timestamp")
    refused("SELECT 'x' AS id, current_timestamp() AS at", "needs a column 'subject'")
    refused(
        "SELECT 'a' AS subject, 'x' AS id, timestamp'2026-01-01T00:00:00Z' AS at, 7.5D AS compassion",
        "compassion",
    )


@for_each("seed", range(200))
def test_blocks_hold_whole_subjects_and_every_row_once(seed: int):
    rng = random.Random(seed)
    keys = sorted((rng.choice("xy"), f"s{rng.randrange(6)}") for _ in range(rng.randrange(1, 60)))
    table = pa.table(
        {"source": [a for a, _ in keys], "subject": [b for _, b in keys], "n": list(range(len(keys)))}
    )
    batches, start = [], 0
    while start < len(keys):
        size = rng.randint(1, 12)
        batches += table.slice(start, size).to_batches()
        start += size
    seen: list[int] = []
    finished: set[tuple[str, str]] = set()
    pieces: set[tuple[str, str]] = set()
    for rows, is_whole in blocks(batches, rng.randint(1, 20)):
        part = pa.Table.from_batches(rows).to_pylist() if rows else []
        own = {(row["source"], row["subject"]) for row in part}
        assert not own & finished
        seen += [row["n"] for row in part]
        if is_whole:
            assert not pieces
            finished |= own
        elif part:
            pieces |= own
            assert len(pieces) == 1
        else:
            finished |= pieces
            pieces = set()
    assert not pieces
    assert seen == list(range(len(keys)))


# --- streams --------------------------------------------------------------------------------

KILLED = """\
import os, signal, sys
import ethogram.spark
from ethogram.app.live.stream_consumer import EventWriter
from ethogram.cli.main import main

ethogram.spark.MOST = 50
before, calls = EventWriter._set_aside, 0

def kill(self, *args):
    global calls
    calls += 1
    if calls == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return before(self, *args)

EventWriter._set_aside = kill
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_shipped_patterns: None) -> Path:
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", PRESSES, SPREADS)
    (tmp_path / "in").mkdir()
    return tmp_path


def event_rows(count: int = 300) -> list[dict[str, Any]]:
    rows = random_rows(5, count).to_pylist()
    return [{**row, "id": f"e{k}", "at": row["at"] + timedelta(seconds=k)} for k, row in enumerate(rows)]


def event_lines(rows: list[dict[str, Any]]) -> list[str]:
    """JSON lines, with the signals as readings."""
    signals = ("compassion", "manipulation")
    lines = []
    for row in rows:
        line = {name: value for name, value in row.items() if name not in signals and value is not None}
        line["at"] = row["at"].isoformat()
        line["readings"] = {name: row[name] for name in signals if row[name] is not None}
        lines.append(json.dumps(line) + "\n")
    return lines


def stream_args(*more: str) -> list[str]:
    # Whole paths: the JVM may have been started elsewhere.
    here = Path.cwd()
    args = ["spark", "stream", "--input", f"{here}/in", "--store", "s.db", "--checkpoint", f"{here}/position"]
    return [*args, "--patterns", "patterns", "--master", "local[2]", "--once", "--json", *more]


def stored_like_analyzed(path: Path) -> list[str]:
    """The ids of detections, which are the same in the store and of an analysis of the file."""
    library = load_library(["patterns"], Settings())
    analysis = analyze_gathered(read_events(path), library, as_of=datetime.now(UTC), settings=Settings())
    with open_store("s.db") as store:
        stored = store.detections(states=STANDING)
    ours, theirs = ([(item.id, item.severity, item.state) for item in items] for items in (stored, analysis))
    assert sorted(ours) == sorted(theirs)
    assert {item.pattern for item in analysis} == {"presses", "pressure_spreads"}
    return [item.id for item in analysis]


def check_continued(lines: list[str], folder: Path, capfd: Any) -> None:
    """Whether the command continues after a batch that ended in the middle, with one more file."""
    with open_store("s.db") as store:
        assert store.info().events == 150
    (folder / "in" / "2.jsonl").write_text("".join(lines[250:]))
    capfd.readouterr()
    assert main(stream_args()) == 0
    changes = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    (folder / "all.jsonl").write_text("".join(lines))
    ids = stored_like_analyzed(folder / "all.jsonl")
    assert sorted(change["id"] for change in changes if change["change"] == "new") == sorted(ids)
    with open_store("s.db") as store:
        assert store.info().events == len(lines)


def test_a_batch_that_failed_in_the_middle_is_repeated(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
):
    lines = event_lines(event_rows())
    (folder / "in" / "1.jsonl").write_text("".join(lines[:250]))
    calls: list[int] = []

    def fail(self: EventWriter, *_: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise BadUsage("the disk is full")

    monkeypatch.setattr(spark_module, "MOST", 50)
    with monkeypatch.context() as patched:
        patched.setattr(EventWriter, "_set_aside", fail)
        assert main(stream_args()) == 2
    assert "the disk is full" in capfd.readouterr().err
    check_continued(lines, folder, capfd)


@pytest.mark.long
def test_a_killed_driver_loses_and_doubles_nothing(spark: Any, folder: Path, capfd: Any):
    lines = event_lines(event_rows())
    (folder / "in" / "1.jsonl").write_text("".join(lines[:250]))
    command = [sys.executable, "-c", KILLED, *stream_args()]
    done = subprocess.run(command, stderr=subprocess.DEVNULL, timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL
    check_continued(lines, folder, capfd)


def test_rows_of_parquet_files_stream_and_bad_ones_are_set_aside(spark: Any, folder: Path, capfd: Any):
    rows = event_rows()
    bad = [{**rows[0], "id": None}, {**rows[0], "kind": "other"}, {**rows[1], "id": "x", "subject": None}]
    table = pa.Table.from_pylist([*rows, *bad], random_rows(5, 300).schema)
    pa.parquet.write_table(table, folder / "in" / "1.parquet")
    pa.parquet.write_table(table.slice(0, len(rows)), folder / "all.parquet")
    assert main(stream_args("--format", "parquet", "--fail-on", "low")) == 3
    stored_like_analyzed(folder / "all.parquet")
    refused = [json.loads(line) for line in Path("rejected.jsonl").read_text().splitlines()]
    words = ["id is missing", "other content", "subject"]
    assert len(refused) == 3
    assert all(any(word in item["error"] for item in refused) for word in words)
    assert "row 'e0': the id 'e0' has other content" in capfd.readouterr().err


@pytest.mark.long
def test_any_format_streams_where_expressions_make_columns_of_events(spark: Any, tmp_path: Path):
    select = ["concat('u', value % 3) AS subject", "timestamp AS at", "string(value) AS id", "0.5 AS risk"]
    frame = read_stream(spark, "rate", options={"rowsPerSecond": "50"}, select=select)
    lines: list[Any] = []
    query = write_stream(
        frame,
        lines.extend,
        lambda: None,
        checkpoint=str(tmp_path / "position"),
        kinds={},
        limits=Limits(),
        every=0.1,
    )
    try:
        wait_until(lambda: lines, "lines of the stream")
    finally:
        query.stop()
    assert lines[0].line["subject"].startswith("u")
    assert abs(lines[0].line["at"] - datetime.now(UTC)) < timedelta(hours=1)


def test_a_row_of_kafka_is_known_by_its_place(spark: Any):
    at = datetime(2026, 3, 1, tzinfo=UTC)
    row = (bytearray(b'{"subject": "ann"}'), "events", 1, 7, at)
    frame = spark.createDataFrame(
        [row], "value binary, topic string, partition int, offset bigint, timestamp timestamp"
    )
    (item,) = map(_line_maker(frame, {}, Limits()), frame.collect())
    assert item.position == "events/1/7"
    assert item.line == {"subject": "ann", "at": at, "seq": 7}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--option", "x"), "expected NAME=VALUE"),
        (("--every", "0s"), "invalid --every"),
        (("--format", "rate"), "needs a column 'subject'"),
        (("--format", "parquet"), "Spark: "),
    ],
)
def test_a_stream_that_cannot_be_read(
    args: tuple[str, ...], words: str, spark: Any, folder: Path, capfd: Any
):
    assert main([item for item in stream_args(*args) if item not in ("--json",)]) == 2
    assert words in capfd.readouterr().err
