"""`python -m benchmarks speed`: measure what a user waits for, and write docs/performance.md."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from benchmarks.speed.measure import Inputs, Sample, Samples
from benchmarks.speed.table import CURVES, MEASURES, NEED_DATA, ROWS, growth, page
from ethogram.cli.options import opt
from ethogram.cli.output import flush, write_line
from ethogram.errors import BadUsage, did_you_mean
from ethogram.files import write_whole

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "performance.md"
SAVED = ROOT / "build" / "speed.json"
"""The newest samples of every measurement, from which the page is written."""


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
    results = _saved() if (only or render) and not quick else {}
    for name in () if render else only or MEASURES:
        if name in NEED_DATA and (data is None or not (data / NEED_DATA[name]).exists()):
            write_line(f"{name}: left out, no {NEED_DATA[name]} (--data FOLDER)")
            continue
        with TemporaryDirectory(prefix="ethogram-speed-") as folder:
            results[name] = MEASURES[name](Inputs(Path(folder), data and data.absolute(), quick))
        _show(name, results[name])
        if not quick:
            SAVED.parent.mkdir(exist_ok=True)
            SAVED.write_text(json.dumps(results), encoding="utf-8")
    if quick:
        return
    if missing := MEASURES.keys() - results.keys() - NEED_DATA.keys():
        write_line(f"docs/performance.md is not written: {', '.join(sorted(missing))} not measured yet")
    else:
        write_whole(PAGE, page(results))
        write_line("docs/performance.md written")


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


def _saved() -> dict[str, Samples]:
    if not SAVED.exists():
        return {}
    return {
        name: {candidate: [Sample(*one) for one in taken] for candidate, taken in samples.items()}
        for name, samples in json.loads(SAVED.read_text(encoding="utf-8")).items()
    }
