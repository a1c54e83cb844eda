"""The benchmarks of the store and of growth run, and say what they promise; how fast is not tested here."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.speed.growth import growth


def test_the_store_is_timed_beside_its_peers(capsys: pytest.CaptureFixture[str]):
    assert main(["speed", "store", "--rows", "1000", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    timings = {one["name"]: one for one in records if one["record"] == "timing"}
    assert {"import", "read all", "sweep", "sweep unchanged", "single commits"} <= timings.keys()
    assert {"plain import", "plain read all", "plain single commits"} <= timings.keys()
    assert timings["import"]["events"] == 1000
    assert all(one["per_second"] > 0 for one in timings.values())
    assert len([one for one in records if one["record"] == "ratio"]) == 4


def test_growth_finds_the_same_with_both_runners():
    records = list(growth(10_000))
    costs = [one for one in records if one["record"] == "cost"]
    assert {one["runner"] for one in costs} == {"batch", "stream"}
    assert {one["history_length"] for one in costs} == {10, 100, 1_000, 10_000, 100_000}
    for batch, stream in zip(costs[::2], costs[1::2], strict=True):
        assert (batch["events"], batch["found"]) == (stream["events"], stream["found"])
