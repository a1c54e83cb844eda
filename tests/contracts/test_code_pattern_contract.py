"""What every pattern in code promises, checked on everything that is registered."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import pytest

import code_patterns
from ethogram import Watch, analyze
from ethogram.app.analyze import analyze_batch
from ethogram.app.pattern_tests import run_examples
from ethogram.engine import detect
from ethogram.ingest import Batch
from ethogram.models import Detection, Event
from ethogram.patterns.code_patterns import code_patterns as registered
from ethogram.patterns.library import Library, select

NAMES = sorted({*registered(), *code_patterns.PATTERNS})


@pytest.fixture(scope="module", autouse=True)
def some() -> Iterator[None]:
    with code_patterns.registered():
        yield


@lru_cache
def library(name: str) -> Library:
    return select([name])


@lru_cache
def random_events(seed: int, count: int = 90) -> tuple[Event, ...]:
    """Events in order, with fields missing, odd or very long at random, and many that are alike."""
    rng = random.Random(seed)
    at, events = datetime(2026, 3, 28, tzinfo=UTC), []
    for seq in range(count):
        at += timedelta(seconds=rng.choice([0, 1, 10, 10, 59, 3000]))
        events.append(
            Event(
                id=f"e{seq}",
                at=at,
                seq=seq,
                subject=rng.choice(["ann", "bo"]),
                source=rng.choice(["input", "input", "forum"]),
                thread=rng.choice([None, "t", "t", "u"]),
                target=rng.choice([None, "cy", "cy", "di"]),
                kind=rng.choice(["message", "action", "action", "result"]),
                text=rng.choice([None, "", "no", "x" * 5000, "\0\ud800"]),
                attributes={
                    "path": rng.choice(["a.py", "b.py", "b.py", None, 3, "p" * 9000]),
                    "result": rng.choice([None, [1, [2, {"a": float("nan")}]], {"x": ["y" * 900] * 9}]),
                },
                readings={"compassion": rng.choice([0.1, 0.1, 0.1, 0.9])} if rng.random() < 0.8 else {},
            )
        )
    return tuple(events)


def told(detections: list[Detection]) -> list[dict]:
    return [item.to_dict() for item in detections]


def by_analyze(name: str, events: tuple[Event, ...]) -> list[dict]:
    return told(analyze_batch(Batch(events), library(name)).every)


def by_watch(name: str, events: tuple[Event, ...], *, restarts: bool) -> list[dict]:
    watch, found = Watch(library(name)), {}
    for event in events:
        if restarts:
            watch = Watch.load(json.loads(json.dumps(watch.save())), library(name))
        found |= {item.id: item for item in (*watch.observe(event), *watch.kept)}
    found |= {item.id: item for item in (*watch.flush(), *watch.kept)}
    found |= {item.id: item for item in watch.open()}
    return told(sorted(found.values(), key=lambda item: item.order))


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_it_says_what_it_is_and_does_what_its_examples_state(name: str):
    item = registered()[name]
    assert item.words["title"]
    assert item.words["description"]
    assert item.line > 0
    results = run_examples(library(name))
    assert [str(result.fault) for result in results if not result.ok] == []
    assert sum(result.fires for result in results) >= 1
    assert sum(not result.fires for result in results) >= 2


def test_it_finds_something_in_some_events(name: str):
    assert any(by_analyze(name, random_events(seed)) for seed in range(6))


@pytest.mark.parametrize("seed", range(3))
def test_both_engines_and_a_watch_find_the_same(name: str, seed: int, monkeypatch: pytest.MonkeyPatch):
    events = random_events(seed)
    whole = by_analyze(name, events)
    assert by_watch(name, events, restarts=False) == whole
    monkeypatch.setattr(detect, "MANY_EVENTS", 1)  # in columns
    assert by_analyze(name, events) == whole


def test_it_goes_on_after_a_restart_at_any_event(name: str):
    events = random_events(4, count=40)
    assert by_watch(name, events, restarts=True) == by_analyze(name, events)


def test_it_never_sees_the_future(name: str):
    """What is asked as of a moment is the same whether or not anything came after it."""
    events = random_events(5)
    for cut in (7, 30, 61):
        as_of = events[cut - 1].at
        before = [event for event in events if event.at <= as_of]
        later = analyze(list(events), patterns=library(name), as_of=as_of)
        assert told(later.every) == told(analyze(before, patterns=library(name)).every)


def test_other_subjects_do_not_leak_in(name: str):
    events = random_events(6)
    alone = tuple(event for event in events if (event.source, event.subject) == ("input", "ann"))
    whole = [
        item for item in by_analyze(name, events) if (item["source"], item["subject"]) == ("input", "ann")
    ]
    assert by_analyze(name, alone) == whole


def test_what_it_keeps_of_a_history_has_a_bound(name: str):
    """After five times as many events of one history it keeps about as much."""
    sizes = []
    for count in (200, 1000):
        watch = Watch(library(name))
        for event in random_events(7, count):
            watch.observe(replace(event, subject="ann", source="input", thread="t", target="cy"))
        states = watch.save()["signals"]["states"]
        sizes.append(len(json.dumps([state[-1] for state in states])))
    assert sizes[1] <= max(2 * sizes[0], 1000)
