"""The terminal report: runs, a ranked summary, details of the first detections, and what was covered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .coverage import coverage_lines
from .runs import (
    CARDS,
    FEW,
    Action,
    episode_text,
    evidence_steps,
    fleet_text,
    outcome_text,
    path_lines,
    run_card,
    run_lines,
    run_table,
    tried_text,
)
from .runs import ROWS as RUN_ROWS
from .wording import (
    STYLES,
    also_text,
    by_cause,
    by_severity,
    clean,
    pairs_text,
    plural,
    ranked,
    sentence,
    span,
    stamp,
    sureness,
    title_of,
    value_text,
    whom,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ..app.result import Analysis
    from ..app.run_record import Run, RunEpisode
    from ..app.sweep import Sweep
    from ..ingest import Gathered
    from ..models import Detection, Evidence
    from ..patterns.library import Library


DETAILS = 3
"""Detections whose details are shown; --verbose shows all."""
SUMMARY = 20
"""Lines of the summary."""
ROWS = 6
"""Evidence rows of one detection."""
WITHOUT_TEXT = "Not applicable, since this store has no texts (import with --keep-text)"

Steps = Mapping[tuple[str, str], Action]


def analysis_parts(
    analysis: Analysis,
    library: Library,
    batch: Gathered,
    *,
    runs: Sequence[Run] = (),
    muted: bool = False,
    verbose: bool = False,
    histories: bool = False,
) -> Iterator[RenderableType]:
    """Everything to print about an analysis; `histories` lists each history with insufficient data."""
    untimed = batch.events.untimed_sources()
    detections = ranked(analysis.detections)
    by = {detection.id: entry for detection, entry in analysis.muting.muted} if muted else {}
    shown = [*detections, *(detection for detection, _ in analysis.muting.muted if muted)]
    listing = Listing(shown, runs, batch, untimed, by, verbose=verbose)
    if runs:
        yield from listing.runs()
        yield ""
    yield headline(analysis)
    yield from listing.others()
    lines = list(coverage_lines(analysis, library, batch, verbose=verbose, histories=histories))
    if lines:
        yield ""
    yield from lines


class Listing:
    """Detections as text: those in runs with their run, the others by themselves, each cause once."""

    def __init__(
        self,
        detections: Sequence[Detection],
        runs: Sequence[Run],
        batch: Gathered,
        untimed: set[str],
        muted: Mapping[str, str],
        *,
        verbose: bool,
    ) -> None:
        self.all_runs, self.untimed, self.muted, self.verbose = runs, untimed, muted, verbose
        self.episodes = {each.detection: (each, run) for run in runs for each in run.episodes}
        self.groups = by_cause(detections)
        self.is_few = len(runs) <= FEW
        own = [group for group in self.groups if group[0].id in self.episodes]
        rest = [group for group in self.groups if group[0].id not in self.episodes]
        self.in_runs, self.rest = own, rest
        whole = own if self.is_few or verbose else []
        self.whole = {first.id for first, _ in (whole if verbose else whole[:DETAILS])}
        detailed = [first for first, _ in own if first.id in self.whole]
        detailed += [first for first, _ in (rest if verbose else rest[:DETAILS])]
        self.steps = evidence_steps(detailed, batch.events, runs)

    def runs(self) -> Iterator[RenderableType]:
        """The fleet in one sentence, then its runs, the worst first: whole if they are few, else as cards."""
        runs = [run for run in self.all_runs if run.episodes]
        yield fleet_text(self.all_runs)
        cards = runs if self.is_few or self.verbose else runs[:CARDS]
        for run in cards:
            yield ""
            groups = [group for group in self.in_runs if self.episodes[group[0].id][1] is run]
            if self.is_few or self.verbose:
                yield from run_lines(run)
                for first, others in groups:
                    yield from self._in_run(first, others, run)
                yield from path_lines(run)
            else:
                yield from run_card(run, [self._cause(first, others) for first, others in groups])
        if left := runs[len(cards) :]:
            yield ""
            yield run_table(left[:RUN_ROWS])
            if len(left) > RUN_ROWS:
                yield f"and {len(left) - RUN_ROWS:,} more with detections (--verbose)"

    def _cause(self, first: Detection, others: Sequence[Detection]) -> tuple[RunEpisode, str, str]:
        return self.episodes[first.id][0], also_text(first, others), sentence(first)

    def _in_run(self, first: Detection, others: Sequence[Detection], run: Run) -> Iterator[RenderableType]:
        from rich.padding import Padding

        if first.id in self.whole:
            parts = self._details(first, others)
        else:
            parts = list(run_card(run, [self._cause(first, others)]))[1:]
            parts = [part.renderable if isinstance(part, Padding) else part for part in parts]
        yield from (Padding(part, (0, 0, 0, 2)) for part in parts)

    def others(self) -> Iterator[RenderableType]:
        """Detections outside runs: a summary, then the first of them in detail."""
        yield from summary_parts(self.rest, self.untimed, verbose=self.verbose)
        for first, others in self.rest if self.verbose else self.rest[:DETAILS]:
            yield ""
            yield from self._details(first, others)
        if (left := len(self.rest) - DETAILS) > 0 and not self.verbose:
            yield ""
            yield f"{plural(left, 'more detection')}: --verbose shows the details."

    def _details(self, first: Detection, others: Sequence[Detection]) -> list[RenderableType]:
        timed, episode = first.source not in self.untimed, self.episodes.get(first.id)
        how = {"timed": timed, "verbose": self.verbose, "also": also_text(first, others)}
        muted = [f"Muted by {self.muted[first.id]}:"] if first.id in self.muted else []
        return [*muted, *detection_parts(first, self.steps, episode, **how)]  # type: ignore[arg-type]


def headline(analysis: Analysis) -> str:
    """How many detections there are in how many events."""
    if not analysis.events:
        return "There are no events in this input."
    where = f"{plural(analysis.events, 'event')} of {plural(analysis.subjects, 'subject')}"
    if analysis.as_of and not analysis.untimed:
        where += f", as of {stamp(analysis.as_of)} UTC"
    hidden = len(analysis.muting.shown)
    muted = f" {plural(hidden, 'detection')} muted by a file that is not trusted." if hidden else ""
    if not analysis.detections:
        return f"No {'other ' if hidden else ''}detections in {where}.{muted}"
    severities = by_severity(analysis.detections)
    return f"{plural(len(analysis.detections), 'detection')} ({severities}) in {where}.{muted}"


def summary_parts(
    detections: Sequence[tuple[Detection, Sequence[Detection]]], untimed: set[str], *, verbose: bool = False
) -> Iterator[RenderableType]:
    """One line for each detection with others of its cause, the gravest first; nothing for only one."""
    from rich.table import Table
    from rich.text import Text

    if len(detections) < 2:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    for _ in range(4):
        table.add_column(overflow="fold")
    rows = detections if verbose else detections[:SUMMARY]
    for detection, others in rows:
        when = span(detection.opened_at, detection.closed_at, timed=detection.source not in untimed)
        table.add_row(
            Text(detection.severity.upper(), STYLES[detection.severity]),
            title_of(detection) + also_text(detection, others),
            whom(detection),
            when,
        )
    yield ""
    yield table
    if len(detections) > len(rows):
        yield f"and {len(detections) - len(rows):,} more (--verbose)"


def detection_row(detection: Detection, *, timed: bool = True) -> list[str | tuple[str, str]]:
    """A detection on one line, as styled pieces."""
    when = span(detection.opened_at, detection.closed_at, timed=timed)
    return [
        (detection.severity.upper(), STYLES[detection.severity]),
        "  ",
        (title_of(detection), "bold"),
        f"  {whom(detection)}  {when}",
    ]


def detection_parts(
    detection: Detection,
    steps: Steps | None = None,
    episode: tuple[RunEpisode, Run] | None = None,
    *,
    timed: bool = True,
    verbose: bool = False,
    also: str = "",
) -> Iterator[RenderableType]:
    """One detection: what, who, when, why, the evidence, and what to do.

    `steps` and `episode` say where in a run it lies, if it lies in one. `also` are other names of its cause.
    """
    from rich.padding import Padding
    from rich.text import Text

    # Steps say more than places in a file without times.
    is_placed = timed or episode is None
    when = f"   {span(detection.opened_at, detection.closed_at, timed=timed)}" if is_placed else ""
    parts: list[RenderableType] = [f"{whom(detection)}{when}"]
    # Where something repeats, the stretch says the same with the steps themselves.
    if verbose or episode is None or not episode[0].repeated:
        parts.append(sentence(detection))
    if episode is not None:
        parts += [episode_text(*episode), outcome_text(episode[0])]
        if tried := tried_text(episode[0]):
            parts.append(f"Tried in between: {tried}")
    if detection.evidence:
        parts.append(evidence_table(detection, steps or {}, timed=timed, verbose=verbose))
    if detection.details and verbose:
        parts.append(
            "; ".join(f"{clean(name)}: {value_text(value)}" for name, value in detection.details.items())
        )
    if detection.recommendation:
        parts.append(f"What to do: {clean(detection.recommendation)}")
    parts.append(
        Text(
            f"pattern {clean(detection.pattern)}, {sureness(detection, exact=verbose)}, id {detection.id}",
            "dim",
        )
    )
    yield Text.assemble(
        (detection.severity.upper(), STYLES[detection.severity]), "  ", (title_of(detection), "bold"), also
    )
    yield from (Padding(part, (0, 0, 0, 2)) for part in parts)


def evidence_table(detection: Detection, steps: Steps, *, timed: bool = True, verbose: bool = False) -> Table:
    """The events that matter, one row each: of a run its steps, else excerpts and readings.

    Of many, the first and the last; `verbose` shows all, with their ids and readings.
    """
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    rows: list[tuple[str, ...]] = []
    shown = detection.evidence if verbose else telling(detection.evidence)
    for evidence in shown:
        step = steps.get((detection.source, evidence.event))
        row = _row(evidence, step, timed, verbose)
        if step is None or row not in rows:  # a call and its result are one step
            rows.append(row)
    used = [column for column in range(len(rows[0])) if any(row[column] for row in rows)]
    for _ in used:
        table.add_column(overflow="fold")
    hidden = 0 if verbose else len(rows) - ROWS
    for index, row in enumerate(rows):
        if hidden > 0 and index == ROWS // 2:
            table.add_row("...", f"{hidden} more")
        if hidden <= 0 or not ROWS // 2 <= index < ROWS // 2 + hidden:
            table.add_row(*(row[column] for column in used))
    return table


def telling(evidence: Sequence[Evidence]) -> Sequence[Evidence]:
    """The evidence; of paths that were counted only those outside the task, where there are any."""
    from ..app.run_record import STRAYS

    outside = [row for row in evidence if any(row.readings.get(name) == 1 for name in STRAYS)]
    return outside or evidence


def _row(evidence: Evidence, step: Action | None, timed: bool, verbose: bool) -> tuple[str, ...]:
    """Time, step of the pattern or of the run, what happened, and the readings."""
    used = dict(evidence.readings)
    if not verbose:
        # Neither the confidence of a part of a combination nor a flag that is not set says much.
        used.pop("confidence", None)
        used = {name: value for name, value in used.items() if value != 0} or used
    readings = pairs_text(used)
    more = (clean(evidence.event), readings) if verbose else ()
    when = stamp(evidence.at, timed=timed)
    if step is not None:
        path = used.get("touched_path")
        named = f" ({value_text(path)})" if isinstance(path, str) and path not in step.action else ""
        happened = f"`{clean(step.action)}`{named}" + (f" → {clean(step.result)}" if step.result else "")
        return (f"step {step.number:,}", when if verbose else "", happened, *(more or ("",)))
    part = "" if evidence.step == "counted" else clean(evidence.step)
    excerpt = f"“{clean(evidence.excerpt)}”" if evidence.excerpt else ""
    return (when, part, excerpt, *(more or (readings,)))


# --- sweep ----------------------------------------------------------------------------------

SHOWN_WHOLE = ("new", "found again", "risen")
WHY = {
    "withdrawn": "no longer matched: later events undo it",
    "superseded": "no longer matched: the pattern has changed",
    "closed": "over",
}


def sweep_parts(
    done: Sweep,
    untimed: set[str],
    quoted: Callable[[Sequence[Detection]], Sequence[Detection]],
    *,
    verbose: bool = False,
) -> Iterator[RenderableType]:
    """What changed in a store, the gravest first; then what is over or withdrawn.

    `quoted` adds excerpts to the detections that are shown in detail.
    """
    from ..models import rank

    counts = f"{plural(done.subjects, 'subject')} and {plural(done.events, 'event')} checked"
    yield f"{plural(len(done.changes), 'change')} as of {stamp(done.as_of)} UTC; {counts}."
    if done.without_text:
        names = clean(", ".join(done.without_text))
        yield f"{WITHOUT_TEXT}: {names}"
    whole = [each for each in done.changes if each.change in SHOWN_WHOLE]
    whole.sort(key=lambda each: (-rank(each.detection.severity), each.detection.order))
    yield from summary_parts([(each.detection, ()) for each in whole], untimed, verbose=verbose)
    detailed = whole if verbose else whole[:DETAILS]
    for each, detection in zip(detailed, quoted([each.detection for each in detailed]), strict=True):
        yield ""
        if each.change != "new":
            yield f"({each.change})"
        yield from detection_parts(detection, timed=detection.source not in untimed, verbose=verbose)
    if (left := len(whole) - DETAILS) > 0 and not verbose:
        yield ""
        yield f"{plural(left, 'more detection')}: --verbose shows the details."
    rest = [each for each in done.changes if each.change not in SHOWN_WHOLE]
    if rest or done.muted:
        yield ""
    if done.muted:
        yield f"Muted: {plural(len(done.muted), 'change')}"
    for each in rest:
        who = f"{title_of(each.detection)}, {clean(each.detection.subject)}"
        yield f"{each.change.capitalize()}: {who} ({WHY[each.change]}); id {each.detection.id}"
