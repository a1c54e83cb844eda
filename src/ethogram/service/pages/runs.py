"""Pages of agent runs: the fleet, and one run step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from ...app.run_record import READINGS, AgentSteps, Run, RunEpisode
from ...app.runs import run_report
from ...ingest.batch import sequence_of
from ...models import Detection, Event, highest
from ...report.runs import cells_of, fleet_text, result_text
from ...report.svg import percent, tag
from ...report.wording import clean, plural
from ...signals import Measurer, Options
from ...store.rows import MARK
from ...store.windows import Thread, ThreadRow, thread_events, threads, within
from ..html import Part, render
from ..request_checks import Refused
from ..routes import CanRead, Offset, Running
from ..state import Service

router = APIRouter(include_in_schema=False)
FLEET = 200
"""Runs in one view of the fleet, the newest."""
ACTIONS = 5_000
"""Actions of these runs together."""
STEPS = 300
"""Steps shown of one run; of more, those around the episodes."""
AROUND = 3
DAYS = 60


@router.get("/runs")
def runs_page(request: Request, service: Running, key: CanRead, offset: Offset = 0) -> Response:
    """The fleet: which runs are stuck, and what that cost."""
    service.note_look(key, "runs")
    rows, total = threads(service.store, "action", limit=FLEET, offset=offset)
    rows = list(within(rows, ACTIONS))
    events = events_of(service, rows)
    runs = runs_of(service, events)
    models = models_of(events)
    lost = [run for run in runs if run.lost_steps]
    steps = sum(run.steps for run in runs)
    tokens = [run.lost_tokens for run in runs if run.lost_tokens is not None]
    return render(
        request,
        "runs.html",
        found=[(run, cells_of(run)) for run in runs if run.episodes],
        quiet=[(run, cells_of(run)) for run in runs if not run.episodes],
        sentence=fleet_text(runs) if runs else "",
        total=total,
        next=offset + len(rows) if offset + len(rows) < total else None,
        tiles=[
            (plural(len(runs), "run"), ""),
            (f"{sum(bool(run.episodes) for run in runs):,} with detections", "high"),
            (f"{sum(run.lost_steps for run in runs):,} of {plural(steps, 'step')} repeated", "medium"),
            (f"{sum(tokens):,} tokens repeated" if tokens else "tokens not stated", "low"),
        ],
        stuck=len(lost),
        by_agent=totals(runs, lambda run: [agent.name for agent in run.agents]),
        by_model=totals(runs, lambda run: sorted(models.get((run.source, run.thread), ()))),
        days=days_chart(runs),
        bare=is_bare(events),
    )


def events_of(service: Service, rows: Sequence[ThreadRow]) -> list[Event]:
    """The events of these runs."""
    return thread_events(service.store, [(row.source, row.thread) for row in rows])


def runs_of(service: Service, events: Sequence[Event]) -> tuple[Run, ...]:
    """The runs among events, with their standing detections, the most severe first."""
    who = {(event.source, event.subject) for event in events}
    detections = standing(service.store.detections(subjects=who, parts=False)) if who else []
    return run_report(detections, sequence_of(events), settings=service.settings)


def standing(detections: Iterable[Detection]) -> list[Detection]:
    """Detections that count."""
    return [item for item in detections if item.status != "shadow"]


def is_bare(events: Iterable[Event]) -> bool:
    """Whether the texts of steps were not stored."""
    return any(MARK in event.attributes for event in events)


def models_of(events: Iterable[Event]) -> dict[Thread, set[str]]:
    """The models that the events of each run name."""
    models: dict[Thread, set[str]] = {}
    for event in events:
        name = event.attributes.get("model")
        if isinstance(name, str) and event.thread is not None:
            models.setdefault((event.source, event.thread), set()).add(name)
    return models


class Total(NamedTuple):
    """Runs, steps and repeated steps of an agent or model."""

    name: str
    runs: int
    found: int
    steps: int
    lost: int
    severity: str

    @property
    def share(self) -> float:
        return self.lost / self.steps if self.steps else 0.0


def totals(runs: Sequence[Run], names: Callable[[Run], Sequence[str]]) -> list[Total]:
    """Sums by name, those with the most repeated steps first."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        for name in names(run):
            groups.setdefault(name, []).append(run)
    rows = [
        Total(
            name,
            len(own),
            sum(bool(run.episodes) for run in own),
            sum(run.steps for run in own),
            sum(run.lost_steps for run in own),
            highest(*(run.severity for run in own if run.severity))
            if any(run.severity for run in own)
            else "",
        )
        for name, own in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row.lost, -row.found, row.name))[:20]


def days_chart(runs: Sequence[Run]) -> Markup:
    """Runs by the day they ended, those with detections apart; nothing where all are of one day."""
    by_day: dict[date, list[bool]] = {}
    for run in runs:
        if run.last_at is not None:
            by_day.setdefault(run.last_at.date(), []).append(bool(run.episodes))
    if len(by_day) < 2:
        return Markup("")
    first, last = min(by_day), max(by_day)
    size = min(DAYS, (last - first).days + 1)
    most = max(map(len, by_day.values()))
    bars = []
    for day, found in sorted(by_day.items()):
        place = size - 1 - (last - day).days
        if place < 0:
            continue
        title = tag("title", f"{day}: {plural(len(found), 'run')}, {sum(found)} with detections")
        box = {"x": percent(100 * place / size), "width": percent(80 / size)}
        for count, name in ((len(found), "all"), (sum(found), "stuck")):
            high = 70 * count / most
            bars.append(tag("rect", title, class_=name, y=72 - high, height=high, **box))
    words = [
        tag("text", str(first if size <= DAYS else last), x=0, y=88),
        tag("text", str(last), x="100%", y=88, text_anchor="end"),
    ]
    label = f"Runs by day, {first} to {last}: at most {most} a day"
    return tag("svg", *bars, *words, class_="plot", width="100%", height=92, role="img", aria_label=label)


# --- one run --------------------------------------------------------------------------------


class StepRow(NamedTuple):
    """A step: the `episodes` it lies in, those that begin with it, and the steps left out before it."""

    number: int
    shown: str
    result: str
    error: str | None
    at: str
    episodes: tuple[RunEpisode, ...]
    begins: tuple[RunEpisode, ...]
    gap: int


@router.get("/runs/{source}/{thread}")
def run_page(
    request: Request, service: Running, key: CanRead, source: Part, thread: Part, whole: bool = False
) -> Response:
    """One run: its steps with the episodes of its detections."""
    service.note_look(key, "run")
    events = thread_events(service.store, [(source, thread)])
    runs = runs_of(service, events)
    if not runs:
        raise Refused(404, "not_found", f"no run is named {thread!r:.80}")
    run = runs[0]
    measurer = Measurer(READINGS, Options.of(service.settings))
    measured = [measurer.measure(event) for event in events]
    return render(
        request,
        "run.html",
        run=run,
        models=sorted(models_of(events).get((source, thread), ())),
        agents=[
            (agent, list(step_rows(run, agent.name, measured, whole=whole)), whole or agent.steps <= STEPS)
            for agent in run.agents
        ],
        bare=is_bare(events),
    )


def step_rows(run: Run, agent: str, events: Sequence[Event], *, whole: bool) -> Iterator[StepRow]:
    """The steps of one agent; of many, those in and around episodes, unless `whole`."""
    taken, timed = AgentSteps(), True
    results: dict[int, str] = {}
    for event in events:
        if event.subject == agent:
            timed = timed and event.timed
            number = taken.add(event)
            if event.kind in ("action", "result"):
                results[number] = results.get(number) or result_text(event)
    episodes = [episode for episode in run.episodes if episode.subject == agent]
    size = len(taken.steps)
    wanted = set(range(1, size + 1))
    if size > STEPS and not whole:
        wanted = {1, size} if episodes else set(range(1, STEPS + 1))
        for episode in episodes:
            low, high = max(1, episode.from_step - AROUND), min(size, episode.to_step + AROUND)
            # Of a long episode both ends are enough to see what repeats.
            wanted |= set(range(low, min(high, low + 40) + 1)) | set(range(max(low, high - 10), high + 1))
    last = 0
    for number in sorted(wanted):
        step = taken.steps[number - 1]
        own = tuple(item for item in episodes if item.from_step <= number <= item.to_step)
        yield StepRow(
            number,
            step.shown,
            "" if step.error else clean(results.get(number, ""), 160),
            step.error,
            step.at.strftime("%H:%M:%S") if timed else "",
            own,
            tuple(item for item in own if item.from_step == number),
            number - last - 1,
        )
        last = number
