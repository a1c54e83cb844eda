"""Whatever bytes a reader gets: records that keep their promises, or faults with a place; never a traceback.

`make test` runs 40 mutants for each reader, always the same; `make test-long` 5,000, each time others. A
failure names its seed: repeat it with ETHOGRAM_FUZZ_SEED.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from ethogram import registry
from fuzz import loop
from fuzz.loop import Report, Target, attempt, fuzz
from fuzz.targets import targets

NAMES = [
    *registry.adapters.names(),
    *("pattern file", "settings file", "mute file", "learned file", "verdict file"),
    *("evaluator answer", "hook payload", "chat"),
]


def check(target: Target, count: int, seed: int, folder: Path) -> Report:
    """Fuzz a target; fail with the seed and every failure, its smallest input in a file of its own."""
    report = fuzz(target, count, seed)
    print(f"{target.name}: {report.cases} inputs, {report.kept} kept, seed {seed}")
    said = [f"{target.name} fails; repeat with ETHOGRAM_FUZZ_SEED={seed}"]
    for number, failure in enumerate(report.failures.values()):
        path = folder / f"{re.sub('[^a-z_]', '_', target.name)}-{number}.bin"
        path.write_bytes(failure.data)
        said.append(f"{failure.what}\ninput: {path}\n{failure.trace}")
    assert not report.failures, "\n\n".join(said)
    return report


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    return next(target for target in targets(tmp_path) if target.name == request.param)


def test_every_reader_is_fuzzed(tmp_path: Path):
    every = list(targets(tmp_path))
    assert [item.name for item in every] == NAMES
    assert all(item.seeds for item in every)


@pytest.mark.parametrize("target", NAMES, indirect=True)
def test_forty_mutants(target: Target, tmp_path: Path):
    check(target, 40, int(os.environ.get("ETHOGRAM_FUZZ_SEED", "1")), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("target", NAMES, indirect=True)
def test_five_thousand_mutants(target: Target, tmp_path: Path):
    seed = os.environ.get("ETHOGRAM_FUZZ_SEED")
    check(target, 5_000, random.randrange(2**32) if seed is None else int(seed), tmp_path)


# --- that the loop finds what is there -------------------------------------------------------


def faulty(data: bytes) -> None:
    """A reader with a rare fault: three lines have to be reached one after the other."""
    if b"\0" not in data:
        return
    if b"]" not in data:
        return
    if data.count(b"{") > 3:
        raise KeyError("rare")


def greedy(data: bytes) -> None:
    if b"\0" in data:
        bytearray(loop.MEMORY * 2)


def endless(data: bytes) -> None:
    while b"\0" in data:
        pass


def made(run) -> Target:
    return Target("faulty", (b'{"a": 1}',), run, __file__)


@pytest.mark.parametrize(
    ("run", "what"), [(faulty, "KeyError at test_fuzz.py"), (greedy, "MemoryError"), (endless, "TooSlow")]
)
def test_a_planted_fault_is_found_and_shrunk(run, what, monkeypatch):
    if run is endless:
        monkeypatch.setattr(loop, "CPU_SECONDS", 0.1)
    report = fuzz(made(run), 3_000 if run is faulty else 60, 1)
    (failure,) = report.failures.values()
    assert failure.what.startswith(what)
    assert (
        attempt(made(run), failure.data).what == failure.what if run is not greedy else b"\0" in failure.data
    )
    if run is faulty:
        # Nothing is left that the fault does not need: a null, a bracket and four braces.
        assert sorted(failure.data) == sorted(b"\0]{{{{")


def test_a_fault_planted_in_an_adapter_is_found(tmp_path, monkeypatch):
    adapter = type(registry.adapters.get("jsonl"))
    real = adapter.read

    def read(self, file):
        for line, value, column in real(self, file):
            if isinstance(value, dict) and "text" not in value and value.get("kind"):
                value["readings"]["compassion"] += 0
            yield line, value, column

    monkeypatch.setattr(adapter, "read", read)
    (target,) = [target for target in targets(tmp_path) if target.name == "jsonl"]
    with pytest.raises(AssertionError, match="ETHOGRAM_FUZZ_SEED=1") as found:
        check(target, 300, 1, tmp_path)
    assert "KeyError" in str(found.value)
    assert list(tmp_path.glob("jsonl-*.bin"))


def test_mutants_that_reach_new_lines_are_kept():
    report = fuzz(made(lambda data: faulty(data) if data.count(b"{") < 4 else None), 2_000, 1)
    assert report.kept >= 2
