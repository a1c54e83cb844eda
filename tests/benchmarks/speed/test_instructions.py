"""Common work takes about as many instructions as it did, by the counts of valgrind."""

from __future__ import annotations

import pytest

from benchmarks.speed import instructions
from benchmarks.speed.counted import COPIES, PARQUET
from benchmarks.speed.instructions import Counts, count_instructions, faults_of, faults_of_growth
from servers import leave_out


def known_counts() -> Counts:
    """The baseline of this Python; without it, or without valgrind, a test is left out."""
    if not instructions.is_installed():
        leave_out(instructions.NO_VALGRIND)
    if not (baseline := instructions.read_baseline().get(instructions.PYTHON)):
        leave_out(instructions.NO_BASELINE)
    return baseline


def test_common_work_takes_as_many_instructions_as_it_did():
    baseline = known_counts()
    counts = count_instructions()
    assert faults_of(counts, baseline) + faults_of_growth(counts) == []


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_without_valgrind_or_baseline_it_is_left_out_and_in_ci_it_fails(ci, outcome, monkeypatch, tmp_path):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(outcome, match=r"no valgrind: tools/servers\.sh installs it"):
        known_counts()
    (tmp_path / "valgrind").touch(mode=0o755)
    monkeypatch.setattr(instructions, "BASELINE", tmp_path / "instructions.json")
    instructions.BASELINE.write_text('{"2.7 vax": {}}', encoding="utf-8")
    with pytest.raises(
        outcome, match=r"for Python 3\.\d+ \w+: python -m benchmarks speed instructions --renew"
    ):
        known_counts()


def test_what_is_new_or_gone_is_told():
    (fault,) = faults_of({"plain Python": 1, "new": 1}, {"plain Python": 1})
    assert fault.startswith("new: not in both")
    (fault,) = faults_of({"plain Python": 1}, {"plain Python": 1, "gone": 1})
    assert fault.startswith("gone: not in both")


def test_a_tenth_more_or_less_is_no_fault():
    baseline = {"plain Python": 100, "a": 1_000}
    assert [len(faults_of({"plain Python": 100, "a": n}, baseline)) for n in (890, 905, 1_095, 1_110)] == [
        1,
        0,
        0,
        1,
    ]


def test_four_times_the_input_may_cost_four_times_as_much():
    linear = {few: 100 for *_, few, _ in (PARQUET, COPIES)} | {many: 400 for *_, many in (PARQUET, COPIES)}
    assert faults_of_growth(linear) == []
    assert len(faults_of_growth({**linear, PARQUET[-1]: 410})) == 1
