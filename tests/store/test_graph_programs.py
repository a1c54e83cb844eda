"""Programs that Neo4j runs itself find what the plain reading finds, on random patterns and histories."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import naive
from ethogram.language.ast import Sequence
from ethogram.language.compiler import compile_patterns
from ethogram.language.program import Program
from ethogram.models import Event
from ethogram.store.graph.programs import MEASURES, Inexpressible, why_not
from strategies import Case, near_miss, random_case

EACH = 60 if os.environ.get("ETHOGRAM_TESTS") == "long" else 2
"""Cases of each kind: a new query takes the server 20 times as long as one that it knows."""
NEAR = 3
"""Near misses that follow each case, with the same queries."""


def cases() -> Iterator[Case]:
    """Cases that Cypher can express, each in sources of its own."""
    number = 0
    for kind, measure in (
        ("sequence", None),
        ("sequence", None),
        *(("threshold", name) for name in MEASURES),
    ):
        seeds = range(1000) if number else range(1000, 2000)
        expressed = 0
        for seed in seeds:
            case = random_case(seed, kind, measure)
            if not any(not why_not(program) for program in compile_patterns(case.patterns)):
                continue
            rng = random.Random(seed)
            for item in (case, *(near_miss(case, rng) for _ in range(NEAR))):
                number += 1
                yield moved(item, f"case{number}")
            expressed += 1
            if expressed == EACH:
                break


def moved(case: Case, name: str) -> Case:
    """The case with its sources renamed."""
    events = tuple(replace(event, source=f"{name} {event.source}") for event in case.events)
    return replace(case, events=events, expected=None)


def expected(case: Case, program: Program) -> Counter[Any]:
    """What the plain reading finds of a program: history, and the events where matches begin and end."""
    found, _ = naive.run(case.patterns, case.events, as_of=case.as_of, cap=case.cap)
    rows: list[Any] = []
    for item in found:
        if item.pattern == program.name:
            key = tuple(item.key[name] for name in program.group_by)
            if is_sequence(case, program):
                rows.append((item.source, key, item.first_event, item.last_event))
            else:
                rows.append((item.source, key, item.first_event, item.closed_at))
    return Counter(rows)


def is_sequence(case: Case, program: Program) -> bool:
    shapes = {pattern.name: pattern.shape for pattern in case.patterns}
    return isinstance(shapes[program.pattern if program.pattern in shapes else program.name], Sequence)


def found(store: Any, case: Case, program: Program) -> Counter[Any]:
    """The same as the server finds it."""
    whose = {(event.source, event.subject) for event in case.events}
    until = case.as_of or max(event.at for event in case.events)
    at = {(event.source, event.id): event.at for event in case.events}
    rows: list[Any] = []
    for item in store.find_inside(program, sorted(whose), until=until, cap=case.cap):
        for match in item.matches:
            if is_sequence(case, program):
                rows.append((item.source, item.key, match[0], match[-1]))
            else:
                closed = None if match[1] is None else at[item.source, match[1]]
                rows.append((item.source, item.key, match[0], closed))
    return Counter(rows)


@pytest.fixture
def store(new_store) -> Iterator[Any]:
    with new_store("neo4j") as opened:
        yield opened


def test_the_server_finds_what_the_plain_reading_finds(store):
    chosen = list(cases())
    batch: list[Event] = [event for case in chosen for event in naive.in_order(case.events)]
    store.add(batch, keep_text=True)
    fired = looked = 0
    for case in chosen:
        for program in compile_patterns(case.patterns):
            if why_not(program):
                continue
            try:
                ours = found(store, case, program)
            except Inexpressible:
                continue  # too large a number
            theirs = expected(case, program)
            assert ours == theirs, case
            looked += 1
            fired += bool(theirs)
    assert looked >= 50
    assert fired >= 0.3 * looked, f"only {fired} of {looked} fire: the test says too little"
