"""Transcripts without times: analyze, watch and sweep say the same, in steps, with counts that agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ethogram.cli.main import main

MISSING = (
    "Traceback (most recent call last):\n  File \"t.py\", line 3\nModuleNotFoundError: No module named 'yaml'"
)
TESTS = ("bash", {"command": "python -m pytest tests/test_a.py"}, MISSING)
LIST = ("bash", {"command": "ls"}, "src tests")
FAILING = [LIST, *6 * [TESTS]]
Call = tuple[str, dict[str, str], str]


def write(path: Path, calls: list[Call], task: str = "Fix src/app.py") -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    for number, (tool, arguments, result) in enumerate(calls):
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    path.write_text(json.dumps(messages))
    return str(path)


def records(capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, Any]]:
    assert main([*argv, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_watch_has_steps_and_no_times_as_analyze(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = write(tmp_path / "run.json", FAILING)
    seen = records(capsys, "watch", "--once", path)
    found = [item for item in records(capsys, "analyze", path) if item["record"] == "detection"]
    assert [{**item, "change": "new"} for item in found] == seen
    assert seen[0]["steps"] == {"first": 2, "detected": 4, "last": 7}
    assert all(evidence["at"] is None for item in seen for evidence in item["evidence"])
    assert main(["watch", "--once", path]) == 0
    said = capsys.readouterr().out
    assert "1970" not in said
    assert "Steps 2 to 7 (6 of 7 steps): `bash python -m pytest tests/test_a.py` failed 6 times" in said


def test_a_store_without_times_has_none_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, store = write(tmp_path / "run.json", FAILING), str(tmp_path / "s.db")
    assert main(["store", "import", path, "--store", store, "--keep-text"]) == 0
    capsys.readouterr()
    for command in (("sweep",), ("store", "detections")):
        found = [
            item for item in records(capsys, *command, "--store", store) if item["record"] == "detection"
        ]
        assert len(found) == 2
        assert {item["opened_at"] for item in found} == {None}


def test_counts_agree_wherever_a_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    found = {
        item["pattern"]: item
        for item in records(capsys, "watch", "--once", write(tmp_path / "r.json", FAILING))
    }
    assert found["repetitive_errors"]["details"]["repetition_count"] == 6
    assert "6 times" in found["repetitive_errors"]["explanation"]
    assert "its last 7 steps contain 2 distinct ones" in found["loop"]["explanation"]


def test_an_edit_that_failed_changed_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    edit = ("edit_file", {"path": "src/a.py", "old": "a", "new": "b"}, "Error: string not found in src/a.py")
    (run,) = (
        item
        for item in records(capsys, "analyze", write(tmp_path / "r.json", 6 * [edit]))
        if item["record"] == "run"
    )
    assert (run["errors"], run["changed_files"]) == (6, 0)


def test_scope_creep_names_the_files_and_their_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    calls: list[Call] = [
        ("read_file", {"path": "src/app.py"}, "def f(): pass"),
        ("write_file", {"path": "src/app.py", "content": "x = 1"}, "ok"),
        ("bash", {"command": "cat .env"}, "A=1"),
        ("write_file", {"path": "src/app.py", "content": "x = 2"}, "ok"),
        ("bash", {"command": "cat src/app.py"}, "x = 2"),
    ]
    path = write(tmp_path / "run.json", calls)
    detection, run, *_ = records(capsys, "analyze", path)
    assert "1 path outside its task (.env)" in detection["explanation"]
    assert detection["steps"] == {"first": 3, "detected": 3, "last": 3}
    assert {row["name"]: row["marks"] for row in run["lanes"][0]["rows"]} == {
        "src/": "rw-wr",
        ".env": "--r--",
    }
    assert main(["analyze", path]) == 0
    said = capsys.readouterr().out
    assert "Detectable from step 3. It stopped at step 4." in said
    assert "step 3  `bash cat .env`" in said
    assert "step 1" not in said


def test_a_store_that_drops_texts_says_what_it_cannot_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = write(tmp_path / "run.json", FAILING)
    assert main(["analyze", path, "--store", str(tmp_path / "s.db")]) == 0
    said = capsys.readouterr().out
    assert "this store has no texts (import with --keep-text): " in said
    assert "repetitive_errors" in said
    assert main(["analyze", path, "--store", str(tmp_path / "t.db"), "--keep-text"]) == 0
    assert "1 run, 1 stuck" in capsys.readouterr().out
