"""`speed live`: single events, micro-batches, and the engine alone beside a hand-written loop.

Rates are of CPU time. Events are made shortly before they are observed, as they would be in use, and outside
of what is timed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.speed.data import TRAITS, Events, evaluations, six_programs
from benchmarks.speed.matchers import Interpreted
from ethogram.app.watch import Watch
from ethogram.engine.live.engine import Engine
from ethogram.engine.match import OPENED, Change
from ethogram.language.program import SequenceProgram
from ethogram.models import Event, moment
from ethogram.patterns.library import Library, load_patterns

OBSERVE, STEPS, BATCHES = (10_000, 30_000), (50_000, 150_000), (5, 20)
"""Events a second, steps a second, how many times faster in batches: what must hold, what is wanted."""
FLAT = (1.5, 1.1)
"""At most so many times as long an event of the longest history takes as one of the shortest."""
LENGTHS = (10, 100, 1_000, 10_000, 100_000)
CHUNK, TIMED, BATCH, WARM = 250, 3_000, 256, 5_000
SUBJECTS = 1_000

Record = dict[str, Any]


def measure(events: int = 100_000) -> Iterator[Record]:
    """All of it, as JSON records; `events` is the length of the longest history, and scales the rest."""
    costs: list[float] = []
    for length in (length for length in LENGTHS if length <= events):
        seconds = observing(max(1, WARM // length), length)
        costs.append(seconds)
        yield rate(f"observe, histories of {length:,}", seconds, OBSERVE)
    yield ratio("longest history against the shortest", costs[-1] / costs[0], FLAT, smaller=True)
    for uniform in (False, True):
        kind = "uniform readings" if uniform else "realistic readings"
        seconds = observing(SUBJECTS, max(1, events // 2 // SUBJECTS), uniform=uniform)
        yield rate(f"observe, {SUBJECTS:,} subjects, {kind}", seconds, OBSERVE)
    every = load_patterns(any_status=True)
    seconds = observing(SUBJECTS, max(1, events // 5 // SUBJECTS), library=every)
    yield rate("observe, experimental patterns too", seconds, OBSERVE)
    yield ratio(f"batches of {BATCH} against single events", batching(events // 2), BATCHES)
    yield from steps(events)


def observing(subjects: int, length: int, *, uniform: bool = False, library: Library | None = None) -> float:
    """Median CPU seconds of one event, once each of the subjects has so many."""
    source, watch = Events(subjects, uniform=uniform), Watch(library)
    for _ in range(max(1, subjects * length // CHUNK)):
        for event in source.take(CHUNK):
            watch.observe(event)
    return statistics.median(_observed(watch.observe, source.take(CHUNK)) for _ in range(TIMED // CHUNK))


def _observed(observe: Callable[[Event], object], events: list[Event]) -> float:
    began = time.process_time()
    for event in events:
        observe(event)
    return (time.process_time() - began) / len(events)


def batching(events: int) -> float:
    """How many times faster an event is in a batch; AssertionError where batches tell something else."""
    sources, item, many = (Events(SUBJECTS), Events(SUBJECTS)), Watch(), Watch()
    singly: list[float] = []
    batched: list[float] = []
    for _ in range(max(8, events // BATCH)):
        values: list[Any] = []
        singly.append(_observed(lambda event: values.extend(item.observe(event)), sources[0].take(BATCH)))  # noqa: B023
        batch = sources[1].take(BATCH)
        began = time.process_time()
        found = many.observe_many(batch)
        batched.append((time.process_time() - began) / BATCH)
        if found != values:
            raise AssertionError("a batch does not tell what its events tell one by one")
    half = len(singly) // 2
    return statistics.median(singly[half:]) / statistics.median(batched[half:])


def steps(events: int) -> Iterator[Record]:
    """The six shapes over events of one kind: the engine and a hand-written peer, which must agree."""
    data, names = evaluations(events), (*TRAITS, "observed")
    columns = [data.traits[name].round(6).tolist() for name in TRAITS] + [data.observed.tolist()]
    given = list(zip(data.subject.tolist(), zip(*columns, strict=True), data.at.tolist(), strict=True))
    ours, theirs = Engine(six_programs()), Interpreted(names, given[-1][0] + 1)
    mine: list[float] = []
    others: list[float] = []
    for start in range(0, len(given), 20 * CHUNK):
        part = given[start : start + 20 * CHUNK]
        rows = [
            (Event(f"e{k}", moment(us), f"s{who}", k, readings=dict(zip(names, values, strict=True))), us)
            for k, (who, values, us) in enumerate(part, start)
        ]
        own: list[tuple[str, int]] = []
        observe, began = ours.observe, time.process_time()
        for event, us in rows:
            if changes := observe(event, us):
                own += [(change.match.program.name, event.seq) for change in changes if _is_new(change)]
        mine.append((time.process_time() - began) / len(rows))
        peers: list[tuple[str, int]] = []
        began = time.process_time()
        for k, (history, values, _) in enumerate(part, start):
            if fired := theirs.step(history, values):
                peers += [(name, k) for name in fired]
        others.append((time.process_time() - began) / len(rows))
        if sorted(own) != sorted(peers):
            raise AssertionError(f"the peer finds {peers[:3]}, we find {own[:3]}")
    yield rate("engine, six shapes", statistics.median(mine), STEPS)
    yield ratio("against a hand-written loop", statistics.median(others) / statistics.median(mine), (1, 3))


def _is_new(change: Change) -> bool:
    return change.what == OPENED or isinstance(change.match.program.body, SequenceProgram)


def rate(what: str, seconds: float, bars: tuple[float, float]) -> Record:
    """A rate beside its bar and goal."""
    return ratio(f"{what}: events/s", round(1 / seconds), bars)


def ratio(what: str, value: float, bars: tuple[float, float], *, smaller: bool = False) -> Record:
    """A number beside its bar and goal; `smaller`: the smaller the better."""
    bar, goal = bars
    return {
        "record": "ratio",
        "what": what,
        "ratio": round(value, 2),
        "bar": bar,
        "goal": goal,
        "bar_holds": value <= bar if smaller else value >= bar,
        "goal_reached": value <= goal if smaller else value >= goal,
    }
