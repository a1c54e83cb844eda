"""Faults put into the batch runner on purpose: the agreement cases catch every one of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from agreement import differences, plain_reading, product
from engine.batch_faults import FAULTS, Fault, faulty
from ethogram.engine.detect import RUNNERS
from strategies import KINDS, Case, random_case


@cache
def case_of(kind: str, seed: int) -> tuple[Case, Any]:
    """A case, and what the plain reading says of it."""
    case = random_case(seed, kind) if kind in KINDS else random_case(seed, measure=kind)
    return case, plain_reading(case)


def agrees(case: Case, value: Any, runner: str) -> bool:
    """Whether a runner says the same; one that falls over does not."""
    try:
        rows, lacking = product(case, runner)
    except Exception:
        return False
    return differences(rows, value[0]) == [] and lacking == value[1]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.says)
def test_a_fault_in_the_batch_runner_is_caught(fault: Fault, monkeypatch: pytest.MonkeyPatch):
    case, said = case_of(fault.kind, fault.seed)
    assert agrees(case, said, "batch"), "the case must tell a sound runner from a faulty one"
    with faulty(fault) as run:
        monkeypatch.setitem(RUNNERS, "faulty", run)
        assert not agrees(case, said, "faulty")


def test_there_are_enough_faults_all_over_the_runner():
    assert len(FAULTS) >= 30
    assert len({fault.module for fault in FAULTS}) >= 10
