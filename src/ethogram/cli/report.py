"""The report of an analysis for a person who never saw the tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..report.words import by_severity, gravest_first, sentence, whom
from .report_rest import rest
from .report_runs import run_parts
from .text import STYLES, clean, pairs_text, plural, show, span, stamp, value_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ..app.analyze import Analysis
    from ..app.run_record import Run
    from ..ingest import Gathered
    from ..models import Detection, Evidence
    from ..patterns.library import Library


ROWS = 12
"""Evidence rows shown of one detection; all are in the JSON."""


class Report:
    """What was found, gravest first, in which runs, then what was quiet and what could not be said."""

    def __init__(
        self,
        analysis: Analysis,
        library: Library,
        batch: Gathered,
        *,
        all_insufficient: bool = False,
        muted: bool = False,
        runs: Sequence[Run] = (),
    ) -> None:
        self.analysis, self.library, self.batch, self.runs = analysis, library, batch, runs
        self.all_insufficient, self.muted = all_insufficient, muted

    def write(self) -> None:
        """Print it."""
        show(*self.parts())

    def parts(self) -> Iterator[RenderableType]:
        """Everything to print, in order."""
        untimed = untimed_sources(self.batch)
        yield headline(self.analysis, untimed=bool(untimed))
        for one in gravest_first(self.analysis.detections):
            yield ""
            yield from detection_parts(one, timed=one.source not in untimed)
        for one, by in self.analysis.muting.muted if self.muted else ():
            yield ""
            yield f"Muted by {by}:"
            yield from detection_parts(one, timed=one.source not in untimed)
        yield from run_parts(self.runs)
        told = list(rest(self.analysis, self.library, self.batch, all_insufficient=self.all_insufficient))
        if told:
            yield ""
        yield from told


def untimed_sources(batch: Gathered) -> set[str]:
    """The sources whose events have no times."""
    return set() if batch.timed else {event.source for event in batch.events if not event.timed}


def headline(analysis: Analysis, *, untimed: bool = False) -> str:
    """How much was found in how much."""
    where = f"{plural(analysis.events, 'event')} of {plural(analysis.subjects, 'subject')}"
    if not untimed and analysis.events and analysis.as_of:
        where += f", as of {stamp(analysis.as_of)} UTC"
    if not analysis.events:
        return "There are no events in this input."
    hidden = len(analysis.muting.shown)
    muted = f" {plural(hidden, 'detection')} muted by a file that is not trusted." if hidden else ""
    if not analysis.detections:
        return f"{'Nothing else' if hidden else 'Nothing'} was found in {where}.{muted}"
    found = f"{plural(len(analysis.detections), 'detection')} ({by_severity(analysis.detections)})"
    return f"{found} in {where}.{muted}"


def detection_parts(one: Detection, *, timed: bool = True) -> Iterator[RenderableType]:
    """One detection: what, who, when, why, the events that prove it, and what to do."""
    from rich.padding import Padding
    from rich.text import Text

    def indented(part: RenderableType) -> Padding:
        return Padding(part, (0, 0, 0, 2))

    yield Text.assemble(
        (one.severity.upper(), STYLES[one.severity]), "  ", (clean(one.title or one.pattern), "bold")
    )
    yield indented(f"{whom(one)}   {span(one.opened_at, one.closed_at, timed=timed)}")
    yield indented(sentence(one))
    if one.evidence:
        yield indented(timeline(one.evidence, timed=timed))
    if one.details:
        yield indented(
            "; ".join(f"{clean(name)}: {value_text(value)}" for name, value in one.details.items())
        )
    if one.recommendation:
        yield indented(f"What to do: {clean(one.recommendation)}")
    yield indented(Text(f"pattern {clean(one.pattern)}, {sureness(one)}, id {one.id}", "dim"))


def sureness(one: Detection) -> str:
    """How sure a detection is, and what that has meant where there are verdicts."""
    meant = "" if one.probability is None else f" (by verdicts, right in {one.probability:.0%} of such cases)"
    return f"confidence {one.confidence:.2f}{meant}"


def timeline(evidence: Sequence[Evidence], *, timed: bool = True) -> Table:
    """The events that count, one row each; of many, the first and the last."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    said = any(one.excerpt for one in evidence)
    names = ["step", "time" if timed else "event", "event id" if not timed else "event", "readings"]
    for name in [*names, "excerpt"] if said else names:
        table.add_column(name, overflow="fold")
    hidden = len(evidence) - ROWS
    for index, one in enumerate(evidence):
        if hidden > 0 and index == ROWS // 2:
            table.add_row("...", f"{hidden} more")
        if hidden > 0 and ROWS // 2 <= index < ROWS // 2 + hidden:
            continue
        row = [clean(one.step), stamp(one.at, timed=timed), clean(one.event), pairs_text(one.readings)]
        table.add_row(*row, *([clean(one.excerpt or "")] if said else []))
    return table
