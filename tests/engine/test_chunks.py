"""Histories cut into chunks, with the state carried, give what the plain reading gives of the whole."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agreement import differences, plain_reading, row_of
from benchmarks.speed.data import TRAITS, six_programs
from ethogram.engine.columns.chunks import State, run_chunk
from ethogram.engine.columns.run import run_table
from ethogram.engine.columns.table import EventRows, EventTable, LineTable
from ethogram.engine.detections import detection_of
from ethogram.engine.match import Outcome
from ethogram.ingest.event_columns import Coded, EventColumns, Readings
from ethogram.language.compiler import compile_patterns
from ethogram.language.program import Program
from ethogram.models import micros
from live_cases import live_detections
from strategies import KINDS, MEASURES, Case, random_case

CASES = 250 if os.environ.get("ETHOGRAM_TESTS") == "long" else 30
OF_EVENTS = tuple(kind for kind in KINDS if kind not in ("combination", "spread"))


def rows(outcome: Outcome) -> dict[str, dict[str, Any]]:
    return {item.id: row_of(item) for item in map(detection_of, outcome.matches)}


def lacking(outcome: Outcome) -> set[tuple[Any, ...]]:
    return {
        (item.program.name, item.source, item.key, item.have, item.need, item.reason)
        for item in outcome.insufficient
    }


def cuts(size: int, rng: random.Random) -> list[tuple[int, int]]:
    """A range cut in a few places, or after every event; some chunks are empty."""
    places = sorted(rng.randrange(size + 1) for _ in range(rng.choice((1, 2, 5, min(size, 60)))))
    return list(zip([0, *places], [*places, size], strict=True))


def check(
    programs: tuple[Program, ...],
    cut: Callable[[int, int], EventTable],
    size: int,
    as_of: int,
    cap: int,
    seed: int,
) -> list[dict[str, Any]]:
    """What is found, after making sure that chunks give the same as the whole."""
    whole = run_table(programs, cut(0, size), as_of=as_of, cap=cap)
    state, found = State(), {}
    for start, end in cuts(size, random.Random(seed)):
        outcome, state = run_chunk(programs, cut(start, end), state, cap=cap)
        found |= rows(outcome)
        assert not outcome.insufficient
    outcome, state = run_chunk(programs, cut(size, size), state, as_of=as_of, cap=cap)
    found |= rows(outcome)
    theirs = rows(whole)
    assert differences([found[k] for k in sorted(found)], [theirs[k] for k in sorted(theirs)]) == []
    assert lacking(outcome) == lacking(whole)
    assert outcome.checked == whole.checked
    return [found[k] for k in sorted(found)]


def check_columns(case: Case, seed: int) -> int:
    """How much the columnar engine finds in chunks."""
    events = sorted(case.events, key=lambda event: event.order)
    as_of = case.as_of or max(event.at for event in events)
    events = [event for event in events if event.at <= as_of]
    programs = compile_patterns(case.patterns)

    def cut(start: int, end: int) -> EventTable:
        return EventRows(events[start:end])

    ours = check(programs, cut, len(events), micros(as_of), case.cap, seed)
    assert differences(ours, sorted(plain_reading(case)[0], key=lambda row: str(row["id"]))) == []
    return len(ours)


def check_live(case: Case, seed: int) -> int:
    """How much the live engine finds where it is saved and loaded in a few places."""
    cuts = random.Random(seed).sample(range(len(case.events) + 1), 2)
    ours = [row_of(detection) for detection in live_detections(case, cuts=cuts)]
    assert differences(ours, plain_reading(case)[0]) == []
    return len(ours)


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_in_chunks(kind: str):
    cases = [(random_case(seed, kind), seed) for seed in range(CASES)]
    assert sum(check_live(*case) for case in cases) > CASES / 3
    if kind in OF_EVENTS:
        assert sum(check_columns(*case) for case in cases) > CASES / 3


@pytest.mark.parametrize("measure", MEASURES)
def test_aggregates_in_chunks(measure: str):
    cases = [(random_case(seed, measure=measure), seed) for seed in range(CASES)]
    assert sum(check_live(*case) for case in cases) > CASES / 3
    assert sum(check_columns(*case) for case in cases) > CASES / 3


def table_of(start: int, end: int) -> EventTable:
    """Rows of a table of four subjects by turns, whose readings are not rounded yet."""
    rng = np.random.default_rng(3)
    readings: dict[str, Readings] = {name: rng.random(800)[start:end] for name in TRAITS}
    readings["observed"] = (rng.random(800) < 0.5).astype(np.float64)[start:end]
    numbers = np.arange(start, end)
    subjects = Coded(numbers % 4, ["ann", "bo", "cy", "di"])
    ids: list[str | None] = [f"e{number}" for number in numbers]
    lines = EventColumns(
        "input", numbers * 60_000_000, numbers, ids, {"subject": subjects}, readings, timed=True
    )
    return LineTable(lines)


@pytest.mark.parametrize("cap", [30, 512])
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_tables_of_columns_in_chunks(cap: int, seed: int):
    assert len(check(six_programs(), table_of, 800, 800 * 60_000_000, cap, seed)) > 10


def test_a_state_keeps_no_more_than_can_be_seen():
    programs, state = six_programs(), State()
    for start in range(0, 800, 100):
        _, state = run_chunk(programs, table_of(start, start + 100), state, cap=20)
        assert state.rows is not None
        # Each of four sequences looks at 256 events of each subject.
        assert state.rows.rows <= min(start + 100, 4 * (256 + 20))
    threshold = [program for program in programs if program.name == "intermittent_reward"]
    _, state = run_chunk(threshold, table_of(0, 800), cap=20)
    assert state.rows is not None
    assert state.rows.rows == 4 * 20
