"""Agent runs: outcomes of detections are counted, and a threshold that is too often wrong is adjusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import ethogram
from ethogram.cli.main import main
from settings_files import trust, trusted_settings

LEARNING = """\
pattern_detection:
  enabled_patterns:
    - repetitive_errors
  pattern_configs:
    repetitive_errors:
      window_size: 10
      threshold: 3
  learning:
    enabled: true
    adjustment_threshold: 0.7 # Accuracy below this triggers adjustment
    history_retention_days: 30
"""
REPEATED = {f"run-{n:02}": 3 + n % 4 for n in range(40)}
"""How often each run meets the same error: ten runs each of three, four, five and six times."""
RIGHT = 5
"""From so many repetitions on, people confirm."""
STORE = ("--store", "runs.db")


def actions(run: str, errors: int) -> list[dict[str, Any]]:
    """A run with the same error so many times, after a step that works."""
    results = [{"result": "ok"}, *[{"error": "not_found"}] * errors]
    return [
        {
            "id": f"{run}-{n}",
            "at": f"2026-03-01T10:{n:02}:00Z",
            "subject": run,
            "thread": run,
            "kind": "action",
        }
        | {"attributes": {"tool": "file_read", "path": "lib/a.ex", **result}}
        for n, result in enumerate(results)
    ]


def records(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main([*words, "--json"]) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> dict[str, str]:
    """The detections of all runs in a store, by their run."""
    monkeypatch.chdir(tmp_path)
    trusted_settings(tmp_path, LEARNING)
    events = [event for run, errors in REPEATED.items() for event in actions(run, errors)]
    events += actions("calm", 0) + actions("twice", 2)
    Path("runs.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    assert main(["store", "import", "runs.jsonl", *STORE, "--keep-text"]) == 0
    rows = records(capsys, "sweep", *STORE, "--as-of", "2026-03-02T00:00:00Z")
    return {row["subject"]: row["id"] for row in rows if row["record"] == "detection"}


def judge(detected: Mapping[str, str], right: int = RIGHT) -> None:
    for run, detection in detected.items():
        outcome = "confirmed" if REPEATED[run] >= right else "false_alarm"
        ethogram.verdicts.record(detection, outcome, store="runs.db", by="kim")


def test_every_outcome_of_a_detection_is_counted(detected: dict[str, str]):
    assert detected.keys() == REPEATED.keys()
    ids = sorted(detected.values())
    for detection, outcome in zip(ids, ["confirmed"] * 3 + ["false_alarm"], strict=False):
        ethogram.verdicts.record(detection, outcome, store="runs.db", by="kim")
    silence = {"store": "runs.db", "by": "kim", "pattern": "repetitive_errors"}
    ethogram.verdicts.record(
        None, "missed", subject="twice", first_event="twice-0", last_event="twice-2", **silence
    )
    ethogram.verdicts.record(
        None, "correct_silence", subject="calm", first_event="calm-0", last_event="calm-0", **silence
    )
    [accuracy] = ethogram.verdicts.accuracy("repetitive_errors", store="runs.db")
    counts = accuracy.whole.counts
    assert (counts.confirmed, counts.false_alarm) == (3, 1)  # true and false positives
    assert (counts.missed, counts.correct_silence) == (1, 1)  # false and true negatives


@pytest.mark.parametrize("outcome", ["missed", "correct_silence"])
def test_what_was_detected_is_no_silence(detected: dict[str, str], outcome: str):
    ends = {"subject": "run-00", "first_event": "run-00-0", "last_event": "run-00-3"}
    with pytest.raises(ethogram.EthogramError, match="detected"):
        ethogram.verdicts.record(
            None, outcome, store="runs.db", by="kim", pattern="repetitive_errors", **ends
        )


def test_an_outcome_of_nothing_is_refused(detected: dict[str, str]):
    with pytest.raises(ethogram.EthogramError, match="0" * 20):
        ethogram.verdicts.record("0" * 20, "confirmed", store="runs.db", by="kim")


def test_a_low_accuracy_adjusts_the_threshold(detected: dict[str, str], capsys: Any):
    judge(detected)
    [accuracy] = records(capsys, "patterns", "accuracy", "repetitive_errors", *STORE)[:1]
    assert (accuracy["confirmed"], accuracy["false_alarm"], accuracy["precision"]) == (20, 20, 0.5)
    [proposal] = records(capsys, "patterns", "learn", "repetitive_errors", *STORE)
    assert proposal["record"] == "proposal"
    assert (proposal["parameter"], proposal["old"]) == ("threshold", 3)
    assert proposal["new"] >= RIGHT

    # Nothing changes until somebody takes it up; then the runs below are no longer detected.
    before = [item.subject for item in ethogram.analyze("runs.jsonl", settings=None)]
    assert len(set(before)) == len(REPEATED)
    assert main(["patterns", "learn", "repetitive_errors", "--accept", "--by", "kim", *STORE]) == 0
    rows = records(capsys, "analyze", "runs.jsonl")
    found = {row["subject"] for row in rows if row["record"] == "detection"}
    assert found == {run for run, errors in REPEATED.items() if errors >= RIGHT}
    [change] = records(capsys, "patterns", "learn", "--list")
    assert (change["by"], change["pattern"], change["parameter"]) == ("kim", "repetitive_errors", "threshold")

    # And back.
    assert main(["patterns", "learn", "repetitive_errors", "--undo", "--by", "kim"]) == 0
    rows = records(capsys, "analyze", "runs.jsonl")
    assert {row["subject"] for row in rows if row["record"] == "detection"} == REPEATED.keys()


def test_an_accuracy_at_the_adjustment_threshold_changes_nothing(detected: dict[str, str], capsys: Any):
    # Runs with three errors are false alarms: ten of forty, and 0.75 is not below 0.7.
    judge(detected, right=4)
    [answer] = records(capsys, "patterns", "learn", "repetitive_errors", *STORE)
    assert (answer["record"], answer["why"]) == ("no_proposal", "precision 0.75 is not below 0.7")
    # With another threshold of the accuracy it would.
    trusted_settings("", LEARNING.replace("adjustment_threshold: 0.7", "adjustment_threshold: 0.8"))
    [answer] = records(capsys, "patterns", "learn", "repetitive_errors", *STORE)
    assert (answer["record"], answer["new"]) == ("proposal", 4)


def test_learning_that_is_not_enabled_proposes_nothing(detected: dict[str, str], capsys: Any):
    judge(detected)
    Path("ethogram.yaml").write_text(LEARNING.replace("enabled: true", "enabled: false"), encoding="utf-8")
    trust("ethogram.yaml")
    rows = records(capsys, "patterns", "learn", "repetitive_errors", *STORE)
    assert [row["record"] for row in rows] == ["no_proposal"]


def test_outcomes_older_than_the_retention_are_counted_and_then_forgotten(
    detected: dict[str, str], capsys: Any
):
    ids = list(detected.values())
    for detection in ids[:2]:
        ethogram.verdicts.record(detection, "confirmed", store="runs.db", by="kim", at="2026-03-02T00:00:00Z")
    ethogram.verdicts.record(ids[2], "confirmed", store="runs.db", by="kim")
    # A later sweep removes what is older than thirty days; the counts stay.
    assert main(["sweep", *STORE]) == 0
    listed = records(capsys, "verdict", "--list", *STORE)
    assert [row["detection"] for row in listed] == [ids[2]]
    [accuracy] = ethogram.verdicts.accuracy("repetitive_errors", store="runs.db")
    assert accuracy.whole.counts.confirmed == 3
