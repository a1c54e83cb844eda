"""`python -m benchmarks speed` compares like with like, and its page says what was measured."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.speed import commands, measure
from benchmarks.speed.data import (
    records,
    texts,
    write_copies,
    write_lines,
    write_parquet,
    write_patterns,
    write_usage,
)
from benchmarks.speed.measure import Inputs, Sample, Samples
from benchmarks.speed.table import CURVES, MEASURES, NEED_DATA, ROWS, Row, growth, page, seconds
from ethogram import analyze
from ethogram.patterns.library import load_patterns


def samples(**cpu: float) -> Samples:
    return {name.replace("_", " "): [Sample(value, value)] for name, value in cpu.items()}


def made_up() -> dict[str, Samples]:
    """Results of all that needs no data: everything takes a second."""
    results = {
        name: {shown: [Sample(1, 1, 1)] for row in ROWS if row.name == name for shown in row.figure.shows}
        for name in MEASURES.keys() - NEED_DATA.keys()
    }
    results["copies"] = {str(copies): [Sample(1 + copies, 1)] for copies in (1, 5_000, 20_000)}
    results["hook"] = {name: [Sample(1, 1)] for name in ("new run", "long run", "empty process")}
    return results | {name: {"10": [Sample(1, 1)]} for name in ("subjects", "histories", "patterns")}


# --- measuring ------------------------------------------------------------------------------------


def test_the_kernel_and_its_peers_find_the_same():
    found = measure._kernel(20_000, 1)  # raises where they do not
    assert list(found) == ["ours", "Python loop", "DuckDB", "Polars", "one read"]


def test_batches_report_what_single_events_report():
    found = measure._live(4)  # raises where they do not
    assert [len(taken) for taken in found.values()] == [2, 2]


@pytest.mark.parametrize(
    "run",
    [
        lambda: measure._scanner(1, 1),
        lambda: measure._evaluator(1),
        lambda: measure._tracker(500),
        lambda: measure._chat(60),
        lambda: measure._long_chat(60),
    ],
    ids=["scanner", "evaluator", "tracker", "chat", "long chat"],
)
def test_every_candidate_inside_python_is_timed(run: Callable[[], Samples]):
    assert all(sample.cpu > 0 for taken in run().values() for sample in taken)


def test_the_hook_answers_in_a_new_and_in_a_long_run(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "interleaved", lambda candidates, rounds: _once(candidates))
    found = measure.hook(Inputs(tmp_path, quick=True))
    assert list(found) == ["new run", "long run", "empty process"]
    assert found["empty process"][0].cpu < found["long run"][0].cpu


def _once(candidates: dict[str, measure.Run]) -> Samples:
    return {name: [run()] for name, run in candidates.items()}


def test_candidates_take_turns_in_both_orders():
    order: list[str] = []

    def run(name: str) -> measure.Run:
        return lambda: (order.append(name), Sample(1, 1))[1]

    measure.interleaved({name: run(name) for name in "abc"}, 3)
    assert "".join(order) == "abccbaabc"


def test_a_command_is_measured_with_its_memory_and_must_succeed(tmp_path):
    sample = measure.command("-c", "x = b'x' * 200_000_000", folder=tmp_path)
    assert sample.cpu > 0
    assert sample.peak >= 0.2
    with pytest.raises(RuntimeError, match="exited with 3: no such thing"):
        measure.command("-c", "import sys; sys.stderr.write('no such thing'); sys.exit(3)", folder=tmp_path)


def test_a_command_over_the_limit_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "LIMIT", 1)
    assert math.isinf(measure.command("-c", "while True: pass", folder=tmp_path).cpu)


# --- inputs ---------------------------------------------------------------------------------------


def test_inputs_are_the_same_each_time():
    assert list(islice(records(5), 50)) == list(islice(records(5), 50))
    assert texts(5_000) == texts(5_000)


def test_files_of_events_are_read_whole(tmp_path):
    write_lines(tmp_path / "events.jsonl", 300, 3)
    write_parquet(tmp_path / "events.parquet", 300, 3)
    for name in ("events.jsonl", "events.parquet"):
        found = analyze(tmp_path / name, patterns=["love_bombing"])
        assert (found.events, found.checked[0].histories) == (300, 9)  # three subjects, three targets each


def test_copies_are_one_text_and_usage_is_of_people(tmp_path):
    write_copies(tmp_path / "copies.jsonl", 30)
    (swarm,) = analyze(tmp_path / "copies.jsonl", patterns=["copied_text"]).detections
    assert swarm.details["subjects"] == 30
    write_usage(tmp_path / "usage.jsonl", 300, 3)
    found = analyze(tmp_path / "usage.jsonl")
    assert (found.events, found.subjects) == (300, 3)


def test_sixty_patterns_are_sixty(tmp_path):
    write_patterns(tmp_path / "sixty", 60)
    library = load_patterns([tmp_path / "sixty"])
    assert len({file.name for file in library}) == 60


# --- the page -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "peer", "verdict"),
    [(0.2, 1.0, "holds, goal reached"), (0.5, 1.0, "holds"), (2.0, 1.0, "missed by 2x: slow")],
)
def test_a_row_is_judged_by_its_peer(ours: float, peer: float, verdict: str):
    lines = ROWS[0]
    row = Row(lines.what, lines.measure, lines.figure, (1, 3), "slow")
    assert row.cells(samples(ours=ours, hand_loop=peer))[-1] == verdict


def test_a_row_that_was_stopped_is_missed():
    row = Row("", measure.start, seconds("ours"), (2, 1), "it waits")
    assert (
        row.cells(samples(ours=math.inf))[-1] == f"missed: stopped after {measure.LIMIT} s of CPU: it waits"
    )


def test_a_row_shows_median_and_range():
    row = Row("", measure.start, seconds("ours"), (2, 1))
    taken = {"ours": [Sample(cpu, 2 * cpu) for cpu in (1.5, 1.0, 4.0)]}
    assert row.cells(taken)[3] == "1.5 s CPU (1 s to 4 s), 3 s wall"


def test_the_start_is_no_cost_of_events():
    taken = {"1": [Sample(1, 1)], "10000": [Sample(1.1, 1)], "100000": [Sample(3, 1)]}
    assert list(growth({"events": taken})) == [[next(iter(CURVES)), "10,000: 10 µs, 100,000: 20 µs", "2.00x"]]


def test_the_page_leaves_out_what_needs_data_and_says_so():
    text = page(made_up(), {})
    left_out = [row.what for row in ROWS if row.name in NEED_DATA]
    assert f"Left out, since real data is needed (`--data FOLDER`): {'; '.join(left_out)}." in text
    assert all(f"| {row.what} |" in text for row in ROWS if row.name not in NEED_DATA)


def test_the_page_has_the_rows_and_limits_of_the_table():
    lines = commands.PAGE.read_text(encoding="utf-8").splitlines()
    written = [line.split(" | ")[:3] for line in lines if line.startswith("| ") and line.count(" | ") == 5]
    expected = [[f"| {row.what}", *map(row.figure.unit.limit, row.limits)] for row in ROWS]
    assert [cells for cells in expected if cells not in written] == [], "run: python -m benchmarks speed"


def test_one_measurement_is_printed_and_nothing_written(capsys, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(commands, "SAVED", tmp_path / "speed.json")
    monkeypatch.setattr(commands, "PAGE", tmp_path / "page.md")
    assert main(["speed", "--quick", "--only", "tracker"]) == 0
    assert "usage tracker in memory" in capsys.readouterr().out
    assert main(["speed", "--only", "forum"]) == 0
    assert "forum: left out" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_the_page_is_written_again_from_saved_figures(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(commands, "SAVED", tmp_path / "speed.json")
    monkeypatch.setattr(commands, "PAGE", tmp_path / "page.md")
    saved = {name: {"commit": "abc", "samples": taken} for name, taken in made_up().items()}
    (tmp_path / "speed.json").write_text(json.dumps(saved), encoding="utf-8")
    assert main(["speed", "--render"]) == 0
    written = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert written == page(made_up(), dict.fromkeys(made_up(), "abc"))
    assert "Measured at commit `abc`, on " in written


def test_the_page_names_the_commit_of_each_measurement():
    text = page(made_up(), {"start": "abc", "chat": "def", "hook": "abc"})
    assert "Measured at commit `abc` (start, hook) and `def` (chat), on " in text


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize(
    ("before", "limits", "code"),
    [("holds", (1e9, 2e9), 1), ("holds, goal reached", (1e9, 2e9), 1), ("missed by 2x", (1e9, 2e9), 0),
     ("holds", (1e-9, 1e9), 0)],
)  # fmt: skip
def test_a_bar_that_no_longer_holds_is_an_error(
    quick: bool, before: str, limits: tuple[float, float], code: int, capsys, monkeypatch, tmp_path: Path
):
    (row,) = (row for row in ROWS if row.measure is measure.tracker)
    monkeypatch.setattr(commands, "ROWS", [Row(row.what, row.measure, row.figure, limits)])
    monkeypatch.setattr(commands, "SAVED", tmp_path / "speed.json")
    monkeypatch.setattr(commands, "PAGE", tmp_path / "page.md")
    (tmp_path / "page.md").write_text(f"| {row.what} | a | b | c |  | {before} |\n", encoding="utf-8")
    monkeypatch.setitem(MEASURES, "tracker", lambda _: {"ours": [Sample(1e-5, 1e-5)]})
    assert main(["speed", "--only", "tracker", *(["--quick"] if quick else [])]) == code
    assert (f"{row.what}: missed by" in capsys.readouterr().err) == bool(code)


def test_an_unknown_measurement_is_bad_usage(capsys):
    assert main(["speed", "--only", "stat"]) == 2
    assert "did you mean 'start'" in capsys.readouterr().err
