"""Runs of agents on the page: a ranked table, then each with its path lane and what was found in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..app.run_record import MARKS, NOTHING, Lane, Run, RunEpisode
from .chart import Who
from .html import Html, cell, number, raw, tag
from .marks import chip
from .run_words import (
    agents_text,
    episode_cells,
    episode_text,
    found_text,
    known_text,
    lost_text,
    run_name,
    totals_text,
    tried_text,
    where,
)
from .words import clean, plural

ROWS = 50
"""Runs in the table."""
TOLD = 30
"""Runs told in full."""
OPEN = 3
"""Of these, so many are unfolded at first."""
EPISODES = 40
HEIGHT = 16
CLASSES = {"x": "failed", "w": "changed", "r": "looked", ".": "did"}
HEADS = ("run", "agent", "steps", "errors", "worst", "lost steps", "what")


LOST = "Lost steps lie in stretches in which the same came again and again."


def run_section(runs: Sequence[Run], numbers: Mapping[Who, int] | None = None) -> Iterator[Html]:
    """The section about runs; nothing where there are none. `numbers` are the subjects' in the filter."""
    if not runs:
        return
    found = [run for run in runs if run.episodes]
    told = f"{plural(len(runs), 'run')}, {len(found):,} with detections. {LOST}"
    whose = numbers or {}
    parts = [tag("h2", "Runs"), tag("p", told, class_="note"), ranked(runs, whose)]
    parts += [one_run(run, index, whose) for index, run in enumerate(found[:TOLD])]
    if len(found) > TOLD:
        parts.append(tag("p", f"{len(found) - TOLD:,} more are not told one by one.", class_="note"))
    yield tag("section", *parts, id="runs")


def ranked(runs: Sequence[Run], numbers: Mapping[Who, int]) -> Html:
    """One row for each run; the gravest first."""
    head = tag("tr", *(tag("th", name, scope="col") for name in HEADS))
    rows, n = [], 0
    for run in runs[:ROWS]:
        name: Html | str = run_name(run)
        if run.episodes and n < TOLD:
            name, n = tag("a", name, href=f"#run-{n}"), n + 1
        rows.append(_row(run, name, numbers))
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    left = [tag("p", f"and {len(runs) - ROWS:,} more", class_="note")] if len(runs) > ROWS else []
    return tag("div", table, *left, class_="ranked")


def _row(run: Run, name: Html | str, numbers: Mapping[Who, int]) -> Html:
    lost = f"{run.lost_steps:,} ({run.lost_share:.0%})" if run.episodes else "-"
    return tag(
        "tr",
        tag("td", name, class_="long"),
        cell(agents_text(run)),
        tag("td", f"{run.steps:,}", class_="number"),
        tag("td", f"{run.errors:,}", class_="number"),
        tag("td", chip(run.severity) if run.severity else "-"),
        tag("td", lost),
        cell(found_text(run)),
        class_="ranked-run",
        data_found=" ".join(dict.fromkeys(_facts(one, run, numbers) for one in run.episodes)),
    )


def _facts(one: RunEpisode, run: Run, numbers: Mapping[Who, int]) -> str:
    """What the filter asks of a stretch: its severity, its pattern and the number of its subject."""
    return f"{one.severity},{clean(one.pattern)},{numbers.get((run.source, one.subject), '')}"


def one_run(run: Run, index: int, numbers: Mapping[Who, int]) -> Html:
    """A run that can be folded: how much was done, its lanes, and a paragraph for each stretch."""
    summary = tag(
        "summary", chip(run.severity or "low"), tag("b", run_name(run)), tag("span", agents_text(run))
    )
    parts = [tag("p", totals_text(run), class_="who")]
    if run.task:
        parts.append(tag("p", tag("b", "Task"), " ", clean(run.task)))
    if run.lost_steps:
        parts.append(tag("p", f"Going over the same again: {lost_text(run)}", class_="note"))
    parts += [lane_part(lane, run) for lane in run.lanes]
    parts += [episode_part(one, run, numbers) for one in run.episodes[:EPISODES]]
    if len(run.episodes) > EPISODES:
        parts.append(tag("p", f"and {len(run.episodes) - EPISODES:,} more", class_="note"))
    return tag("details", summary, *parts, class_="run", id=f"run-{index}", open=index < OPEN)


def episode_part(one: RunEpisode, run: Run, numbers: Mapping[Who, int]) -> Html:
    """One stretch: what, from where to where, what was tried and what to do."""
    whose = f" ({clean(one.subject, 60)})" if len(run.agents) > 1 else ""
    parts = [
        tag("h4", chip(one.severity), clean(one.title or one.pattern, 120) + whose),
        tag("p", f"{episode_text(one, run)} {known_text(one)}"),
    ]
    if tried := tried_text(one):
        parts.append(tag("p", tag("b", "Tried in between"), " ", tried))
    if one.recommendation:
        parts.append(tag("p", tag("b", "What to do"), " ", clean(one.recommendation, 600), class_="advice"))
    return tag("div", *parts, class_=f"stretch l-{one.severity}", data_found=_facts(one, run, numbers))


def lane_part(lane: Lane, run: Run) -> Html:
    """Which folders were touched over the steps, and above them the stretches that were found."""
    cells = max((len(marks) for _, marks in lane.rows), default=1)
    under = f" under {clean(lane.under)}" if lane.under else ""
    each = "one cell for each step" if lane.per_cell == 1 else f"one cell for {lane.per_cell} steps"
    head = tag("p", f"Paths of {clean(lane.subject, 60)}{under}, {each}: ", *_legend(), class_="note")
    bars = [_bar(*one, cells) for one in episode_cells(run, lane.subject, lane.per_cell)]
    rows = [_plot("found", "what was found", bars)]
    for name, marks in lane.rows:
        drawn = [_cell(i, mark, cells, lane, name) for i, mark in enumerate(marks) if mark != NOTHING]
        rows.append(_plot(clean(name, 60), f"{clean(name, 60)}: {_counted(marks)}", drawn))
    return tag("div", head, *rows, class_="paths")


def _legend() -> list[Html]:
    def key(mark: str) -> Html:
        return tag("svg", _rect(mark, 0, 100), class_="key", width=12, height=12, aria_hidden="true")

    return [tag("span", key(mark), f" {said}", class_="legend") for mark, said in MARKS.items()]


def _plot(name: str, said: str, drawn: Sequence[Html]) -> Html:
    plot = tag(
        "svg", *drawn, class_="plot", width="100%", height=HEIGHT, role="img", aria_label=clean(said, 160)
    )
    return tag("div", tag("div", tag("span", name), class_="label"), plot, class_="row")


def _bar(first: int, last: int, one: RunEpisode, cells: int) -> Html:
    bar = tag(
        "rect",
        tag("title", f"{clean(one.title or one.pattern, 80)}: {where(one)}"),
        class_="bar",
        fill=raw(f"url(#hatch-{one.severity})"),
        x=f"{number(100 * first / cells)}%",
        width=f"{number(100 * (last + 1 - first) / cells)}%",
        y=3,
        height=HEIGHT - 6,
    )
    return tag("g", bar, class_=f"l-{one.severity}")


def _cell(index: int, mark: str, cells: int, lane: Lane, name: str) -> Html:
    first, last = index * lane.per_cell + 1, (index + 1) * lane.per_cell
    steps = f"step {first}" if first == last else f"steps {first} to {last}"
    return _rect(mark, 100 * index / cells, 100 / cells, f"{clean(name, 60)}, {steps}: {MARKS[mark]}")


def _rect(mark: str, x: float, width: float, title: str = "") -> Html:
    # Height tells the marks apart as well as colour does.
    tall = {"x": 1.0, "w": 0.8, "r": 0.5, ".": 0.25}[mark]
    said = [tag("title", title)] if title else []
    return tag(
        "rect",
        *said,
        class_=CLASSES[mark],
        x=f"{number(x)}%",
        width=f"{number(width)}%",
        y=f"{number(100 * (1 - tall))}%",
        height=f"{number(100 * tall)}%",
    )


def _counted(marks: str) -> str:
    told = [f"{marks.count(mark)} {said}" for mark, said in MARKS.items() if mark in marks]
    return ", ".join(told)
