"""What the last lines of a report say of what was not checked or measured."""

from __future__ import annotations

from dataclasses import replace

from ethogram.app.analyze import analyze_gathered, load_library
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
