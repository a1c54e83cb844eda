"""A text that many accounts post is one detection with its members, wherever it is reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ethogram.cli.main import main

TEXT = "We stand together and rise now: share this with every account you know, as decided today."


def posts(path: Path, first: int, last: int) -> str:
    lines = [
        {"author": f"bot{n}", "content": TEXT, "created_at": f"2026-03-01T10:{n:02}:00Z"}
        for n in range(first, last)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def swarms(capsys: pytest.CaptureFixture[str], *argv: str) -> list[tuple[str, str | None, float]]:
    assert main([*argv, "--json", "--patterns", "copied_text"]) == 0
    found: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [
        (item["subject"], item.get("change"), item["details"]["subjects"])
        for item in found
        if item["record"] == "detection"
    ]


def test_analyze_watch_and_sweep_report_a_swarm_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, store = posts(tmp_path / "a.jsonl", 0, 7), str(tmp_path / "s.db")
    assert main(["store", "import", path, "--store", store, "--keep-text"]) == 0
    capsys.readouterr()
    assert swarms(capsys, "analyze", path) == [("bot4", None, 7)]
    assert swarms(capsys, "watch", "--once", path) == [("bot4", "new", 7)]
    assert swarms(capsys, "sweep", "--store", store) == [("bot4", "new", 7)]
    assert swarms(capsys, "sweep", "--store", store) == []


def test_a_swarm_that_grows_is_told_again_only_where_it_is_more_severe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    store, told = str(tmp_path / "s.db"), []
    for first, last in ((0, 7), (7, 9), (9, 24)):
        path = posts(tmp_path / f"{first}.jsonl", first, last)
        assert main(["store", "import", path, "--store", store, "--keep-text"]) == 0
        capsys.readouterr()
        told.append(swarms(capsys, "sweep", "--store", store))
    assert told == [[("bot4", "new", 7)], [], [("bot4", "risen", 24)]]


def test_what_a_member_writes_after_the_text_is_no_evidence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = Path(posts(tmp_path / "a.jsonl", 0, 6))
    after = {"author": "bot5", "content": "Lovely weather for a walk along the river today.", "id": "walk"}
    line = json.dumps({**after, "created_at": "2026-03-01T11:00:00Z"})
    path.write_text(f"{path.read_text()}{line}\n")
    assert main(["analyze", str(path), "--json", "--patterns", "copied_text"]) == 0
    (swarm,) = [item for item in map(json.loads, capsys.readouterr().out.splitlines()) if "evidence" in item]
    # bot4 and bot5 post it as the fifth and sixth; each of them is evidence once.
    assert [row["readings"]["copied_by"] for row in swarm["evidence"]] == [5, 6]
    assert "walk" not in {row["event"] for row in swarm["evidence"]}
