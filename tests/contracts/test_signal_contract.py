"""What every signal promises, checked on everything that is registered."""

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import pytest

from ethogram import registry
from ethogram.lexicon.near_duplicates import fingerprint
from ethogram.models import Event, parse_duration
from ethogram.signals import Measurer, Options, Signal, measure_all
from ethogram.signals.base import COSTS, SCOPES, bounds, checked
from ethogram.signals.chat import READINGS as TURNS
from ethogram.signals.habits import READINGS
from ethogram.signals.measurer import CALLS, plan
from sampling import for_each, seeds

# The counts of the lexicon's categories are one function each time: some of them stand for all.
_COUNTS = [name for name in registry.signals.names() if name.startswith("flags_")]
# So are the readings about people's habits, which keep one state; nights take more than these events tell.
_HABITS = {name for name, _, _ in READINGS} - {"quiet_after", "quiet_before", "busy_today", "away_surprise"}
# And so are those of conversations; lines of questions and returns take more than these texts say.
_TURNS = {name for name, _, _ in TURNS} - {"risk", "conversation_risk", "conversation_mode"}
NAMES = [name for name in registry.signals.names() if name not in {*_COUNTS[6:], *_HABITS, *_TURNS}]
SOME_OPTIONS = [
    Options(),
    Options(
        time_zone="Asia/Kathmandu",
        session_inactivity=parse_duration("5m"),
        semantic_analysis="advanced",
        inference_enabled=False,
        resource_limits={"tokens": 1_000, "memory_mb": 600},
    ),
]
TEXTS = ["", "Why?", "so", "x" * 5000, "你好吗？", "\0\ud800", "see a.org/?b=1"]
TEXTS += ["You lied to us.", "Could you send me 200 dollars?", "Here is the money."]
SCORED = {"session_position": 2.0, "compassion": 0.5, "emotional": 0.7, "manipulation": 0.4}
VALUES = [None, True, -1, 0, 3.5, float("nan"), 10**400, "", "Europe/Paris", "../etc", [1], {"a": 1}]
OF_RUNS = {
    "role": ["assistant", "user"],
    "arguments": [{"command": "view", "path": "a.py"}, {"x": [["y"] * 600] * 600}, {"patch": "z" * 50_000}],
    "command": ["cat src/a.py", "cd a && sed -i s/a/b/ b.py", "((`'\"<<A" * 900, "scp k ann@host:/"],
    "result": ["done", "Error: no such file", "a/b " * 9000, "1 failed", "No tool call in your answer."],
    "call_id": ["c1", "c2", "c" * 5000],
    "batch": ["b1", "b2"],
    "tokens": [0, 900],
    "duration": [0.5],
    "memory": [5e8],
    "goal": ["Repair the reader of src/a.py", "\ud800"],
    "allow": [["src/**"], "lib", [1]],
    "cwd": ["/srv/x", "/"],
    "label": ["success"],
}


@lru_cache
def random_events(seed: int, count: int = 200) -> tuple[Event, ...]:
    """Events in order, with fields missing, odd, very long or shared at random."""
    rng = random.Random(seed)
    at, events = datetime(2026, 3, 28, tzinfo=UTC), []
    timed = rng.random() < 0.8
    for seq in range(count):
        at += timedelta(seconds=rng.choice([0, 0, 1, 59, 1800, 1801, 90_000]))
        events.append(
            Event(
                id=f"e{seq}",
                at=at,
                seq=seq,
                timed=timed,
                subject=rng.choice(["ann", "bo", "🦞" * 64, "z" * 3000]),
                source=rng.choice(["input", "forum"]),
                thread=rng.choice([None, "t", "u", *(f"v{n}" for n in range(12))]),
                session=rng.choice([None, None, "s1", "s2", "s" * 3000, "\\" * 64]),
                target=rng.choice([None, "bo"]),
                kind=rng.choice(["message", "action", "result", "usage", "condensation"]),
                text=rng.choice([None, *TEXTS]),
                attributes={
                    name: rng.choice(VALUES)
                    for name in ("length", "time_zone", "tool", "path", "exit_code", "error", *OF_RUNS)
                    if rng.random() < 0.5
                }
                | {name: rng.choice(some) for name, some in OF_RUNS.items() if rng.random() < 0.4},
                readings=dict(SCORED) if rng.random() < 0.1 else {},
            )
        )
    return tuple(events)


def values(name: str, events: tuple[Event, ...], options: Options = SOME_OPTIONS[0]) -> list[object]:
    return [event.readings.get(name) for event in measure_all(events, [name], options)]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@for_each("name", NAMES)
def test_it_says_what_it_is(name: str):
    signal = registry.signals.get(name)
    assert isinstance(signal, Signal)
    assert signal.name == name
    assert signal.description.endswith((".", ";")) or len(signal.description) > 10
    assert len(signal.description) <= 110
    assert signal.cost in COSTS
    assert signal.version >= 1
    assert signal.scope is None or (signal.scope in SCOPES and 0 < signal.max_state_bytes <= 64 * 1024)


@for_each("name", NAMES)
@pytest.mark.parametrize("seed", seeds(1, 5))
@pytest.mark.parametrize("options", SOME_OPTIONS, ids=["plain", "set"])
def test_it_stays_in_its_range_whatever_the_events(name: str, seed: int, options: Options):
    signal = registry.signals.get(name)
    for event in measure_all(random_events(seed), [name], options):
        if (value := event.readings.get(name)) is not None:
            assert checked(signal, value, event) == value
            assert isinstance(value, str if bounds(signal.range) is None else float)


def test_it_measures_something_on_some_event(name: str):
    assert any(value is not None for seed in range(5) for value in values(name, random_events(seed, 1000)))


@for_each("name", NAMES)
def test_it_does_not_need_any_optional_field(name: str):
    bare = [Event.sample(id=str(n), seq=n) for n in range(3)]
    assert len(list(measure_all(bare, [name]))) == 3


@for_each("name", NAMES)
def test_it_gives_the_same_twice(name: str):
    assert values(name, random_events(1)) == values(name, random_events(1))


@for_each("name", NAMES)
def test_it_never_sees_the_future(name: str):
    events = random_events(2)
    whole = values(name, events)
    for cut in (1, 7, 50, 133):
        assert values(name, events[:cut]) == whole[:cut]


def test_it_does_not_depend_on_which_others_are_asked_for(name: str):
    events = random_events(3)
    together = [event.readings.get(name) for event in measure_all(events, NAMES)]
    assert together == values(name, events)


@for_each("name", NAMES)
def test_other_subjects_and_threads_do_not_leak_in(name: str):
    """Without the events of everyone it has no business with, the readings are the same."""
    events = random_events(4)
    # What it needs may be of the whole thread.
    scopes = {item.scope for item in plan([name])}
    scope = "thread" if "thread" in scopes else registry.signals.get(name).scope
    said = next(mark for e in events if e.text and (mark := fingerprint(e.text)))
    towards = next(e.target for e in events if e.target)
    belongs = {
        "thread": lambda e: e.thread == "t",
        "text": lambda e: fingerprint(e.text or "") == said,
        "target": lambda e: e.target == towards,
    }.get(scope, lambda e: e.subject == "ann")
    mine = [e for e in events if e.source == "input" and belongs(e)]
    ids = {event.id for event in mine}
    whole = [e.readings.get(name) for e in measure_all(events, [name]) if e.id in ids]
    assert values(name, tuple(mine)) == whole


@pytest.mark.parametrize("one_history", [False, True], ids=["many histories", "one long history"])
def test_its_state_is_plain_small_and_never_changed_in_place(name: str, one_history: bool):
    """Every state on the way is JSON, within the bound it declares, and still the same afterwards."""
    bound = {signal.keeps: signal.max_state_bytes for signal in plan([name])} | {CALLS: 64 * 1024}
    measurer = Measurer([name])
    events = random_events(5, count=1000 if one_history else 200)
    if one_history:
        events = tuple(replace(event, subject="ann", source="input", thread="t") for event in events)
    for event in events:
        states = measurer.states()
        before = {key: json.dumps(state) for key, state in states.items()}
        measurer.measure(event)
        assert {key: json.dumps(state) for key, state in states.items()} == before
        for key, state in measurer.states().items():
            if state is not states.get(key):
                assert len(json.dumps(state, allow_nan=False)) <= bound[key[0]]


def test_it_goes_on_after_a_restart_at_any_event(name: str):
    events = random_events(6, count=60)
    whole = list(measure_all(events, [name]))
    measurer, found = Measurer([name]), []
    for event in events:
        found.append(measurer.measure(event))
        saved = json.loads(json.dumps(measurer.save()))
        measurer = Measurer([name])
        measurer.load(saved)
    assert found == whole


@for_each("name", NAMES)
def test_a_supplied_reading_wins(name: str):
    signal = registry.signals.get(name)
    supplied = "given" if bounds(signal.range) is None else 0.125
    given = Event.sample(text="Why?", thread="t", session="s", readings={name: supplied})
    [found] = measure_all([given], [name])
    assert found.readings[name] == supplied
    assert name not in found.scorers


def plain_events(seed: int) -> tuple[Event, ...]:
    """Events of one source, many of them without thread, text, attributes or readings."""
    rng = random.Random(seed)
    events = []
    for event in random_events(seed):
        without = {"source": "input", "kind": rng.choice([event.kind, "message", "event"])}
        without |= {name: None for name in ("thread", "text") if rng.random() < 0.5}
        without |= {name: {} for name in ("attributes", "readings") if rng.random() < 0.5}
        events.append(replace(event, **without))
    return tuple(events)


def columns(events: tuple[Event, ...]) -> dict[str, list[object]]:
    """As readers make them: an empty text is a text, no attributes are none."""
    names = ("subject", "target", "thread", "kind", "text")
    attributes: list[object] = [event.attributes or None for event in events]
    return {name: [getattr(event, name) for event in events] for name in names} | {"attributes": attributes}


@for_each("name", NAMES)
@pytest.mark.parametrize("seed", seeds(1, 2))
def test_rows_of_which_no_signal_says_anything_can_be_left_out(name: str, seed: int):
    events = plain_events(seed)
    readings = {reading for event in events for reading in event.readings}
    measurer = Measurer([name])
    rows = list(measurer.rows_about(columns(events), readings, len(events)))
    measured = {row: measurer.measure(events[row]).readings for row in rows}
    for row, event in enumerate(measure_all(events, [name])):
        assert measured.get(row, events[row].readings) == event.readings


@for_each("name", NAMES)
def test_signals_that_start_with_a_reading_say_nothing_without_it(name: str):
    starts = registry.signals.get(name).starts
    events = tuple(
        replace(event, readings={key: value for key, value in event.readings.items() if key not in starts})
        for event in plain_events(1)
    )
    if starts:
        readings = {reading for event in events for reading in event.readings}
        assert list(Measurer([name]).rows_about(columns(events), readings, len(events))) == []
        assert values(name, events) == [None] * len(events)
