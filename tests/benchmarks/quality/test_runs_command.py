"""`python -m benchmarks quality runs` on runs made by hand, where the right figures can be reasoned out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main


def step(i: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"i": i, "actor": "agent", "kind": kind, "tool": "bash", **more}


def run(name: str, label: str, *, loops: bool, labelled: bool = False) -> dict[str, Any]:
    """Six steps: the same failing command, or six different files read."""
    steps = []
    for k in range(6):
        command = "make build" if loops else f"cat part_{'abcdef'[k]}.py"
        call = step(2 * k, "tool_call", args={"command": command})
        if labelled and k < 5:
            call["labels"] = {"to_next": "Repetition"}
        said = "cc: no rule to make target" if loops else f"def {'abcdef'[k]}(): return {'uvwxyz'[k]}"
        steps += [call, step(2 * k + 1, "tool_result", text=said, error=said if loops else None)]
    return {
        "run_id": name,
        "source": "made",
        "task": "build it",
        "label": label,
        "labels": {},
        "steps": steps,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    runs = [run(f"bad{k}", "failed", loops=True, labelled=True) for k in range(3)]
    runs += [run(f"good{k}", "passed", loops=False) for k in range(3)]
    (tmp_path / "made.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *args: str | Path) -> list[dict[str, Any]]:
    assert main(["quality", "runs", "--json", *map(str, args)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_figures_are_those_one_can_reason_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = told(capsys, "--data", folder, "--patterns", "loop", "--patterns", "repetitive_errors")
    found = {
        (record["pattern"], record["severity"]): record
        for record in records
        if record["record"] == "validated"
    }
    loop = found["loop", "any"]
    assert (loop["marked"], loop["failed_marked"], loop["good_marked"]) == (3, 3, 0)
    # All marked runs failed, and half of all did.
    assert (loop["precision"], loop["lift"]) == (1.0, 2.0)
    summary = records[-1]
    assert summary["record"] == "validate_summary"
    alarms = {"good_runs": 3, "any": 0, "medium": 0, "high": 0}
    assert summary["sets"] == {"made": {"runs": 6, "failed": 3, "succeeded": 3, "false_alarms": alarms}}
    assert summary["false_alarms"] == alarms


def test_a_severity_counts_those_above_it_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = told(capsys, "--data", folder, "--patterns", "repetitive_errors")
    by_severity = {
        record["severity"]: record["marked"] for record in records if record["record"] == "validated"
    }
    assert list(by_severity) == ["any", "medium", "high"]
    # The same command failed six times: in each of the three runs that is grave, so also at least medium.
    assert by_severity == {"any": 3, "medium": 3, "high": 3}


def test_only_the_sets_named_are_looked_at(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other.jsonl").write_text(json.dumps(run("fine", "passed", loops=True)) + "\n")
    asked = ("--data", folder, "--patterns", "repetitive_errors")
    whole, some = told(capsys, *asked)[-1], told(capsys, *asked, "--set", "made")[-1]
    assert list(whole["sets"]) == ["made", "other"]
    assert whole["false_alarms"] == {"good_runs": 4, "any": 1, "medium": 1, "high": 1}
    assert list(some["sets"]) == ["made"]
    assert some["false_alarms"] == {"good_runs": 3, "any": 0, "medium": 0, "high": 0}
    # The digest is of the files that were looked at.
    assert whole["data"] != some["data"]
    assert main(["quality", "runs", *map(str, asked), "--set", "nowhere"]) == 2
    assert "no set 'nowhere'; there are made, other" in capsys.readouterr().err


def test_labelled_repetitions_lie_in_a_detection(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = told(capsys, "--data", folder)
    (recall,) = [record for record in records if record["record"] == "repetition"]
    # Five labels in each of three runs, and all of them between equal calls.
    assert (recall["pairs"], recall["equal_pairs"]) == (15, 15)
    assert recall["found"] == 15


def test_other_data_has_another_digest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = told(capsys, "--data", folder, "--patterns", "loop")[-1]["data"]
    file = folder / "made.jsonl"
    file.write_text(file.read_text().replace("bad0", "bad9"))
    assert told(capsys, "--data", folder, "--patterns", "loop")[-1]["data"] != first


def test_the_folder_may_come_from_the_environment(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "made.jsonl").rename(tmp_path / "runs" / "made.jsonl")
    monkeypatch.setenv("ETHOGRAM_DATA", str(tmp_path))
    assert told(capsys, "--patterns", "loop")[-1]["record"] == "validate_summary"


def test_text_has_a_line_for_each_pattern(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quality", "runs", "--data", str(folder), "--patterns", "loop"]) == 0
    out = capsys.readouterr().out
    assert "made: 6 runs, 3 failed, 3 did not" in out
    assert "steps labelled a repetition: 15 of 15 equal ones are in a detection, 15 of all 15" in out


@pytest.mark.parametrize("data", ["", "nowhere"])
def test_without_data_it_says_how_to_name_some(
    data: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ETHOGRAM_DATA", raising=False)
    assert main(["quality", "runs", *(["--data", data] if data else [])]) == 2
    assert ("--data" if not data else "nowhere") in capsys.readouterr().err
