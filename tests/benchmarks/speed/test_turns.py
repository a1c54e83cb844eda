"""The benchmark of conversations runs, small, and says what it should."""

from __future__ import annotations

from itertools import islice

from benchmarks.speed.turns import measure, said
from ethogram.app.conversation import Conversation


def test_early_and_late_turns_are_timed_beside_a_peer_and_every_bar_is_told():
    found = list(measure(lambda name: Conversation(name, embedder=None), 120))
    timings = [item["name"] for item in found if item["record"] == "turns"]
    assert timings == [
        "first 30 user turns",
        "last 30 of 120 turns",
        "peer: whole history of 100",
        "peer: whole history of 120",
    ]
    ratios = [item["what"] for item in found if item["record"] == "ratio"]
    assert ratios == [
        "ms a user turn (median)",
        "times an early turn for a late one",
        "bytes of state after 120 turns",
        "bytes of memory added after turn 60",
    ]


def test_the_turns_go_on_without_end_and_are_the_same_each_time():
    turns = list(islice(said(), 1200))
    assert turns == list(islice(said(), 1200))
    assert len(set(turns)) == 1200
    assert {role for role, _ in turns} == {"user", "assistant"}
