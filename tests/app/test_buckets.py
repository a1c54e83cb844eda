"""Buckets: any number of them, looked at in any shares, gives what one analysis of all events gives."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ethogram.app.analyze import analyze_gathered, load_library
from ethogram.app.buckets import analyze_share, bucket, merge
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.errors import BadUsage
from ethogram.ingest import OnDisk, gather_events, read_events, reader
from ethogram.ingest.event_columns import EventColumns
from ethogram.ingest.parquet_buckets import ParquetBuckets, by_subject, events_of_table, table_of
from ethogram.ingest.spill import open_buckets
from ethogram.patterns.library import Library
from sampling import seeds
from small import write_events, write_patterns

TEXTS = (
    "Please give me your password now, or everyone hears about it.",
    "You are wonderful, nobody understands me the way you do. Thank you so much.",
    "I cannot help with that request, it would hurt somebody.",
    "Could you explain the recipe again? The oven is at 200 degrees and the dough is cold.",
    "Everybody should buy this coin today, the price doubles before the weekend, trust me.",
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


def random_lines(seed: int, count: int = 250) -> list[dict[str, Any]]:
    """Event lines of people who talk in threads, with scores by others, and a source without times."""
    rng = random.Random(seed)
    lines: list[dict[str, Any]] = []
    for k in range(count):
        line: dict[str, Any] = {
            "at": f"2026-02-{1 + k * 27 // count:02d}T{rng.randrange(24):02d}:{rng.randrange(60):02d}:00Z",
            "subject": f"s{rng.randrange(12)}",
            "source": rng.choice(["a", "a", "b", "c"]),
            "readings": {"compassion": round(rng.random(), 3), "manipulation": round(rng.random(), 3)},
        }
        if rng.random() < 0.7:
            line["id"] = f"e{k}"
        if rng.random() < 0.6:
            line |= {"target": f"s{rng.randrange(12)}", "thread": f"t{rng.randrange(6)}"}
            line |= {"text": rng.choice(TEXTS) * rng.choice((1, 1, 3)), "kind": "message"}
        if rng.random() < 0.2 and k > 5:
            line["reply_to"] = f"e{rng.randrange(k)}"
        if rng.random() < 0.2:
            line["attributes"] = {
                "role": rng.choice(["user", "assistant"]),
                "n": [1, {"x": None}],
                "é": 2**70,
            }
        if rng.random() < 0.2:
            line["readings"]["MAN_INJECTION"] = {"value": 1, "scorer": "rubric", "width": 3}
        if rng.random() < 0.1:
            line["readings"]["mood"] = rng.choice(["calm", "tense"])
        if line["source"] == "c":
            del line["at"]
        lines.append(line)
    return lines


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The patterns that are on, and a contagion."""
    folder = write_patterns(tmp_path_factory.mktemp("patterns"), PRESSES, SPREADS)
    return load_library(["*", folder], Settings())


def records(analysis: Any) -> list[str]:
    return [json.dumps(record, sort_keys=True) for record in analysis.to_dicts()]


@pytest.mark.parametrize("seed", seeds(1, 2))
@pytest.mark.parametrize("memory", [0, 2**30], ids=["on disk", "in memory"])
def test_any_number_of_buckets_gives_the_analysis_of_all(
    seed: int, memory: int, library: Library, tmp_path: Path
):
    path, rng, settings = tmp_path / "events.jsonl", random.Random(seed), Settings()
    write_events(path, random_lines(seed))
    theirs = analyze_gathered(read_events(path), library, settings=settings)
    assert theirs.detections
    if not seed:
        assert "pressure_spreads" in {item.pattern for item in theirs.detections}
    for number in (1, rng.randint(2, 9))[seed:]:
        out = tmp_path / f"out{number}"
        gathered = gather_events(path, memory=memory, multiple=number)
        assert isinstance(gathered, OnDisk) == (not memory)
        manifest = bucket(gathered, library, settings, out, number)
        assert manifest.events == 250
        assert "copied_by" in manifest.measured
        of = rng.randint(1, number)
        files = [tmp_path / f"{number}-{share}.jsonl" for share in range(1, of + 1)]
        for share, file in enumerate(files, 1):
            analyze_share(out, library, settings, share=share, of=of, output=file, workers=0)
        rng.shuffle(files)
        ours, _, _ = merge(files, library, settings)
        assert records(ours) == records(theirs)
        whole = open_buckets(out)
        assert whole is not None
        assert records(analyze_gathered(whole, library, settings=settings)) == records(theirs)
        if isinstance(gathered, OnDisk):
            gathered.close()


def test_fewer_patterns_than_were_measured_for_give_the_same(library: Library, tmp_path: Path):
    path, settings = tmp_path / "events.jsonl", Settings()
    write_events(path, random_lines(5))
    bucket(read_events(path), library, settings, tmp_path / "out", 2)
    few = load_library(["love_bombing", "withdrawal*", "repeated_pressure"], settings)
    theirs = analyze_gathered(read_events(path), few, settings=settings)
    files = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    for share, file in enumerate(files, 1):
        analyze_share(tmp_path / "out", few, settings, share=share, of=2, output=file, workers=0)
    assert records(merge(files, few, settings)[0]) == records(theirs)


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_events_are_read_from_parquet_as_they_were_written(seed: int, tmp_path: Path):
    path = tmp_path / "events.jsonl"
    write_events(path, random_lines(seed))
    events = read_events(path).events
    assert list(events_of_table(table_of(by_subject(events)))) == list(events)


def test_columns_are_read_from_parquet_as_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "COLUMNS_FROM", 0)
    path = tmp_path / "events.jsonl"
    lines = [line for line in random_lines(1) if line["source"] == "a" and "é" not in str(line)]
    write_events(path, [{**line, "readings": {"compassion": 0.5}, "source": "input"} for line in lines])
    events = read_events(path).events
    assert isinstance(events, EventColumns)
    again = events_of_table(table_of(by_subject(events)))
    assert isinstance(again, EventColumns)
    assert list(again) == list(events)


def test_subjects_lie_next_to_each_other_and_in_order(tmp_path: Path):
    import pyarrow.parquet

    path, settings = tmp_path / "events.jsonl", Settings()
    write_events(path, random_lines(2))
    bucket(read_events(path), load_library(["love_bombing"], settings), settings, tmp_path / "out", 3)
    rows = 0
    for file in ParquetBuckets(tmp_path / "out").paths:
        table = pyarrow.parquet.read_table(file).select(["source", "subject", "at", "seq"]).to_pylist()
        keys = [tuple(row.values()) for row in table]
        assert keys == sorted(keys)
        rows += len(keys)
    assert rows == 250


def test_shares_that_do_not_belong_together_are_refused(library: Library, tmp_path: Path):
    path, settings, out = tmp_path / "events.jsonl", Settings(), tmp_path / "out"
    write_events(path, random_lines(3))
    few = load_library(["love_bombing"], settings)
    bucket(read_events(path), few, settings, out, 2)
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    with pytest.raises(BadUsage, match="depends on other subjects"):
        analyze_share(out, library, settings, share=1, of=2, output=one)
    with pytest.raises(BadUsage, match="has 2 buckets"):
        analyze_share(out, few, settings, share=1, of=3, output=one)
    for share, file in ((1, one), (2, two)):
        analyze_share(out, few, settings, share=share, of=2, output=file, workers=0)
    with pytest.raises(BadUsage, match="missing shares of 2: 2"):
        merge([one], few, settings)
    with pytest.raises(BadUsage, match="1/2 comes twice"):
        merge([one, one, two], few, settings)
    with pytest.raises(BadUsage, match="other patterns or settings"):
        merge([one, two], load_library(["withdrawal"], settings), settings)
    two.write_bytes(two.read_bytes()[:40])
    with pytest.raises(BadUsage, match="not a share"):
        merge([one, two], few, settings)
    with pytest.raises(BadUsage, match="expected a new or empty folder"):
        bucket(read_events(path), few, settings, out, 2)


def test_commands_give_the_same_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    examples, out = str(tmp_path / "examples"), str(tmp_path / "out")
    assert main(["demo", "--copy", examples]) == 0
    assert main(["bucket", examples, out, "--buckets", "4"]) == 0
    files = [str(tmp_path / f"{share}.jsonl") for share in (1, 2, 3)]
    for share, file in enumerate(files, 1):
        assert main(["analyze", out, "--bucket", f"{share}/3", "--output", file]) == 0
    capsys.readouterr()
    assert main(["analyze", examples, "--json"]) == 0
    theirs = capsys.readouterr().out
    for command in (["merge", *files], ["analyze", out], ["analyze", examples, "--jobs", "2"]):
        assert main([*command, "--json"]) == 0
        assert capsys.readouterr().out == theirs
    assert main(["merge", *files, "--fail-on", "low"]) == 3
    assert "detections" in capsys.readouterr().out
    assert main(["analyze", out, "--bucket", "x", "--output", files[0]]) == 2
    assert main(["analyze", out, "--bucket", "1/2"]) == 2
