"""The matcher that is timed finds what its peer finds."""

from __future__ import annotations

from benchmarks.speed.data import TRAITS, evaluations, six_programs
from benchmarks.speed.matchers import Interpreted, Matcher
from ethogram.engine.live.buffer import Mark
from ethogram.engine.live.episode import OPENED
from ethogram.models import moment


def test_the_matcher_finds_what_an_interpreted_one_finds():
    data, names = evaluations(20_000, per_subject=50), (*TRAITS, "observed")
    columns = [data.traits[name].tolist() for name in TRAITS] + [data.observed.tolist()]
    ours, theirs = Matcher(six_programs(), names, 400), Interpreted(names, 400)
    found, expected = [], []
    for k, (history, values) in enumerate(
        zip(data.subject.tolist(), zip(*columns, strict=True), strict=True)
    ):
        mark = Mark(f"e{k}", moment(k), k, k, {}, {}, {})
        changes = ours.step(history, values, mark)
        new = [
            change
            for change in changes
            if change.what == OPENED or change.episode.detected_at == change.episode.closed_at
        ]
        found += sorted((item.episode.program.name, k) for item in new)
        expected += sorted((name, k) for name in theirs.step(history, values))
    assert found == expected
    assert {name for name, _ in found} >= {"love_bombing", "darvo", "con_game", "sandbagging"}
