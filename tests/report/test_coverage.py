"""What the last lines of a report say of what was not checked or measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import ethogram
from ethogram.app.analyze import analyze_gathered, load_library
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.ingest import read_events
from ethogram.report.coverage import coverage_lines


def test_signals_not_measured_for_one_reason_take_one_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"subject": "ann", "text": "hi"}\n')
    library, batch = load_library(["copied_text"], Settings()), read_events([tmp_path / "a.jsonl"])
    unmeasured = {("flags_b", "why"): 3, ("flags_a", "why"): 3, ("flags_a", "other"): 1}
    analysis = replace(analyze_gathered(batch, library), unmeasured=unmeasured)
    lines = [line for line in coverage_lines(analysis, library, batch) if line.startswith("Not measured")]
    assert lines == [
        "Not measured: flags_a at 1 event: other",
        "Not measured: flags_a, flags_b at 3 events: why",
    ]


EXAMPLE = Path(ethogram.__file__).parent / "data" / "examples" / "network.jsonl"


def test_an_evaluator_is_not_suggested_where_events_came_with_scores(tmp_path, capsys):
    hint = "--evaluator local"
    for command in ("analyze", "assess"):
        assert main([command, str(EXAMPLE)]) == 0
        assert hint not in capsys.readouterr().out
    bare = [json.loads(line) for line in EXAMPLE.read_text().splitlines()]
    path = tmp_path / "bare.jsonl"
    path.write_text("".join(json.dumps({**line, "readings": {}}) + "\n" for line in bare))
    for command in ("analyze", "assess"):
        assert main([command, str(path)]) == 0
        assert hint in capsys.readouterr().out


def test_scores_that_an_evaluator_leaves_out_are_counted(capsys):
    assert main(["evaluate", str(EXAMPLE), "--evaluator", "local", "--json"]) == 0
    answers = map(json.loads, capsys.readouterr().out.splitlines())
    replaced = {answer["id"] for answer in answers if answer["record"] == "evaluation"}
    lines = map(json.loads, EXAMPLE.read_text().splitlines())
    others = (line for line in lines if line["kind"] == "message" and line["id"] not in replaced)
    count = sum(len(line["readings"]) for line in others)
    assert replaced
    assert main(["analyze", str(EXAMPLE), "--evaluator", "local"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"Not used: {count} readings in the input" in out
    assert "without --evaluator they count" in out
