"""The benchmark of the hook measures what it says it does."""

from __future__ import annotations

import os

from benchmarks.speed.hook import measure


def test_every_candidate_is_timed_and_the_bar_is_told():
    before = os.environ.get("ETHOGRAM_HOOK_DIR")
    *starts, bar = measure(starts=3, events=20)
    assert [one["starts"] for one in starts] == [3, 3, 3, 3]
    assert all(0 < one["p50"] <= one["p95"] for one in starts)
    assert starts[-1]["state_bytes"] > 0
    assert bar["bar_holds"] == (bar["ratio"] <= bar["bar"])
    assert os.environ.get("ETHOGRAM_HOOK_DIR") == before
