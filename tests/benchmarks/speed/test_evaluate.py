"""The benchmark of the evaluator runs and says what it promises; how fast is not tested here."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main


def test_it_tells_speeds_and_bars(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "evaluate", "--size", "20000", "--rounds", "1", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    timed = [record["name"] for record in records if record["record"] == "timing"]
    assert timed == ["local", "plain_features", "scan"]
    assert len([record for record in records if "bar" in record]) == 3
