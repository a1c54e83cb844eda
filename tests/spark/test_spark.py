"""Spark gives the detections of one machine, with their ids; on a real Spark of two threads."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

if os.environ.get("CI") != "true":
    pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet

from ethogram.app.analyze import analyze_gathered, load_library
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.errors import BadUsage
from ethogram.ingest import read_events
from ethogram.patterns.library import Library
from ethogram.spark import blocks, detect, read_parquet, session
from small import write_patterns

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


@pytest.mark.parametrize("block_rows", [200_000, 25], ids=["whole subjects", "long subjects"])
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


@pytest.mark.parametrize("seed", range(200))
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
