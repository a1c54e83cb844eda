"""Faults put into the columnar engine on purpose: the agreement cases catch every one of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from agreement import differences, plain_reading, product
from engine.columns_faults import FAULTS, Fault, faulty
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


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.says)
def test_a_fault_in_the_engine_is_caught(fault: Fault):
    case, expected = case_of(fault.kind, fault.seed)
    assert agrees(case, expected), "the case must tell a sound engine from a faulty one"
    with faulty(fault):
        assert not agrees(case, expected)


def test_there_are_enough_faults_all_over_the_engine():
    assert len(FAULTS) >= 60
    assert len({fault.module for fault in FAULTS}) >= 10
