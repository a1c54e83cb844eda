"""Runs of agents in the input: what each came to, with the episodes found in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from math import fsum

from ..config import Settings
from ..ingest.ordering import by_order
from ..ingest.spill import EventsOnDisk, event_of_row, rows_of
from ..models import Detection, Event, rank
from ..signals import Measurer, Options
from .readings import only_scorers
from .run_record import Agent, Repeated, Run, RunEpisode, lane_of
from .run_steps import (
    KEYS,
    READINGS,
    Step,
    Walked,
    added,
    failed_with,
    has_changed,
    operation_at,
    path_of,
    short,
)

# Episodes of runs: a detection as a stretch of steps, with what repeated in it and what else was tried.

MOST_REPEATED = 5
MOST_TRIED = 8

Keyed = list[tuple[int, str]]
"""Step numbers with the key of what was done or said there, in order."""


def episode_of(detection: Detection, walked: Walked) -> RunEpisode:
    """Where in the steps of its agent a detection lies. There must be at least one step."""
    detected = walked.number(detection.fired_event, detection.detected_at)
    since = min(
        [detected, *(walked.places[event] for event in event_ids(detection) if event in walked.places)]
    )
    last = max(detected, walked.places.get(detection.last_event, detected))
    name = repeated_name(detection)
    keyed = keys_of(walked.steps, name)
    core = core_keys(keyed, since, detected, last)
    opened = walked.places.get(detection.first_event, detected)
    first = first_step(walked.steps, keyed, core, name, since, detected) if core else min(opened, detected)
    if core:
        last = max([detected, *(n for n, key in keyed if key in core and n <= last)])
    goes_on = detection.closed_at is None and not core
    ended, ended_step = ("run_ended", None) if goes_on else end_of(walked.steps, last)
    stretch = walked.steps[first - 1 : last]
    repeated = tuple(repeated_in(stretch, name, core))
    return RunEpisode(
        detection=detection.id,
        pattern=detection.pattern,
        title=detection.title,
        subject=detection.subject,
        severity=detection.severity,
        confidence=detection.confidence,
        from_step=first,
        to_step=last,
        detected_step=detected,
        tokens=whole_number(total([step.tokens for step in stretch])),
        seconds=None,
        cost=total([step.cost for step in stretch]),
        repeated=repeated,
        tried=tried_in(stretch, name, core, {each.what for each in repeated}),
        ended=ended,
        ended_step=ended_step,
        recommendation=detection.recommendation,
    )


def event_ids(detection: Detection) -> Iterator[str]:
    """Every event a detection names."""
    yield from (detection.first_event, detection.last_event, detection.fired_event)
    yield from (evidence.event for evidence in detection.evidence)


def repeated_name(detection: Detection) -> str:
    """The reading by which a detection tells what is the same; '' where it goes by something else."""
    fired = [evidence for evidence in detection.evidence if evidence.event == detection.fired_event]
    for evidence in (*fired, *reversed(detection.evidence)):
        for name in KEYS:
            if name in evidence.readings:
                return name
    return ""


def keys_of(steps: Sequence[Step], name: str) -> Keyed:
    """What each step is known by; a step may say several things, and one without a reading is left out."""
    if name == "talk_key":
        return [(n, key) for n, step in enumerate(steps, 1) for key, _ in step.said]
    return [(n, step.keys[name]) for n, step in enumerate(steps, 1) if name in step.keys]


def core_keys(keyed: Keyed, since: int, detected: int, last: int) -> set[str]:
    """The keys that repeat from the first evidence on, and still come when it is known."""
    counts = Counter(key for n, key in keyed if since <= n <= last)
    late = {key for n, key in keyed if detected <= n <= last}
    return {key for key in late if counts[key] > 1}


def first_step(
    steps: Sequence[Step], keyed: Keyed, core: set[str], name: str, since: int, detected: int
) -> int:
    """Where it began: the first step, not before `since`, that has one of the keys.

    The same error may come again in spite of what was achieved in between; the same step is another matter,
    so that looking back ends where something else that was new was done.
    """
    found = detected
    own = {n for n, key in keyed if key in core}
    for number in range(detected, since - 1, -1):
        if number in own:
            found = number
        elif name == "step_key" and steps[number - 1].progress:
            break
    return found


def repeated_in(stretch: Sequence[Step], name: str, core: set[str]) -> Iterator[Repeated]:
    """What came again in a stretch, the most frequent first; what looks the same is told once."""
    keyed = keys_of(stretch, name)
    counts: Counter[tuple[str, str | None]] = Counter()
    for key, times in Counter(key for _, key in keyed if key in core).items():
        counts[_shown([stretch[n - 1] for n, other in keyed if other == key], name, key)] += times
    return (Repeated(what, times, error) for (what, error), times in counts.most_common(MOST_REPEATED))


def _shown(steps: Sequence[Step], name: str, key: str) -> tuple[str, str | None]:
    """The action or words that have one key, as they were most often, and the error if they met one."""
    if name == "talk_key":
        return next(said for step in steps for other, said in step.said if other == key), None
    what = Counter(step.shown for step in steps).most_common(1)[0][0]
    return what, next((step.error for step in steps if step.error), None)


def tried_in(stretch: Sequence[Step], name: str, core: set[str], texts: set[str]) -> tuple[str, ...]:
    """What else was done between the repetitions, each thing once, in order."""
    if not core:
        return ()
    others = [step.shown for step in stretch if step.keys.get(name) not in core]
    return tuple(fromkey for fromkey in dict.fromkeys(others) if fromkey not in texts)[:MOST_TRIED]


def end_of(steps: Sequence[Step], last: int) -> tuple[str, int | None]:
    """How a stretch that ends at this step ended, and at which step."""
    if last >= len(steps):
        return "run_ended", None
    new = next((n for n, step in enumerate(steps[last:], last + 1) if step.progress), None)
    return ("stopped", last + 1) if new is None else ("progress", new)


def seconds_in(steps: Sequence[Step], *, timed: bool) -> float | None:
    """How long some steps took: by the clock, or else by what their results say."""
    if timed:
        return (max(step.until for step in steps) - steps[0].at).total_seconds() if steps else None
    return total([step.duration for step in steps])


def total(values: Sequence[float | None]) -> float | None:
    """The sum of what is known; None where nothing is."""
    value: float | None = None
    for item in values:
        value = added(value, item)
    return value


def whole_number(value: float | None) -> int | None:
    """A count that came as a number of any kind."""
    return None if value is None else round(value)


# Tally: what is counted of one run while its events come.

TASK = 200
"""Characters of a task that are shown."""
MOST_FILES = 10_000
"""Changed files of one run that are told apart."""
COSTS = ("tokens", "cost", "duration")

Key = tuple[str, str]
"""A source and a thread."""


class Tally:
    """One run while its events come: those of one subject in order, subjects in any order."""

    def __init__(self, key: Key, found: Iterable[Detection]) -> None:
        self.key, self.found = key, tuple(found)
        self.acts: dict[str, int] = {}
        self.results = self.errors = self.condensations = 0
        self.timed = True
        self._parents: dict[str, str] = {}
        self._firsts: dict[str, tuple[datetime, int, str]] = {}
        self._sums: dict[str, dict[str, float | None]] = {name: {} for name in COSTS}
        self._files: set[str] = set()
        self._span: tuple[datetime, datetime] | None = None
        self._task: tuple[tuple[bool, datetime, int, str], str] | None = None
        self._calls: dict[tuple[str, str], tuple[str, str]] = {}
        self._walked: dict[str, Walked] = {}
        self._wanted = frozenset(event for item in self.found for event in event_ids(item))

    def add(self, event: Event) -> None:
        """One event more."""
        first, last = self._span or (event.at, event.at)
        self._span = (min(first, event.at), max(last, event.at))
        self.timed = self.timed and event.timed
        for name, sums in self._sums.items():
            if (attribute := event.attributes.get(name)) is not None:
                sums[event.subject] = added(sums.get(event.subject), attribute)
        self._hear(event)
        if event.kind in ("action", "result"):
            self._count(event)
        elif event.kind == "condensation":
            self.condensations += 1
        if self.found:
            self._walked.setdefault(event.subject, Walked(self._wanted)).add(event)

    def _count(self, event: Event) -> None:
        if event.kind == "action":
            self.acts[event.subject] = self.acts.get(event.subject, 0) + 1
            self._firsts.setdefault(event.subject, event.order)
            if isinstance(parent := event.attributes.get("parent"), str):
                self._parents.setdefault(event.subject, parent)
        else:
            self.results += 1
        operation, path = self._call(event)
        self.errors += failed_with(event, operation) is not None
        if path and has_changed(event, operation) and len(self._files) < MOST_FILES:
            self._files.add(path)

    def _call(self, event: Event) -> tuple[str, str]:
        """The operation and path of an action, or of that a result belongs to: without an id, the last."""
        call = event.attributes.get("call_id")
        key = (event.subject, call if isinstance(call, str) else "")
        made = operation_at(event), path_of(event)
        if event.kind == "action":
            self._calls[key] = self._calls[event.subject, ""] = made
            return made
        known = self._calls.get(key, made)
        if key[1]:
            self._calls.pop(key, None)
        return known

    def _hear(self, event: Event) -> None:
        """What the run is about: its attribute says so, or else the first that a user said."""
        task = event.attributes.get("task")
        stated = isinstance(task, str) and bool(task.strip())
        if not stated and not (event.kind == "message" and event.attributes.get("role") == "user"):
            return
        said, place = task if stated else event.text, (not stated, *event.order)
        if isinstance(said, str) and said.strip() and (self._task is None or place < self._task[0]):
            self._task = (place, short(said, TASK))

    def _sum(self, name: str) -> float | None:
        # Exact, so that the order in which subjects come makes no difference.
        known = [item for item in self._sums[name].values() if item is not None]
        return fsum(known) if known else None

    def run(self) -> Run:
        """The run as it is told."""
        first, last = self._span if self.timed and self._span else (None, None)
        took = self._sum("duration") if first is None or last is None else (last - first).total_seconds()
        run = Run(
            source=self.key[0],
            thread=self.key[1],
            task=self._task[1] if self._task else None,
            agents=tuple(
                Agent(name, self._parents.get(name), self.acts[name])
                for name in sorted(self.acts, key=lambda name: (name in self._parents, self._firsts[name]))
            ),
            results=self.results,
            errors=self.errors,
            changed_files=len(self._files),
            condensations=self.condensations,
            tokens=whole_number(self._sum("tokens")),
            cost=self._sum("cost"),
            seconds=took,
            first_at=first,
            last_at=last,
        )
        return self._with_episodes(run)

    def _with_episodes(self, run: Run) -> Run:
        ours = [item for item in self.found if item.subject in self.acts]
        if not ours:
            return run
        episodes = []
        inside: dict[str, set[int]] = {}
        for our in ours:
            walked = self._walked[our.subject]
            run_episode = episode_of(our, walked)
            steps = range(run_episode.from_step, run_episode.to_step + 1) if run_episode.repeated else ()
            inside.setdefault(our.subject, set()).update(steps)
            took = seconds_in(walked.steps[run_episode.from_step - 1 : run_episode.to_step], timed=self.timed)
            episodes.append(replace(run_episode, seconds=took))
        order = [agent.name for agent in run.agents]
        episodes.sort(
            key=lambda episode: (
                order.index(episode.subject),
                episode.from_step,
                episode.to_step,
                -rank(episode.severity),
                episode.pattern,
            )
        )
        return replace(
            run,
            episodes=tuple(episodes),
            lost_steps=sum(map(len, inside.values())),
            lanes=tuple(lane_of(name, self._walked[name].steps) for name in order if name in inside),
        )


# Run report: every run of an agent in the input, with what was found in it; the gravest first.


def run_report(
    detections: Iterable[Detection],
    events: Collection[Event],
    *,
    as_of: datetime | None = None,
    settings: Settings | None = None,
) -> tuple[Run, ...]:
    """The runs among these events, in memory or on disk, ranked; () where there are none.

    A run is a thread in which somebody acts. Of runs without a detection only counts are held, and of the
    others what is shown of each step, so that it does not matter how long their results are.
    """
    settings = settings or Settings()
    keys = runs_among(events)
    if not keys:
        return ()
    record: dict[Key, list[Detection]] = {}
    for detection in detections:
        if detection.thread is not None and (key := (detection.source, detection.thread)) in keys:
            record.setdefault(key, []).append(detection)
    runs = {key: Tally(key, record.get(key, ())) for key in keys}
    for lot in lots(events):
        seen = (event for event in lot if as_of is None or event.at <= as_of)
        ours = (event for event in seen if event.thread is not None and (event.source, event.thread) in keys)
        count(runs, ours, settings)
    return tuple(sorted((tally.run() for tally in runs.values() if tally.acts), key=lambda item: item.place))


def runs_among(events: Iterable[Event]) -> set[Key]:
    """The threads in which somebody acts."""
    return {
        (event.source, event.thread)
        for event in events
        if event.kind == "action" and event.thread is not None
    }


def lots(events: Collection[Event]) -> Iterator[list[Event]]:
    """The events in order, all at once or as they lie on disk; those of one subject are in one lot."""
    if isinstance(events, EventsOnDisk):
        for path in events.buckets.paths:
            yield sorted((event_of_row(row) for row in rows_of(path)), key=by_order)
    else:
        yield sorted(events, key=by_order)


def count(runs: dict[Key, Tally], events: Iterable[Event], settings: Settings) -> None:
    """Add events to their runs; where something was found, with the readings that say what is the same."""
    measurer = Measurer(READINGS, Options.of(settings))
    for event in events:
        tally = runs[event.source, event.thread or ""]
        if tally.found:
            (event,), _ = only_scorers([event], settings.scorers)
            event = measurer.measure(event)
        tally.add(event)
