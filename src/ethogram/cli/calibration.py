"""`ethogram calibration`: what the confidences of a pattern have meant, by verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from .accuracy import NONE, Pattern
from .inputs import AsJson, Asked, Config
from .output import write_json, write_line
from .stored import StoreUrl

if TYPE_CHECKING:
    from ..app.accuracy import Calibrated


WIDE, HIGH = 41, 11
"""Columns and rows of the plot in text."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("calibration")(calibration)


def calibration(
    store: StoreUrl,
    pattern: Pattern = "",
    html: Annotated[str, typer.Option(metavar="FILE", help="Write a page with the plots too.")] = "",
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Show how often detections of each confidence were right, and what a confidence stands for now."""
    from ..app.accuracy import calibrations, check_pattern
    from ..store import open_store

    settings = Asked(config=config).settings()
    with open_store(store) as opened:
        if pattern:
            check_pattern(opened, pattern, settings)
        found = calibrations(opened, pattern or None, settings)
    if html:
        write_calibration(html, found)
    if as_json:
        for one in found:
            write_json(one.to_dict())
        return
    if not found:
        write_line(NONE)
    for one in found:
        for text in lines(one):
            write_line(text)


def write_calibration(path: str, found: list[Calibrated]) -> None:
    """Write the page."""
    from ..report.calibration import calibration_page
    from .page_file import write_page

    write_page(path, calibration_page(found))


def lines(one: Calibrated) -> Iterator[str]:
    """The text form: the table, then the plot."""
    from .text import clean, plural

    told = one.reliability
    few = "" if one.is_sufficient else f" (insufficient verdicts: it takes {one.minimum})"
    yield f"{clean(one.pattern)}: {plural(told.count, 'verdict')}{few}"
    yield "  confidence     judged  right  share (95 %)          stands for now"
    for row in told.rows:
        low, high = row.interval
        share = f"{row.right / row.count:.2f} ({low:.2f} to {high:.2f})"
        said = f"{row.low:.2f} to {row.high:.2f}"
        yield f"  {said:14} {row.count:6,}  {row.right:5,}  {share:20}  {one.calibration(row.confidence):.2f}"
    yield f"  mean distance of said and seen {told.distance:.2f}, Brier score {told.brier:.3f}"
    yield from (f"  {text}" for text in plot(one))


def plot(one: Calibrated) -> Iterator[str]:
    """Said (across) against seen (up): o a group, . where both are the same, - what it stands for now."""
    cells = [[" "] * WIDE for _ in range(HIGH)]

    def put(x: float, y: float, mark: str) -> None:
        cells[round((1 - y) * (HIGH - 1))][round(x * (WIDE - 1))] = mark

    for column in range(WIDE):
        share = column / (WIDE - 1)
        put(share, share, ".")
    for column in range(WIDE):
        share = column / (WIDE - 1)
        put(share, one.calibration(share), "-")
    for row in one.reliability.rows:
        put(row.confidence, row.right / row.count, "o")
    for number, line in enumerate(cells):
        label = {0: "1.0", (HIGH - 1) // 2: "0.5", HIGH - 1: "0.0"}.get(number, "")
        yield f"{label:>4} |{''.join(line).rstrip()}"
    yield f"     +{'-' * WIDE}"
    yield f"      0{'confidence':^{WIDE - 2}}1"
