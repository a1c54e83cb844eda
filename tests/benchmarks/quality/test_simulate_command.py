"""`python -m benchmarks quality simulate`: conversations that are shown, and when detection comes in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark_schemas import check
from benchmarks.__main__ import main
from ethogram.cli.main import main as ethogram

SIMULATE = ("quality", "simulate")


def ran(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    assert main([*map(str, args)]) == 0
    return capsys.readouterr().out


def records(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    for item in found:
        check(item)
    return found


def test_simulated_conversations_can_be_seen_and_scored(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ("--kind", "student", "--count", 2, "--turns", 50, "--seed", 3)
    made = ran(capsys, *SIMULATE, *given, "--show")
    assert [record["conversation_id"] for record in records(made)] == ["student/3", "student/4"]
    (tmp_path / "made.jsonl").write_text(made)
    assert ethogram(["chat", str(tmp_path / "made.jsonl"), "--json", "--summary"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(item["conversation"], item["turns"]) for item in found] == [("student/3", 50), ("student/4", 50)]


def test_when_detection_comes_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--kind", "hostile", "--kind", "calm", "--count", 1, "--turns", 50, "--seed", 1)
    result = records(ran(capsys, *SIMULATE, *given, "--json"))
    assert [item["record"] for item in result] == ["simulated"] * 2 + ["simulate_summary"] * 2
    text = ran(capsys, *SIMULATE, *given)
    assert text.startswith("seed 1\n  hostile 1: 50 turns, means harm from turn 1; highest ")
    assert "calm: of 1 reached nothing above SAFE" in text


def test_a_kind_that_is_none_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SIMULATE, "--kind", "angry", "--seed", "1"]) == 2
    assert "no kind 'angry'; there are: calm; calm then climb" in capsys.readouterr().err
