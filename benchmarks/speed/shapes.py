"""`speed shapes`: the columnar engine beside its peers, with evidence and episodes, in one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.speed.data import Evaluations, evaluations, six_programs
from benchmarks.speed.peers import Hits, column_floor, duckdb_query, polars_over, python_loop
from ethogram.engine.columns.run import run_table
from ethogram.engine.columns.table import LineTable
from ethogram.engine.detections import detection_of
from ethogram.ingest.event_columns import Coded, EventColumns, Readings

BARS = {"python": (25, 50), "duckdb": (8, 15), "polars": (6, 12)}
"""How many times faster than each peer: what must hold, and what is wanted."""
FLOOR = (15, 8)
"""At most so many times as long as reading the columns once: what must hold, and what is wanted."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Medians of one candidate, in seconds."""

    name: str
    wall: float
    cpu: float
    hits: int


def ours(data: Evaluations) -> Callable[[], Hits]:
    """The six programs over columns, every match made a detection with its evidence."""
    programs = six_programs()
    names = [f"s{i}" for i in range(int(data.subject[-1]) + 1)]
    rows = len(data.at)
    ids: list[str | None] = [f"row {row}" for row in range(rows)]
    readings: dict[str, Readings] = {**data.traits, "observed": data.observed}
    as_of = int(data.at[-1])

    def run() -> Hits:
        subjects = Coded(data.subject, names)
        lines = EventColumns(
            "input", data.at, np.arange(rows), ids, {"subject": subjects}, readings, timed=True
        )
        table = LineTable(lines)
        outcome = run_table(programs, table, as_of=as_of)
        for match in outcome.matches:
            detection_of(match)
        return {(match.program.name, match.fired.seq) for match in outcome.matches}

    return run


def compare(rows: int, *, rounds: int = 3, threads: int = 2, peers: bool = True) -> list[Timing]:
    """Every candidate timed in turn, `rounds` times; AssertionError where two do not find the same."""
    data = evaluations(rows)
    candidates: dict[str, Callable[[], Hits]] = {"ours": ours(data), "floor": column_floor(data)}
    if peers:
        candidates |= {
            "python": python_loop(data),
            "duckdb": duckdb_query(data, threads),
            "polars": polars_over(data),
        }
    measured: dict[str, list[tuple[float, float, Hits]]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            measured[name].append(_timed(run))
    expected = measured["ours"][0][2]
    for name, runs in measured.items():
        if name != "floor" and any(hits != expected for _, _, hits in runs):
            raise AssertionError(f"{name} does not find what we find: {_difference(expected, runs[0][2])}")
    return [
        Timing(
            name,
            statistics.median(wall for wall, _, _ in runs),
            statistics.median(cpu for _, cpu, _ in runs),
            len(runs[0][2]),
        )
        for name, runs in measured.items()
    ]


def _timed(run: Callable[[], Hits]) -> tuple[float, float, Hits]:
    wall, cpu = time.perf_counter(), time.process_time()
    hits = run()
    return time.perf_counter() - wall, time.process_time() - cpu, hits


def _difference(ours: Hits, theirs: Hits) -> str:
    only, missing = sorted(theirs - ours)[:3], sorted(ours - theirs)[:3]
    return f"only there {only}, only here {missing}"


def verdicts(timings: list[Timing]) -> list[dict[str, Any]]:
    """Each peer's ratio beside its bar and goal, as JSON records."""
    by_name = {timing.name: timing for timing in timings}
    mine = by_name["ours"]
    out: list[dict[str, Any]] = [
        {
            "record": "timing",
            "name": timing.name,
            "wall_seconds": timing.wall,
            "cpu_seconds": timing.cpu,
            "hits": timing.hits,
        }
        for timing in timings
    ]
    for name, (bar, goal) in BARS.items():
        if name in by_name:
            ratio = by_name[name].wall / mine.wall
            out.append(ratio_record(f"faster than {name}", ratio, bar, goal, ratio >= bar, ratio >= goal))
    ratio = mine.wall / by_name["floor"].wall
    bar, goal = FLOOR
    out.append(ratio_record("times the column floor", ratio, bar, goal, ratio <= bar, ratio <= goal))
    return out


def ratio_record(
    what: str, ratio: float, bar: float, goal: float, holds: bool, reached: bool
) -> dict[str, Any]:
    """A ratio beside what must hold and what is wanted, as a JSON record."""
    return {
        "record": "ratio",
        "what": what,
        "ratio": float(f"{ratio:.3g}"),
        "bar": bar,
        "goal": goal,
        "bar_holds": holds,
        "goal_reached": reached,
    }
