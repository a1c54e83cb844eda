"""The live engine finds what the hand-written loop that it is timed against finds."""

from __future__ import annotations

from benchmarks.speed.data import TRAITS, evaluations, six_programs
from benchmarks.speed.matchers import Interpreted
from ethogram.engine.live.engine import Engine
from ethogram.engine.match import OPENED
from ethogram.models import Event, moment


def test_the_engine_finds_what_a_hand_written_loop_finds():
    data, names = evaluations(20_000, per_subject=50), (*TRAITS, "observed")
    columns = [data.traits[name].round(6).tolist() for name in TRAITS] + [data.observed.tolist()]
    ours, theirs = Engine(six_programs()), Interpreted(names, 400)
    found, expected = [], []
    for k, (who, values) in enumerate(zip(data.subject.tolist(), zip(*columns, strict=True), strict=True)):
        readings = dict(zip(names, values, strict=True))
        changes = ours.observe(Event(f"e{k}", moment(k), f"s{who}", seq=k, readings=readings))
        new = [
            change
            for change in changes
            if change.what == OPENED or change.match.detected_at == change.match.closed_at
        ]
        found += sorted((item.match.program.name, k) for item in new)
        expected += sorted((name, k) for name in theirs.step(who, values))
    assert found == expected
    assert {name for name, _ in found} >= {"love_bombing", "darvo", "con_game", "sandbagging"}
