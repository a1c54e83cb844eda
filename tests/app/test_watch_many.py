"""Events in batches tell what they tell one by one, in the same order."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from ethogram import Event, Watch
from ethogram.app.watch import Watch as Live
from ethogram.config import Settings
from ethogram.errors import Conflict
from ethogram.language.compiler import compile_patterns
from ethogram.models import Detection
from live_cases import events_of, row
from small import WARM, warm_messages, write_patterns
from strategies import KINDS, random_case

CASES = 20
START = datetime(2026, 2, 1, 12, tzinfo=UTC)


def rows(detections: list[Detection]) -> list[dict[str, object]]:
    return [row(item) for item in detections]


@pytest.mark.parametrize("kind", KINDS)
def test_batches_tell_what_single_events_tell(kind: str):
    for seed in range(CASES):
        case, rng = random_case(seed, kind), random.Random(seed)
        events, as_of = events_of(case)
        settings = Settings(lateness=rng.choice((0, 0, 60_000_000)))
        programs = compile_patterns(case.patterns)
        item, many = (Live.of_programs(programs, settings, case.cap) for _ in range(2))
        singly = [found for event in events for found in item.observe(event)]
        together: list[Detection] = []
        left = list(events)
        while left:
            size = rng.randint(1, 40)
            together += many.observe_many(left[:size])
            left = left[size:]
        assert rows(together) == rows(singly), case
        assert rows(many.flush(as_of)) == rows(item.flush(as_of)), case
        assert many.save() == item.save()


def test_a_batch_may_be_of_dicts_and_empty(tmp_path):
    watch = Watch([write_patterns(tmp_path / "p", WARM)])
    assert watch.observe_many([]) == []
    assert [item.pattern for item in watch.observe_many(warm_messages())] == ["warm_then_cold"]


def test_what_came_before_a_refused_event_is_told(tmp_path):
    texts: list[str] = []
    folder = write_patterns(tmp_path / "p", WARM)
    watch = Watch([folder], on_detection=lambda item: texts.append(item.pattern))
    events = [Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k) for k in range(2)]
    other = Event("e0", START + timedelta(minutes=9), "bo", seq=9)
    with pytest.raises(Conflict) as raised:
        watch.observe_many([*warm_messages(), *events, other, Event("e9", START, "cy")])
    assert [item.pattern for item in raised.value.told] == texts == ["warm_then_cold"]
    assert watch.observe_many(events) == []
    assert watch.repeated == 2
