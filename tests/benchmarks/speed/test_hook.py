"""The benchmark of the hook measures what it says it does."""

from __future__ import annotations

import os

from benchmarks.speed.hook import measure


def test_every_candidate_is_timed_and_the_bar_is_told():
    before = os.environ.get("ETHOGRAM_HOOK_DIR")
    *starts, bar = measure(starts=3, events=20)
    assert [start["starts"] for start in starts] == [3, 3, 3, 3]
    assert all(0 < start["p50"] <= start["p95"] for start in starts)
    assert starts[-1]["state_bytes"] > 0
    assert bar["bar_holds"] == (bar["ratio"] <= bar["bar"])
    assert os.environ.get("ETHOGRAM_HOOK_DIR") == before
