"""`python -m benchmarks speed`: how fast it is, beside its peers, on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from ethogram.cli.chat import Embedder, maker
from ethogram.cli.options import AsJson, opt
from ethogram.cli.output import write_json, write_line

Rows = Annotated[int, opt("How many evaluations.", min=1000)]
Rounds = Annotated[int, opt("How often each candidate runs; medians are shown.", min=1, max=25)]


def shapes(
    rows: Rows = 1_000_000,
    rounds: Rounds = 3,
    alone: Annotated[bool, opt("Without the peers.", "--alone")] = False,
    as_json: AsJson = False,
) -> None:
    """Six shapes over many evaluations: the columnar engine, a plain loop, DuckDB and Polars in turn."""
    from benchmarks.speed.shapes import compare, verdicts

    _needed(("numpy",) if alone else ("numpy", "duckdb", "polars", "pyarrow"))
    _write(verdicts(compare(rows, rounds=rounds, peers=not alone)), as_json=as_json)


def store(
    rows: Rows = 100_000,
    alone: Annotated[bool, opt("Without Parquet and DuckDB.", "--alone")] = False,
    as_json: AsJson = False,
) -> None:
    """Events into a store and out, swept and swept again, beside the sqlite3 module alone."""
    from benchmarks.speed.store import compare

    _needed(("numpy",) if alone else ("numpy", "duckdb", "pyarrow"))
    _write(compare(rows, peers=not alone), as_json=as_json)


def growth(
    most: Annotated[int, opt("At most so many readings.", "--max", min=10_000)] = 10_000_000,
    as_json: AsJson = False,
) -> None:
    """How the CPU time of both engines grows with readings, and with the length of histories."""
    from benchmarks.speed.growth import growth as measured

    _write(measured(most), as_json=as_json)


def scan(
    size: Annotated[int, opt("How many bytes of text.", min=100_000)] = 4_000_000,
    rounds: Rounds = 3,
    data: Annotated[Path | None, opt("A text file, a message a line.", "--data")] = None,
    as_json: AsJson = False,
) -> None:
    """Phrases looked for in many messages: matching beside `re`, and scanning from end to end."""
    from benchmarks.speed.scan import compare, verdicts

    _needed(("numpy",))
    _write(verdicts(compare(size, rounds=rounds, data=data)), as_json=as_json)


def evaluate(
    size: Annotated[int, opt("How many bytes of text.", min=10_000)] = 2_000_000,
    rounds: Rounds = 3,
    data: Annotated[Path | None, opt("A text file, a message a line.", "--data")] = None,
    as_json: AsJson = False,
) -> None:
    """Messages scored by the evaluator `local`, beside its features alone in plain Python."""
    from benchmarks.speed.evaluate import compare

    _needed(("numpy",))
    _write(compare(size, rounds=rounds, data=data), as_json=as_json)


def live(
    events: Annotated[int, opt("The length of the longest history.", min=1000)] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Single events and micro-batches through a watch, and the matcher alone beside an interpreted one."""
    from benchmarks.speed.live import measure

    _write(measure(events), as_json=as_json)


def hook(
    starts: Annotated[int, opt("How many times it is started.", min=3)] = 50,
    events: Annotated[int, opt("Events of the run before it is started.", min=10)] = 5_000,
    as_json: AsJson = False,
) -> None:
    """From the start of the hook's process to its answer, in a new run and in a long one."""
    from benchmarks.speed.hook import measure

    for one in measure(starts, events):
        if as_json:
            write_json(one)
        elif one["record"] == "start":
            write_line(f"{one['name']:<28}{one['p50']:8.1f} ms (half)  {one['p95']:8.1f} ms (95 of 100)")
        else:
            word = "goal" if one["goal_reached"] else "bar" if one["bar_holds"] else "above the bar"
            write_line(
                f"{one['what']}: {one['ratio']:g} ms (bar {one['bar']:g}, goal {one['goal']:g}): {word}"
            )


def usage(
    events: Annotated[int, opt("How many events are recorded.", min=1000)] = 100_000,
    people: Annotated[int, opt("How many people are swept.", min=100)] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Events into a tracker, alone and by many at once, questions, a sweep, memory, beside plain peers."""
    from benchmarks.speed.usage import measure

    _write(measure(events, people), as_json=as_json)


def turns(
    length: Annotated[int, opt("Turns of the conversation.", "--turns", min=100)] = 10_000,
    embedder: Embedder = "",
    as_json: AsJson = False,
) -> None:
    """A turn of a conversation at its beginning and its end, its state and memory, beside whole histories."""
    from benchmarks.speed.turns import measure

    make = maker(embedder, "")
    _write(measure(lambda name: make(name, "bench"), length), as_json=as_json)


def _needed(packages: Iterable[str]) -> None:
    from importlib.util import find_spec

    from ethogram.errors import MissingExtra

    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(package, "dev", "comparing with peers")


def _write(records: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    for one in records:
        if as_json:
            write_json(one)
        elif one["record"] == "cost":
            size = f"{one['readings']:>10,} readings  histories of {one['history_length']:>7,}"
            cost = f"{one['cpu_seconds']:9.3f} s CPU  {one['microseconds_per_event']:8.3f} us an event"
            write_line(f"{one['engine']:<7} {size}  {cost}")
        elif one["record"] == "turns":
            times = f"{one['p50_ms']:9.3f} ms a turn (half)  {one['p99_ms']:9.3f} ms (99 of 100)"
            write_line(f"{one['name']:<32}{times}  CPU")
        elif one["record"] == "timing" and "per_second" in one:
            times = f"{one['wall_seconds']:9.3f} s wall  {one['cpu_seconds']:9.3f} s CPU"
            write_line(f"{one['name']:<23}{times}  {one['per_second']:>11,} events/s")
        elif one["record"] == "timing":
            times = f"{one['wall_seconds']:9.3f} s wall  {one['cpu_seconds']:9.3f} s CPU"
            write_line(f"{one['name']:<10}{times}  {one['hits']:>8} found")
        else:
            word = "goal" if one["goal_reached"] else "bar" if one["bar_holds"] else "below the bar"
            line = f"{one['what']}: {one['ratio']:g} (bar {one['bar']:g}, goal {one['goal']:g}): {word}"
            write_line(line)
