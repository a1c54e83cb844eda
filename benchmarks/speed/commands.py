"""`python -m benchmarks speed`: measure what a user waits for, and write docs/performance.md."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import click

from benchmarks.speed.measure import Inputs, Sample, Samples
from benchmarks.speed.table import CURVES, MEASURES, NEED_DATA, ROWS, growth, page, verdicts
from ethogram.cli.options import opt
from ethogram.cli.output import flush, write_line
from ethogram.errors import BadUsage, did_you_mean
from ethogram.files import write_whole

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "performance.md"
SAVED = ROOT / "build" / "speed.json"
"""The newest samples of every measurement and their commits, from which the page is written."""


def speed(
    quick: Annotated[bool, opt("Use small inputs; do not write the page.", "--quick")] = False,
    only: Annotated[list[str], opt(f"Measure only: {', '.join(MEASURES)}.", "--only", metavar="NAME")] = [],  # noqa: B006 (it is never changed)
    data: Annotated[
        Path | None,
        opt("Measure on real data too.", "--data", metavar="FOLDER", envvar="ETHOGRAM_DATA"),
    ] = None,
    render: Annotated[bool, opt("Measure nothing; write the page from saved figures.", "--render")] = False,
) -> None:
    """Measure what a user waits for, beside its peers, and write docs/performance.md."""
    for name in only:
        if name not in MEASURES:
            raise BadUsage(f"no measurement is named {name!r}{did_you_mean(name, MEASURES)}")
    results, commits = _saved() if (only or render) and not quick else ({}, {})
    before = verdicts(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    lost: list[str] = []
    for name in () if render else only or MEASURES:
        if name in NEED_DATA and (data is None or not (data / NEED_DATA[name]).exists()):
            write_line(f"{name}: left out, no {NEED_DATA[name]} (--data FOLDER)")
            continue
        with TemporaryDirectory(prefix="ethogram-speed-") as folder:
            results[name] = MEASURES[name](Inputs(Path(folder), data and data.absolute(), quick))
        commits[name] = current_commit()
        _show(name, results[name])
        lost += no_longer_holding(name, results[name], before)
        if not quick:
            SAVED.parent.mkdir(exist_ok=True)
            saved = {name: {"commit": commits[name], "samples": results[name]} for name in results}
            SAVED.write_text(json.dumps(saved), encoding="utf-8")
    if not quick:
        if missing := MEASURES.keys() - results.keys() - NEED_DATA.keys():
            write_line(f"docs/performance.md is not written: {', '.join(sorted(missing))} not measured yet")
        else:
            write_whole(PAGE, page(results, commits))
            write_line("docs/performance.md written")
    flush()
    for row in lost:
        write_line(f"ethogram: it held by docs/performance.md: {row}", to=sys.stderr)
    if lost:
        raise click.exceptions.Exit(1)


def no_longer_holding(name: str, samples: Samples, before: Mapping[str, str]) -> list[str]:
    """The rows of a measurement whose bar held by an earlier page, and is missed now."""
    rows = [row for row in ROWS if row.name == name and row.covers(samples)]
    found = [(row.what, before.get(row.what, ""), row.cells(samples)[-1]) for row in rows]
    return [
        f"{what}: {now}" for what, then, now in found if then.startswith("holds") and now.startswith("missed")
    ]


def current_commit() -> str:
    """The short name of the commit that is checked out, and whether the code differs from it."""

    def git(*args: str) -> str:
        done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "benchmarks", "constraints.txt")
    return (git("rev-parse", "--short=8", "HEAD") or "unknown") + (" with changes" if changed else "")


def _show(name: str, samples: Samples) -> None:
    for row in ROWS:
        if row.name == name and row.covers(samples):
            what, bar, goal, measured, peers, verdict = row.cells(samples)
            write_line(f"{what}: {measured} (bar {bar}, goal {goal}): {verdict}")
            for peer in peers.split("<br>") if peers else ():
                write_line(f"  {peer}")
    if any(run.__name__ == name for run in CURVES.values()):
        for what, costs, apart in growth({name: samples}):
            write_line(f"{what}: {costs} ({apart})")
    flush()


def _saved() -> tuple[dict[str, Samples], dict[str, str]]:
    """The saved samples and commits, by the name of the measurement."""
    if not SAVED.exists():
        return {}, {}
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    results = {
        name: {candidate: [Sample(*one) for one in taken] for candidate, taken in record["samples"].items()}
        for name, record in saved.items()
        if name in MEASURES and "samples" in record  # not of an older version
    }
    return results, {name: saved[name]["commit"] for name in results}
