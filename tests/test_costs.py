"""What work costs as its input grows, in counts: of calls, of steps of the interpreter, of threads woken."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.speed.data import write_parquet
from ethogram.app.out_of_core import look_at
from ethogram.app.swarms import COMMON, grouped
from ethogram.cli.main import main
from ethogram.ingest.spill import read_bucket
from ethogram.models import Detection, default_id
from ethogram.report.wording import by_cause
from ethogram.signals.text import all_copies
from waiting import calls_of

ROWS = 6_000
"""So many that events are held as columns."""
START = datetime(2026, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)


def steps_of(function: Any, run: Callable[[], object]) -> int:
    """How many instructions of a Python function, its inner functions included, the interpreter runs."""
    count, codes = 0, set(_codes(function.__code__))

    def count_step(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if frame.f_code not in codes:
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return count_step

    before = sys.gettrace()
    sys.settrace(count_step)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def _codes(code: CodeType) -> Iterable[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


# --- ids ------------------------------------------------------------------------------------


def analyze(path: Path, *options: str, json: bool = True) -> str:
    with redirect_stdout(io.StringIO()) as out:
        assert main(["analyze", str(path), *(["--json"] if json else []), *options]) == 0
    return out.getvalue()


def test_a_table_without_ids_costs_ids_of_its_evidence_only(tmp_path: Path) -> None:
    path, printed = tmp_path / "events.parquet", list[str]()
    write_parquet(path, ROWS, ROWS // 100)
    made = calls_of(lambda: printed.append(analyze(path)), default_id)
    found = [json.loads(line) for line in printed[0].splitlines()]
    evidence = sum(len(item.get("evidence", ())) for item in found)
    assert 0 < evidence < ROWS / 4
    # Besides the evidence, where each episode begins and ends.
    assert made <= evidence + 2 * len(found)


def test_texts_without_ids_cost_one_id_each(tmp_path: Path) -> None:
    rng, path = random.Random(3), tmp_path / "events.jsonl"
    words = (
        "thank",
        "you",
        "for",
        "this",
        "but",
        "pay",
        "me",
        "the",
        "money",
        "now",
        "or",
        "I",
        "tell",
        "them",
    )
    with path.open("w") as file:
        for k in range(ROWS):
            event = {
                "at": (START + timedelta(minutes=k)).isoformat(),
                "subject": f"s{rng.randrange(60)}",
                "target": f"t{rng.randrange(9)}",
                "kind": "message",
                "text": " ".join(rng.choices(words, k=30)),
                "readings": {"manipulation": round(rng.random(), 2), "compassion": round(rng.random(), 2)},
            }
            file.write(json.dumps(event) + "\n")
    assert path.stat().st_size > 2**20  # from there on lines are read as columns
    printed: list[str] = []
    made = calls_of(lambda: printed.append(analyze(path, "--patterns", "love_bombing")), default_id)
    found = [json.loads(line) for line in printed[0].splitlines()]
    assert any("evidence" in item for item in found)
    assert made <= ROWS + 2 * len(found)


def with_texts(path: Path, texts: list[str]) -> Path:
    """A copy of a Parquet file with a column of texts."""
    import pyarrow.parquet

    table, copy = pyarrow.parquet.read_table(path), path.with_name("texts.parquet")
    pyarrow.parquet.write_table(table.append_column("text", [texts]), copy)
    return copy


def test_a_table_without_texts_is_not_searched_for_copies(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    write_parquet(path, ROWS, ROWS // 100)
    texts = with_texts(path, [f"what was said at {k}" for k in range(ROWS)])
    calls = [calls_of(lambda path=path: analyze(path), all_copies) for path in (path, texts)]  # type: ignore[misc]
    assert calls == [0, 1]


# --- events on disk -------------------------------------------------------------------------


def test_a_report_reads_each_bucket_on_disk_once_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, printed = tmp_path / "events.parquet", list[str]()
    write_parquet(path, ROWS, ROWS // 100)
    monkeypatch.setenv("ETHOGRAM_MEMORY", "1")
    buckets = calls_of(lambda: analyze(path), look_at)
    detections = calls_of(lambda: analyze(path), read_bucket)
    report = calls_of(lambda: printed.append(analyze(path, json=False)), read_bucket)
    assert "patterns, which need messages (" in printed[0]
    assert report - detections <= buckets == 2


# --- detections of one cause or swarm -------------------------------------------------------


def detection(
    number: int, subject: str = "ann", *, first: int = 0, last: int | None = 0, members: str = ""
) -> Detection:
    """One that is open from a minute to another."""
    return Detection(
        id=f"{number:05}", pattern="copied_text", version="1", state="open" if last is None else "closed",
        subject=subject, target=None, thread=None, severity="low", confidence=0.5,
        opened_at=START + timedelta(minutes=first), detected_at=START + timedelta(minutes=first),
        closed_at=None if last is None else START + timedelta(minutes=last),
        first_event="a", last_event="a", count=0, evidence=(), confirms=(), scorer="",
        details={"members": members} if members else {}, explanation="", recommendation="",
    )  # fmt: skip


def swarms_one_by_one(detections: Iterable[Detection]) -> set[frozenset[str]]:
    """The ids of each swarm: a detection joins all with which it has enough members in common."""
    swarms: list[tuple[set[str], set[str]]] = []
    for item in detections:
        members = {*item.details["members"].split(", "), item.subject}
        joined = [swarm for swarm in swarms if len(swarm[0] & members) >= COMMON]
        swarms = [swarm for swarm in swarms if swarm not in joined]
        swarms.append(
            (members.union(*(swarm[0] for swarm in joined)), {item.id}.union(*(swarm[1] for swarm in joined)))
        )
    return {frozenset(ids) for _, ids in swarms}


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sets(st.sampled_from("abcdefgh"), min_size=1))))
def test_swarms_have_members_in_common(drawn: list[tuple[str, set[str]]]) -> None:
    detections = [
        detection(number, subject, members=", ".join(sorted(members)))
        for number, (subject, members) in enumerate(drawn)
    ]
    found = grouped(detections)
    assert {frozenset(item.id for item in group) for group in found} == swarms_one_by_one(detections)
    assert all([item.id for item in group] == sorted(item.id for item in group) for group in found)


def wave(copies: int) -> list[Detection]:
    """One text of many subjects, each of whose detections names the first few and itself."""
    return [detection(n, f"bot{n}", members="bot0, bot1, bot2, bot3") for n in range(copies)]


def talks(copies: int) -> list[Detection]:
    """Texts that three subjects share each, two of them the same everywhere."""
    return [detection(n, f"bot{n}", members="ann, bob") for n in range(copies)]


def chain(copies: int) -> list[Detection]:
    """Swarms of their own, joined one after the other by later detections."""
    groups = [[f"bot{n}.{k}" for k in range(6)] for n in range(copies // 2)]
    parts = [detection(n, own[0], members=", ".join(own)) for n, own in enumerate(groups)]
    bridges = [
        detection(copies + n, one[0], members=", ".join((*one[:3], *other[3:])))
        for n, (one, other) in enumerate(pairwise(groups))
    ]
    return parts + bridges


@pytest.mark.parametrize("make", [wave, talks, chain])
def test_swarms_cost_four_times_as_much_for_four_times_the_copies(
    make: Callable[[int], list[Detection]],
) -> None:
    few, many = make(100), make(400)
    assert steps_of(grouped, lambda: grouped(many)) <= 5 * steps_of(grouped, lambda: grouped(few))


def groups_one_by_one(detections: Iterable[Detection]) -> list[list[str]]:
    """The ids of each group: a detection joins the first group whose first detection it overlaps."""
    groups: list[list[Detection]] = []
    for item in detections:
        for group in groups:
            ends = [other.closed_at or LATEST for other in (item, group[0])]
            if max(item.opened_at, group[0].opened_at) <= min(ends):
                group.append(item)
                break
        else:
            groups.append([item])
    return [[item.id for item in group] for group in groups]


@given(st.lists(st.tuples(st.integers(0, 12), st.none() | st.integers(0, 4)), max_size=12))
def test_detections_of_one_cause_are_grouped_where_they_overlap(drawn: list[tuple[int, int | None]]) -> None:
    detections = [
        detection(number, first=first, last=None if length is None else first + length)
        for number, (first, length) in enumerate(drawn)
    ]
    found = [[first.id, *(other.id for other in others)] for first, others in by_cause(detections)]
    assert found == groups_one_by_one(detections)


def test_causes_cost_four_times_as_much_for_four_times_the_detections() -> None:
    few, many = ([detection(n, first=2 * n, last=2 * n) for n in range(size)] for size in (100, 400))
    assert steps_of(by_cause, lambda: by_cause(many)) <= 5 * steps_of(by_cause, lambda: by_cause(few))


# --- threads --------------------------------------------------------------------------------

TURNS = """
import json, os, sys, time
from pathlib import Path

from ethogram import Conversation

def switches():
    "How often each other thread was given a core and gave it back."
    found = {}
    for task in Path("/proc/self/task").iterdir():
        if int(task.name) != os.getpid():
            status = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
            found[task.name] = [status[f"{kind}_ctxt_switches"] for kind in ("voluntary", "nonvoluntary")]
            found[task.name].append(status["State"].split()[0])
    return found

def at_rest():
    "The same, once all of them sleep."
    deadline = time.monotonic() + 120
    found = switches()
    while any(state != "S" for *_, state in found.values()):
        assert time.monotonic() < deadline, f"waited for the other threads to sleep: {found}"
        time.sleep(0.01)
        found = switches()
    return found

import numpy
before = at_rest()
talk = Conversation("talk")
for text in json.load(sys.stdin):
    talk.turn(text)
    talk.turn(text, "assistant")
after = at_rest()
assert after == before, f"a turn started or woke threads: {before}, then {after}"
matrix = numpy.ones((600, 600), numpy.float32)
matrix @ matrix
print("threads" if switches() != before else "no threads")
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are told by Linux' /proc")
def test_a_turn_of_a_chat_wakes_no_thread(tmp_path: Path) -> None:
    sentence = (
        "I would like to know how the two of us can get home from the station before it rains tonight. "
    )
    texts = ["Hello.", sentence, sentence * 3, sentence * 12, "a b c d. " * 500, "x " * 3_000]
    unset = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "GOTO_NUM_THREADS")
    environ = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [sys.executable, "-c", TURNS], input=json.dumps(texts), env=environ, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr[-2000:]
    # A matrix product of NumPy wakes them where there are any, so that the count would have shown it.
    cores = len(os.sched_getaffinity(0))
    assert done.stdout == ("threads\n" if cores > 1 else "no threads\n")
