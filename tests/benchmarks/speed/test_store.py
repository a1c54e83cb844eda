"""The benchmarks of the store and of growth run, and say what they promise; how fast is not tested here."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.speed.growth import growth


def test_the_store_is_timed_beside_its_peers(capsys: pytest.CaptureFixture[str]):
    assert main(["speed", "store", "--rows", "1000", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    timings = {record["name"]: record for record in records if record["record"] == "timing"}
    assert {"import", "read all", "sweep", "sweep unchanged", "single commits"} <= timings.keys()
    assert {"plain import", "plain read all", "plain single commits"} <= timings.keys()
    assert timings["import"]["events"] == 1000
    assert all(timing["per_second"] > 0 for timing in timings.values())
    assert len([record for record in records if record["record"] == "ratio"]) == 4


def test_growth_finds_the_same_with_both_engines():
    records = list(growth(10_000))
    costs = [record for record in records if record["record"] == "cost"]
    assert {cost["engine"] for cost in costs} == {"columns", "live"}
    assert {cost["history_length"] for cost in costs} == {10, 100, 1_000, 10_000, 100_000}
    for columns, live in zip(costs[::2], costs[1::2], strict=True):
        assert (columns["events"], columns["found"]) == (live["events"], live["found"])
