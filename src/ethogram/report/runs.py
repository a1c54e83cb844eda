"""Agent runs in words: totals, episodes, the steps that are evidence, and path lanes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .wording import STYLES, clean, costs, plural, times

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ..app.run_record import Lane, Repeated, Run, RunEpisode
    from ..models import Detection, Event


NAME = 60
FEW = 3
"""Runs that are shown whole."""
CARDS = 5
"""Of more runs, those that are shown in a few lines each."""
CAUSES = 3
"""Causes on a card."""
ROWS = 20
"""Runs in a table."""
CELLS = 60
"""Marks of a lane that fit a narrow terminal beside the name of a folder."""
RESULT = 80
"""Characters of a result."""
Causes = Sequence[tuple["RunEpisode", str, str]]
"""Episodes of a run, one for each cause, with the other names of the cause and a sentence about it."""
HEADS = ("run", "agent", "steps", "errors", "worst", "repeated steps", "detections")


# --- words ----------------------------------------------------------------------------------


def run_name(run: Run) -> str:
    """The thread of a run; of a long one both ends, as those of many runs begin alike."""
    name = clean(run.thread, 10 * NAME)
    return name if len(name) <= NAME else f"{name[: NAME // 3]}…{name[1 - NAME * 2 // 3 :]}"


def agents_text(run: Run) -> str:
    """The first three agents; a sub-agent with the agent that started it."""
    names = [
        clean(agent.name, NAME) + (f" (started by {clean(agent.parent, NAME)})" if agent.parent else "")
        for agent in run.agents[:3]
    ]
    left = len(run.agents) - len(names)
    return ", ".join(names) + (f" and {left} more" if left else "")


def totals_text(run: Run) -> str:
    """How much was done in a run, and what it cost where that is known."""
    parts = [plural(run.steps, "step"), plural(run.errors, "error")]
    if run.changed_files:
        parts.append(f"{plural(run.changed_files, 'file')} changed")
    if run.condensations:
        parts.append(f"context condensed {times(run.condensations)}")
    return ", ".join([*parts, *costs(run.tokens, run.seconds, run.cost)])


def repeated_text(run: Run) -> str:
    """How many steps lie in stretches of repetition."""
    return f"{run.lost_steps:,} of {plural(run.steps, 'step')} ({run.lost_share:.0%})"


def cells_of(run: Run) -> tuple[str, ...]:
    """The row of a run under HEADS."""
    repeated = f"{run.lost_steps:,} ({run.lost_share:.0%})" if run.episodes else "-"
    head = (run_name(run), agents_text(run), f"{run.steps:,}", f"{run.errors:,}")
    detections = "none"
    if run.episodes:
        first = next(episode for episode in run.episodes if episode.severity == run.severity)
        left = len(run.episodes) - 1
        more = f"; {left} more" if left else ""
        detections = f"{clean(first.title or first.pattern, 80)}, {steps_text(first)}{more}"
    return (*head, run.severity or "-", repeated, detections)


def steps_text(episode: RunEpisode) -> str:
    """The stretch: 'steps 3 to 6'."""
    if episode.from_step == episode.to_step:
        return f"step {episode.from_step:,}"
    return f"steps {episode.from_step:,} to {episode.to_step:,}"


def episode_text(episode: RunEpisode, run: Run, most: int | None = None) -> str:
    """The stretch and what repeated in it, in one sentence; `most` things, the most frequent first."""
    total = next((agent.steps for agent in run.agents if agent.name == episode.subject), run.steps)
    spent = costs(episode.tokens, episode.seconds, episode.cost)
    length = ", ".join([f"{episode.steps:,} of {plural(total, 'step')}", *spent])
    text = f"{steps_text(episode).capitalize()} ({length})"
    if episode.repeated:
        text += ": " + "; ".join(map(repeated_thing, episode.repeated[:most]))
    return f"{text}."


def repeated_thing(each: Repeated) -> str:
    """What ran or failed, and how often."""
    what = f"`{clean(each.what)}`"
    if each.forms > 1:
        what = f"{each.forms:,} different actions, such as {what},"
    if each.error is None:
        return f"{what} ran {times(each.times)}"
    return f"{what} failed {times(each.times)} with the same error ({clean(each.error)})"


def outcome_text(episode: RunEpisode) -> str:
    """When it could be detected, and how it ended."""
    known = f"Detectable from step {episode.detected_step:,}."
    if episode.ended == "progress":
        return f"{known} Progress resumed at step {episode.ended_step:,}."
    if episode.ended == "stopped":
        without = ", without progress" if episode.repeated else ""
        return f"{known} It stopped at step {episode.ended_step:,}{without}."
    return f"{known} It lasted until the run ended."


def tried_text(episode: RunEpisode) -> str:
    """The other actions in between; '' where there were none."""
    return ", ".join(f"`{clean(action)}`" for action in episode.tried)


def episode_cells(run: Run, subject: str, per_cell: int) -> Sequence[tuple[int, int, RunEpisode]]:
    """The first and last cell of a lane that each episode of this agent covers."""
    return [
        ((episode.from_step - 1) // per_cell, (episode.to_step - 1) // per_cell, episode)
        for episode in run.episodes
        if episode.subject == subject
    ]


# --- the steps that are evidence ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Action:
    """One step of a run: its number, the action, and the start of its result."""

    number: int
    action: str
    result: str = ""


def evidence_steps(
    detections: Iterable[Detection], events: Any, runs: Sequence[Run]
) -> dict[tuple[str, str], Action]:
    """(source, event id) -> step, for the evidence of these detections that lies in one of the runs."""
    from ..app.run_record import AgentSteps
    from ..app.runs import batches_of

    known = {(run.source, run.thread) for run in runs}
    wanted: dict[tuple[str, str, str], set[str]] = {}
    for detection in detections:
        if detection.thread is not None and (detection.source, detection.thread) in known:
            key = (detection.source, detection.thread, detection.subject)
            wanted.setdefault(key, set()).update(evidence.event for evidence in detection.evidence)
    agents = {key: AgentSteps() for key in wanted}
    results: dict[tuple[tuple[str, str, str], int], str] = {}
    places: dict[tuple[str, str], tuple[tuple[str, str, str], int]] = {}
    for batch in batches_of(events) if wanted else ():
        for event in batch:
            key = (event.source, event.thread or "", event.subject)
            if key not in agents or not (number := agents[key].add(event)):
                continue
            if event.kind in ("action", "result"):
                results[key, number] = results.get((key, number)) or result_text(event)
            if event.id in wanted[key]:
                places[event.source, event.id] = (key, number)
    return {
        place: Action(number, agents[key].steps[number - 1].shown, results.get((key, number), ""))
        for place, (key, number) in places.items()
    }


def result_text(event: Event) -> str:
    """The error or the first line of the result of a step, masked and short; '' where none is known."""
    from ..app.run_record import failure_of, operation_at
    from ..signals.agent.shown import excerpt
    from ..signals.agent.step import read_step

    if (line := failure_of(event, operation_at(event))) is not None:
        return excerpt(line.partition("\n")[0], RESULT) or "error"
    step = read_step(event)
    text = "" if step is None or not step.is_outcome else step.result or event.text or ""
    return excerpt(text.strip().partition("\n")[0], RESULT)


# --- on a terminal --------------------------------------------------------------------------


def fleet_text(runs: Sequence[Run]) -> str:
    """How many runs there are, how many of them are stuck, and what that cost; '' without runs.

    Without a stuck run it makes no claim: the patterns of repetition may not be among those checked.
    """
    if not runs:
        return ""
    stuck = [run for run in runs if run.lost_steps]
    others = sum(bool(run.episodes) and not run.lost_steps for run in runs)
    steps = plural(sum(run.steps for run in runs), "step")
    text = plural(len(runs), "run")
    if stuck:
        known = [run.lost_tokens for run in stuck if run.lost_tokens is not None]
        tokens = f" and {plural(sum(known), 'token')}" if known else ""
        text += f", {len(stuck):,} stuck: {sum(run.lost_steps for run in stuck):,} of {steps}{tokens} lost"
    else:
        text += f" ({steps}, {plural(sum(run.errors for run in runs), 'error')})"
    return f"{text}. {others:,} with {'other ' if stuck else ''}detections." if others else f"{text}."


def run_card(run: Run, causes: Causes) -> Iterator[RenderableType]:
    """A run in a few lines: totals, each cause once with what repeated, or which paths or outputs it was
    about, and when it could have been known.
    """
    from rich.padding import Padding
    from rich.text import Text

    yield Text.assemble((run_name(run), "bold"), f" ({agents_text(run)}): {totals_text(run)}")
    for episode, also, explanation in causes[:CAUSES]:
        head = Text.assemble(
            (episode.severity.upper(), STYLES[episode.severity]),
            f"  {clean(episode.title or episode.pattern, 80)}{also}. {episode_text(episode, run, 2)}",
        )
        yield Padding(head, (0, 0, 0, 2))
        if not episode.repeated and explanation:
            yield Padding(explanation, (0, 0, 0, 2))
        yield Padding(outcome_text(episode), (0, 0, 0, 2))
    if len(causes) > CAUSES:
        yield Padding(f"and {len(causes) - CAUSES} more", (0, 0, 0, 2))


def run_table(runs: Sequence[Run]) -> Table:
    """One row for each run."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for name in HEADS:
        table.add_column(name, overflow="fold", justify="right" if name in ("steps", "errors") else "left")
    for run in runs:
        cells = cells_of(run)
        table.add_row(*cells[:4], Text(cells[4], STYLES.get(cells[4], "")), *cells[5:])
    return table


def run_lines(run: Run) -> Iterator[RenderableType]:
    """The head of a run that is shown whole: totals, task, and the steps and tokens that were lost."""
    from rich.padding import Padding
    from rich.text import Text

    lines = [f"Task: {clean(run.task)}"] if run.task else []
    if run.lost_steps:
        tokens = "" if run.lost_tokens is None else f", {plural(run.lost_tokens, 'token')}"
        lines.append(f"Lost: {repeated_text(run)}{tokens}")
    yield Text.assemble((run_name(run), "bold"), f" ({agents_text(run)}): {totals_text(run)}")
    yield from (Padding(line, (0, 0, 0, 2)) for line in lines)


def path_lines(run: Run) -> Iterator[RenderableType]:
    """The lanes of a run."""
    from rich.padding import Padding

    lines = [line for lane in run.lanes for line in lane_lines(lane, run)]
    yield from (Padding(line, (0, 0, 0, 2)) for line in lines)


def lane_lines(lane: Lane, run: Run) -> Iterator[str]:
    """Where the agent was at each step, with the detected stretches under it."""
    from ..app.run_record import narrowed

    lane = narrowed(lane, CELLS)
    each = "one mark per step" if lane.steps_per_mark == 1 else f"one mark per {lane.steps_per_mark} steps"
    under = f" under {clean(lane.under)}" if lane.under else ""
    yield f"Paths of {clean(lane.subject)}{under} ({each}: r read, w changed, x failed, . other)"
    yield from (f"  {marks}  {clean(name)}" for name, marks in lane.rows)
    cells = [" "] * max(len(marks) for _, marks in lane.rows)
    for first, last, _ in episode_cells(run, lane.subject, lane.steps_per_mark):
        cells[first : last + 1] = "^" * (last + 1 - first)
    yield f"  {''.join(cells)}  detected"
