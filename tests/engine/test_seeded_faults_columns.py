"""Faults put into the columnar engine on purpose: the agreement cases catch every one of them."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from agreement import differences, plain_reading, product, row_of
from engine.columns_faults import FAULTS, IN_CHUNKS, Fault, faulty
from ethogram.engine.detections import detection_of
from ethogram.language.compiler import compile_patterns
from ethogram.models import micros
from strategies import KINDS, Case, random_case


@cache
def case_of(kind: str, seed: int) -> tuple[Case, Any]:
    """A case, and what the plain reading says of it."""
    case = random_case(seed, kind) if kind in KINDS else random_case(seed, measure=kind)
    return case, plain_reading(case)


def agrees(case: Case, expected: Any) -> bool:
    """Whether the columnar engine says the same; one that falls over does not."""
    try:
        rows, lacking = product(case, "columns")
    except Exception:
        return False
    return differences(rows, expected[0]) == [] and lacking == expected[1]


def agrees_in_chunks(case: Case, expected: Any, seed: int) -> bool:
    """Whether it says the same of the events in chunks. Imports what is there now, faulty or not."""
    from ethogram.engine.columns.chunks import State, run_chunk
    from ethogram.engine.columns.table import EventRows

    events = sorted(case.events, key=lambda event: event.order)
    as_of = case.as_of or max(event.at for event in events)
    events = [event for event in events if event.at <= as_of]
    rng = random.Random(seed)
    cuts = sorted(rng.randrange(len(events) + 1) for _ in range(rng.choice((1, 3, len(events)))))
    programs, state, found = compile_patterns(case.patterns), State(), {}
    try:
        for start, end in zip([0, *cuts, len(events)], [*cuts, len(events), len(events)], strict=True):
            last = micros(as_of) if start == len(events) and end == len(events) else None
            outcome, state = run_chunk(
                programs, EventRows(events[start:end]), state, as_of=last, cap=case.cap
            )
            found |= {item.id: item for item in map(detection_of, outcome.matches)}
    except Exception:
        return False
    rows = [row_of(item) for item in sorted(found.values(), key=lambda entry: entry.order)]
    return differences(rows, expected[0]) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.says)
def test_a_fault_in_the_engine_is_caught(fault: Fault):
    case, expected = case_of(fault.kind, fault.seed)
    assert agrees(case, expected), "the case must tell a sound engine from a faulty one"
    with faulty(fault):
        assert not agrees(case, expected)


@pytest.mark.parametrize("fault", IN_CHUNKS, ids=lambda fault: fault.says)
def test_a_fault_between_chunks_is_caught(fault: Fault):
    case, expected = case_of(fault.kind, fault.seed)
    assert agrees_in_chunks(case, expected, fault.seed), "the case must tell a sound engine from a faulty one"
    with faulty(fault):
        assert not agrees_in_chunks(case, expected, fault.seed)


def test_there_are_enough_faults_all_over_the_engine():
    assert len(FAULTS) >= 60
    assert len(IN_CHUNKS) >= 10
    assert len({fault.module for fault in (*FAULTS, *IN_CHUNKS)}) >= 11
