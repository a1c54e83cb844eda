"""Runs in a store without texts: none of their words are in its files, and nothing is made of the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ethogram.cli.main import main
from ethogram.store.rows import MARK, bare_attributes

SECRETS = {
    "arguments": "quince-arguments",
    "nested": "quince-nested",
    "command": "quince-command",
    "result": "quince-result",
    "error": "quince-error",
    "thought": "quince-thought",
    "task": "quince-task",
    "labels": "quince-labels",
    "note": "quince-note",
    "said": "quince-said",
}


def lines() -> list[dict[str, Any]]:
    """The same command fails six times, as a loop that every pattern of loops finds; then the agent talks."""
    about = {"subject": "fixer", "thread": "run-1"}
    user = {"subject": "run-1/user", "thread": "run-1", "kind": "message", "text": SECRETS["said"]}
    out = [{**user, "attributes": {"role": "user", "task": SECRETS["task"]}}]
    for n in range(6):
        call = {"tool": "bash", "call_id": f"c{n}", "command": SECRETS["command"], "tokens": 10}
        call["arguments"] = {"command": SECRETS["command"], "why": [SECRETS["nested"]]}
        call["thought"], call["input"] = SECRETS["thought"], SECRETS["arguments"]
        came = {"call_id": f"c{n}", "result": SECRETS["result"], "error": SECRETS["error"], "exit_code": 1}
        came |= {"labels": {"was": SECRETS["labels"]}, "note": f"{SECRETS['note']}\nof two lines"}
        out += [{**about, "kind": "action", "attributes": call}]
        out += [{**about, "kind": "result", "attributes": came}]
    # Long enough for a key of what is said, which holds the first words of it.
    words = {**about, "kind": "message", "text": f"{SECRETS['said']} and so on, and so on, for a while."}
    return [*out, {**words, "attributes": {"role": "assistant", "thought": SECRETS["thought"]}}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines()))
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *args: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main([*args, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def kept(folder: Path) -> bytes:
    files = [path for path in folder.iterdir() if path.name.startswith("s.db")]
    assert files
    return b"".join(path.read_bytes() for path in files)


PATTERNS = ("--patterns", "loop", "--patterns", "repetitive_errors")


def test_no_word_of_a_run_is_in_any_file_of_the_store(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "import", "run.jsonl", "--store", "s.db"]) == 0
    told(capsys, "sweep", "--store", "s.db", "--as-of", "2026-10-01T00:00:00Z")
    assert b"quince" not in kept(folder)


def test_with_keep_text_they_are_there_and_everything_is_found(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {item["pattern"] for item in told(capsys, "analyze", "run.jsonl", *PATTERNS) if "pattern" in item}
    assert "repetitive_errors" in found
    assert main(["store", "import", "run.jsonl", "--store", "s.db", "--keep-text"]) == 0
    assert all(word.encode() in kept(folder) for word in SECRETS.values())
    *changes, summary = told(capsys, "sweep", "--store", "s.db", "--as-of", "2026-10-01T00:00:00Z", *PATTERNS)
    assert {change["pattern"] for change in changes} == found
    assert summary["without_text"] == []


def test_a_sweep_says_what_it_could_not_look_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "import", "run.jsonl", "--store", "s.db"]) == 0
    *changes, summary = told(capsys, "sweep", "--store", "s.db", "--as-of", "2026-10-01T00:00:00Z", *PATTERNS)
    # Six commands without their words are not six times the same command.
    assert changes == []
    assert summary["without_text"] == ["loop", "repetitive_errors"]
    assert main(["sweep", "--store", "s.db", "--as-of", "2026-10-02T00:00:00Z", "--patterns", "loop"]) == 0
    assert "no texts (import with --keep-text): loop\n" in capsys.readouterr().out


def test_what_is_exported_is_no_loop_either(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "import", "run.jsonl", "--store", "s.db"]) == 0
    capsys.readouterr()
    assert main(["store", "export", "--store", "s.db"]) == 0
    (folder / "out.jsonl").write_text(capsys.readouterr().out)
    summary = told(capsys, "analyze", "out.jsonl", *PATTERNS)[-1]
    assert (summary["events"], summary["detections"]) == (14, 0)
    # It comes back into the store as what is there already.
    assert main(["store", "import", "out.jsonl", "--store", "s.db"]) == 0
    assert "Already known: 14 events" in capsys.readouterr().out


def test_readings_that_came_with_the_steps_are_used(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [
        {"subject": "fixer", "thread": "run-2", "kind": "action", "readings": {"step_key": "build fails"}}
        | {"attributes": {"tool": "bash", "command": SECRETS["command"]}}
        for _ in range(6)
    ]
    (folder / "read.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    assert main(["store", "import", "read.jsonl", "--store", "s.db"]) == 0
    *changes, summary = told(
        capsys, "sweep", "--store", "s.db", "--as-of", "2026-10-01T00:00:00Z", "--patterns", "loop"
    )
    assert [change["pattern"] for change in changes] == ["loop"]
    assert summary["without_text"] == []
    assert b"quince" not in kept(folder)


def test_numbers_names_and_that_it_failed_stay() -> None:
    stays = {"tool": "bash", "call_id": "c1", "exit_code": 2, "path": "a.py", "duration": 0.5, "tokens": 7}
    given = {**stays, "result": "x" * 30, "error": "it broke"}
    told = {**stays, "error": True, "result_length": 30, MARK: True}
    assert bare_attributes("result", given) == told


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("post", {"command": "none of a run", "note": "x" * 500}),
        ("message", {"note": "x" * 500}),
        ("action", {"tool": "read", "path": "a.py"}),
    ],
)
def test_what_is_no_text_of_a_run_stays_as_it_is(kind: str, attributes: dict[str, Any]) -> None:
    assert bare_attributes(kind, attributes) is attributes
