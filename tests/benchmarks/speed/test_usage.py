"""The benchmark of the tracker runs, small, and says what it should."""

from __future__ import annotations

from benchmarks.speed.usage import BARS, drawn, measure


def test_every_step_is_timed_and_every_bar_is_told():
    found = list(measure(400, 50))
    timings = {item["name"]: item for item in found if item["record"] == "timing"}
    ratios = {item["what"]: item for item in found if item["record"] == "ratio"}
    assert {"memory", "file", "file, held 1 s", "questions", "sweep", "peer: lists"} <= timings.keys()
    assert {name for name, *_ in BARS.values()} <= timings.keys()
    assert ratios.keys() == {*BARS, "MB for 100,000 people"}
    assert timings["sweep"]["events"] == 50


def test_the_events_are_the_same_each_time():
    assert drawn(50, 5) == drawn(50, 5)
    assert len({subject for subject, _, _ in drawn(200, 5)}) == 5
