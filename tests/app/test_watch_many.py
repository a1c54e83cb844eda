"""Events in batches, or after a restart, tell what they tell one by one, in the same order."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ethogram import Event, Watch
from ethogram.app.live.watch import Watch as Live
from ethogram.config import Settings
from ethogram.errors import Conflict
from ethogram.language.compiler import compile_patterns
from ethogram.models import Detection, Value
from live_cases import events_of, last_rows, reloaded, row, whole_rows
from small import WARM, warm_messages, write_patterns
from strategies import KINDS, Case, random_case

CASES = 20
START = datetime(2026, 2, 1, 12, tzinfo=UTC)


def rows(detections: list[Detection]) -> list[dict[str, object]]:
    return [row(item) for item in detections]


def with_dull_stretches(case: Case, rng: random.Random) -> Case:
    """The case with runs of the same event after some of its own, with one or two of its readings."""
    values: dict[str, list[Value]] = {}
    for event in case.events:
        for name, value in event.readings.items():
            values.setdefault(name, []).append(value)
    events = list(case.events)
    for like in rng.sample(case.events, min(4, len(case.events))):
        names = rng.sample(sorted(values), min(len(values), rng.choice((1, 1, 2))))
        readings = {name: rng.choice(values[name]) for name in names}
        events += [
            replace(like, id=f"{like.id}-{k}", at=like.at + timedelta(microseconds=k), readings=readings)
            for k in range(1, rng.choice((3, 20, 70)))
        ]
    return replace(case, events=tuple(events), expected=None)


def waiting(watch: Live) -> int:
    """How many events have not been appended to their histories yet."""
    lanes = watch._intake.live.engine._lanes.values()
    return sum(len(backlog.events) for backlogs in lanes for backlog in backlogs.values())


@pytest.mark.parametrize("kind", KINDS)
def test_any_mix_of_single_events_batches_and_restarts_tells_the_same(kind: str):
    """In the end as much as the column engine finds, which knows of no batches."""
    waited = 0
    for seed in range(CASES):
        rng = random.Random(seed)
        case = with_dull_stretches(random_case(seed, kind), rng)
        events, as_of = events_of(case)
        settings = Settings(lateness=rng.choice((0, 0, 60_000_000)))
        programs = compile_patterns(case.patterns)
        single, mixed = (Live.of_programs(programs, settings, case.cap) for _ in range(2))
        apart: list[Detection] = []
        together: list[Detection] = []
        for event in events:
            apart += single.observe(event)
            waited += waiting(single)
        left = list(events)
        while left:
            size = rng.choice((1, 1, 7, 40, 200))
            part, left = left[:size], left[size:]
            if rng.random() < 0.7:
                together += mixed.observe_many(part)
            else:
                together += [item for event in part for item in mixed.observe(event)]
            if rng.random() < 0.2:
                mixed = reloaded(mixed, programs, case.cap)
        assert rows(together) == rows(apart), case
        rest = mixed.flush(as_of)
        assert rows(rest) == rows(single.flush(as_of)), case
        assert json.dumps(mixed.save()) == json.dumps(single.save())
        assert last_rows([*together, *rest, *mixed.open()]) == whole_rows(case), case
    assert waited


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
    assert [item.pattern for item in raised.value.detections] == texts == ["warm_then_cold"]
    assert watch.observe_many(events) == []
    assert watch.repeated == 2
