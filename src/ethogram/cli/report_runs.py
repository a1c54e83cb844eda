"""The runs of agents in the report: each in sentences, or many as a ranked table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..report.run_words import (
    agents_text,
    episode_cells,
    episode_text,
    found_text,
    known_text,
    lost_text,
    run_name,
    totals_text,
    tried_text,
)
from .text import STYLES, clean, plural

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ..app.run_record import Lane, Run, RunEpisode


FEW = 3
"""So many runs are told one by one."""
ROWS = 20
EPISODES = 20
"""Told of one run."""
CELLS = 60
"""Marks of a lane that fit a narrow terminal, with the name of a folder beside them."""


def run_parts(runs: Sequence[Run]) -> Iterator[RenderableType]:
    """Everything to print about runs, ranked as they come; nothing where there are none."""
    if not runs:
        return
    found = [run for run in runs if run.episodes]
    yield ""
    if not found:
        steps, errors = sum(run.steps for run in runs), sum(run.errors for run in runs)
        yield (
            f"Runs: {len(runs):,}, and nothing was found in any "
            f"({plural(steps, 'step')}, {plural(errors, 'error')})"
        )
        return
    yield "Runs" if len(runs) == 1 else f"Runs: {len(runs):,}, {len(found):,} of them with detections"
    if len(runs) > FEW:
        yield ranked(runs[:ROWS])
        if len(runs) > ROWS:
            yield f"and {len(runs) - ROWS:,} more"
        return
    for run in runs:
        yield ""
        yield from one_run(run)


def ranked(runs: Sequence[Run]) -> Table:
    """One row for each run."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for name in ("run", "agent", "steps", "errors", "worst", "lost steps", "what"):
        table.add_column(name, overflow="fold", justify="right" if name in ("steps", "errors") else "left")
    for run in runs:
        severity = Text(run.severity or "-", STYLES.get(run.severity or "", ""))
        lost = f"{run.lost_steps:,} ({run.lost_share:.0%})" if run.episodes else "-"
        row = (run_name(run), agents_text(run), f"{run.steps:,}", f"{run.errors:,}")
        table.add_row(*row, severity, lost, found_text(run))
    return table


def one_run(run: Run) -> Iterator[RenderableType]:
    """A run with everything that was found in it."""
    from rich.padding import Padding
    from rich.text import Text

    def indented(part: RenderableType, by: int = 2) -> Padding:
        return Padding(part, (0, 0, 0, by))

    yield Text.assemble((run_name(run), "bold"), f" ({agents_text(run)}): {totals_text(run)}")
    if run.task:
        yield indented(f"Task: {clean(run.task)}")
    if not run.episodes:
        yield indented("Nothing was found.")
        return
    if run.lost_steps:
        yield indented(f"Going over the same again: {lost_text(run)}")
    for one in run.episodes[:EPISODES]:
        title, *body = episode_parts(one, run)
        yield indented(title)
        yield from (indented(part, 4) for part in body)
    if len(run.episodes) > EPISODES:
        yield indented(f"and {len(run.episodes) - EPISODES:,} more")
    for lane in run.lanes:
        yield from map(indented, lane_lines(lane, run))


def episode_parts(one: RunEpisode, run: Run) -> Iterator[RenderableType]:
    """One stretch: what, from where to where, what was tried and what to do."""
    from rich.text import Text

    whose = f"  {clean(one.subject)}" if len(run.agents) > 1 else ""
    title = (clean(one.title or one.pattern), "bold")
    yield Text.assemble((one.severity.upper(), STYLES[one.severity]), "  ", title, whose)
    yield episode_text(one, run)
    yield known_text(one)
    if tried := tried_text(one):
        yield f"Tried in between: {tried}"
    if one.recommendation:
        yield f"What to do: {clean(one.recommendation)}"


def lane_lines(lane: Lane, run: Run) -> Iterator[str]:
    """Where the agent was at each step, with the stretches that were found under it."""
    from ..app.run_record import narrowed

    lane = narrowed(lane, CELLS)
    each = "a mark is a step" if lane.per_cell == 1 else f"a mark is {lane.per_cell} steps"
    under = f" under {clean(lane.under)}" if lane.under else ""
    yield f"Paths of {clean(lane.subject)}{under} ({each}: r read, w changed, x failed, . other)"
    for name, marks in lane.rows:
        yield f"  {marks}  {clean(name)}"
    found = [" "] * max(len(marks) for _, marks in lane.rows)
    for first, last, _ in episode_cells(run, lane.subject, lane.per_cell):
        found[first : last + 1] = "^" * (last + 1 - first)
    yield f"  {''.join(found)}  found here"
