"""`ethogram bench`: how fast it is, beside its peers, on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from .inputs import AsJson
from .output import write_json, write_line

Rows = Annotated[int, typer.Option(min=1000, help="How many evaluations.")]
Rounds = Annotated[int, typer.Option(min=1, max=25, help="How often each candidate runs; medians are shown.")]


def register(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="How fast it is, beside its peers.", no_args_is_help=True)
    group.command("shapes")(shapes)
    group.callback()(lambda: None)
    app.add_typer(group, name="bench")


def shapes(
    rows: Rows = 1_000_000,
    rounds: Rounds = 3,
    alone: Annotated[bool, typer.Option("--alone", help="Without the peers.")] = False,
    as_json: AsJson = False,
) -> None:
    """Six shapes over many evaluations: the batch runner, a plain loop, DuckDB and Polars in turn."""
    from ethogram.bench.shapes import compare, verdicts

    _needed(("numpy",) if alone else ("numpy", "duckdb", "polars", "pyarrow"))
    _write(verdicts(compare(rows, rounds=rounds, peers=not alone)), as_json=as_json)


def _needed(packages: Iterable[str]) -> None:
    from importlib.util import find_spec

    from ethogram.errors import MissingExtra

    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(package, "bench", "comparing with peers")


def _write(records: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    for one in records:
        if as_json:
            write_json(one)
        elif one["record"] == "timing":
            times = f"{one['wall_seconds']:9.3f} s wall  {one['cpu_seconds']:9.3f} s CPU"
            write_line(f"{one['name']:<10}{times}  {one['hits']:>8} found")
        else:
            word = "goal" if one["goal_reached"] else "bar" if one["bar_holds"] else "below the bar"
            line = f"{one['what']}: {one['ratio']:g} (bar {one['bar']:g}, goal {one['goal']:g}): {word}"
            write_line(line)
