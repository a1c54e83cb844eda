"""Runs of agents in the input: what each came to, with the episodes of its detections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import reduce
from math import fsum

from ..config import Settings
from ..ingest.batch import EventCollection, EventSequence
from ..ingest.ordering import by_order
from ..ingest.spill import EventsOnDisk
from ..models import Detection, Event, rank
from ..signals import Measurer, Options
from .readings import only_scorers
from .run_record import (
    KEYS,
    READINGS,
    STRAYS,
    Agent,
    AgentSteps,
    Repeated,
    Run,
    RunEpisode,
    RunStep,
    add_number,
    failure_of,
    has_changed,
    has_outcome,
    lane_of,
    operation_at,
    path_of,
)

MAX_REPEATED = 5
MAX_TRIED = 8
REPORT_STEPS = 10
"""Steps before the first error in which the first failure of the same test counts, too."""
MAX_FILES = 10_000
"""Changed files of one run that are counted separately."""
COSTS = ("tokens", "cost", "duration")

RunKey = tuple[str, str]
"""A source and a thread."""
StepKeys = list[tuple[int, str]]
"""Step numbers with the key of what was done or said there, in order."""


def run_report(
    detections: Iterable[Detection],
    events: EventCollection,
    *,
    as_of: datetime | None = None,
    settings: Settings | None = None,
) -> tuple[Run, ...]:
    """Return the runs among these events, in memory or on disk, the most severe first.

    A run is a thread in which somebody acts. Of runs without a detection only counts are held, and of the
    others what is shown of each step, so that the length of results does not matter.
    """
    settings = settings or Settings()
    rows = events.counts("source", "thread", "kind") if events.has("thread") else ()
    keys = {(source, thread) for source, thread, kind in rows if kind == "action" and thread is not None}
    if not keys:
        return ()
    by_run: dict[RunKey, list[Detection]] = {key: [] for key in keys}
    for detection in detections:
        if detection.thread is not None and (key := (detection.source, detection.thread)) in by_run:
            by_run[key].append(detection)
    runs = {key: RunBuilder(key, own) for key, own in by_run.items()}
    for batch in batches_of(events):
        measurer = Measurer(READINGS, Options.of(settings))
        for event in batch:
            run = runs.get((event.source, event.thread or ""))
            if run is None or event.thread is None or (as_of is not None and event.at > as_of):
                continue
            if run.detections:
                if event.scorers or settings.scorers:
                    (event,), _ = only_scorers([event], settings.scorers)
                event = measurer.measure(event)
            run.add(event)
    return tuple(sorted((run.build() for run in runs.values() if run.actions), key=lambda run: run.place))


def batches_of(events: Collection[Event]) -> Iterator[Sequence[Event]]:
    """The events in order, all at once or as they lie on disk; those of one subject are in one batch."""
    if isinstance(events, EventsOnDisk):
        return events.parts()
    return iter([events if isinstance(events, EventSequence) else sorted(events, key=by_order)])


class RunBuilder:
    """A run built from its events: those of one subject in order, subjects in any order."""

    def __init__(self, key: RunKey, detections: Iterable[Detection]) -> None:
        self.key, self.detections = key, tuple(detections)
        self.actions: Counter[str] = Counter()
        self._results = self._errors = self._condensations = 0
        self._timed = True
        self._parents: dict[str, str] = {}
        self._firsts: dict[str, tuple[datetime, int, str]] = {}
        self._sums: dict[str, dict[str, float | None]] = {name: {} for name in COSTS}
        self._files: dict[bool, set[str]] = {True: set(), False: set()}
        self._span: tuple[datetime, datetime] | None = None
        self._task: tuple[tuple[bool, datetime, int, str], str] | None = None
        self._calls: dict[tuple[str, str], tuple[str, str]] = {}
        self._steps: dict[str, AgentSteps] = {}
        self._wanted = frozenset(event for item in self.detections for event in event_ids(item))

    def add(self, event: Event) -> None:
        first, last = self._span or (event.at, event.at)
        self._span = (min(first, event.at), max(last, event.at))
        self._timed = self._timed and event.timed
        for name, sums in self._sums.items():
            if (value := event.attributes.get(name)) is not None:
                sums[event.subject] = add_number(sums.get(event.subject), value)
        self._read_task(event)
        if event.kind in ("action", "result"):
            self._count(event)
        elif event.kind == "condensation":
            self._condensations += 1
        if self.detections:
            self._steps.setdefault(event.subject, AgentSteps(self._wanted)).add(event)

    def _count(self, event: Event) -> None:
        if event.kind == "action":
            self.actions[event.subject] += 1
            self._firsts.setdefault(event.subject, event.order)
            if isinstance(parent := event.attributes.get("parent"), str):
                self._parents.setdefault(event.subject, parent)
        else:
            self._results += 1
        operation, path = self._call(event)
        self._errors += failure_of(event, operation) is not None
        files = self._files[has_outcome(event)]
        if path and has_changed(event, operation) and len(files) < MAX_FILES:
            files.add(path)

    def _call(self, event: Event) -> tuple[str, str]:
        """The operation and path of an action, or of the one a result belongs to: without an id, the last."""
        call = event.attributes.get("call_id")
        key = (event.subject, call if isinstance(call, str) else "")
        if event.kind != "action" and key in self._calls:
            return self._calls.pop(key) if key[1] else self._calls[key]
        own = operation_at(event), path_of(event)
        if event.kind == "action":
            self._calls[key] = self._calls[event.subject, ""] = own
        return own

    def _read_task(self, event: Event) -> None:
        """The task is the attribute `task`, else the first message of a user."""
        task = event.attributes.get("task")
        stated = isinstance(task, str) and bool(task.strip())
        if not stated and not (event.kind == "message" and event.attributes.get("role") == "user"):
            return
        text, place = task if stated else event.text, (not stated, *event.order)
        if isinstance(text, str) and text.strip() and (self._task is None or place < self._task[0]):
            self._task = (place, text)

    def _sum(self, name: str) -> float | None:
        # Exact, so that the order of subjects makes no difference.
        known = [value for value in self._sums[name].values() if value is not None]
        return fsum(known) if known else None

    def build(self) -> Run:
        first, last = self._span if self._timed and self._span else (None, None)
        seconds = self._sum("duration") if first is None or last is None else (last - first).total_seconds()
        names = sorted(self.actions, key=lambda name: (name in self._parents, self._firsts[name]))
        run = Run(
            source=self.key[0],
            thread=self.key[1],
            stated_task=self._task[1] if self._task else None,
            agents=tuple(Agent(name, self._parents.get(name), self.actions[name]) for name in names),
            results=self._results,
            errors=self._errors,
            # A call alone has changed nothing where results say how the calls ended.
            changed_files=len(self._files[True] if self._results else self._files[True] | self._files[False]),
            condensations=self._condensations,
            tokens=_rounded(self._sum("tokens")),
            cost=self._sum("cost"),
            seconds=seconds,
            first_at=first,
            last_at=last,
        )
        own = [item for item in self.detections if item.subject in self.actions]
        episodes = [episode_of(item, self._steps[item.subject], timed=self._timed) for item in own]
        lost: dict[str, set[int]] = {episode.subject: set() for episode in episodes}
        for episode in episodes:
            if episode.repeated:
                lost[episode.subject].update(range(episode.from_step, episode.to_step + 1))
        episodes.sort(key=lambda item: (item.from_step, item.to_step, -rank(item.severity), item.pattern))
        episodes.sort(key=lambda item: names.index(item.subject))
        return replace(
            run,
            episodes=tuple(episodes),
            lost_steps=sum(map(len, lost.values())),
            lost_tokens=_rounded(
                _total(self._steps[name].steps[n - 1].tokens for name, own in lost.items() for n in own)
            ),
            lanes=tuple(lane_of(name, self._steps[name].steps) for name in names if name in lost),
        )


def episode_of(detection: Detection, agent: AgentSteps, *, timed: bool) -> RunEpisode:
    """Return where in the steps of its agent a detection lies. There must be at least one step."""
    steps, numbers = agent.steps, agent.numbers
    detected = agent.number(detection.fired_event, detection.detected_at)
    since = min([detected, *(numbers[event] for event in event_ids(detection) if event in numbers)])
    last = max(detected, numbers.get(detection.last_event, detected))
    name = repeated_reading(detection)
    keyed = step_keys(steps, name)
    if name == "error_key":
        since = first_report(steps, dict(keyed), since)
    core = core_keys(keyed, since, detected, last)
    strays = [n for n, step in enumerate(steps, 1) if step.strays] if is_scope(detection) else []
    if strays:
        first, last = min(strays[0], detected), max(strays[-1], detected)
    elif core:
        first = first_step(steps, keyed, core, name, since, detected)
        last = max([detected, *(n for n, key in keyed if key in core and n <= last)])
    else:
        first = min(numbers.get(detection.first_event, detected), detected)
    goes_on = detection.closed_at is None and not core and not strays
    ended, ended_step = ("run_ended", None) if goes_on else end_of(steps, last)
    if strays and ended_step is not None:
        ended, ended_step = "stopped", last + 1
    stretch = steps[first - 1 : last]
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
        steps=last - first + 1,
        tokens=_rounded(_total(step.tokens for step in stretch)),
        seconds=seconds_in(stretch, timed=timed),
        cost=_total(step.cost for step in stretch),
        repeated=repeated,
        tried=tried_in(stretch, name, core, {item.what for item in repeated}),
        ended=ended,
        ended_step=ended_step,
        recommendation=detection.recommendation,
    )


def is_scope(detection: Detection) -> bool:
    """Return whether a detection is about paths outside the task, which have steps of their own."""
    return any(name in evidence.readings for evidence in detection.evidence for name in STRAYS)


def event_ids(detection: Detection) -> Iterator[str]:
    """Yield every event a detection names."""
    yield from (detection.first_event, detection.last_event, detection.fired_event)
    yield from (evidence.event for evidence in detection.evidence)


def repeated_reading(detection: Detection) -> str:
    """Return the signal by which a detection compares steps; '' if it is about something else."""
    fired = [evidence for evidence in detection.evidence if evidence.event == detection.fired_event]
    ordered = (*fired, *reversed(detection.evidence))
    return next((name for evidence in ordered for name in KEYS if name in evidence.readings), "")


def step_keys(steps: Sequence[RunStep], name: str) -> StepKeys:
    """Return the keys of each step; one may have several messages, and one without a reading is left out."""
    if name == "talk_key":
        return [(n, key) for n, step in enumerate(steps, 1) for key, _ in step.messages]
    keyed = [(n, step.keys[name]) for n, step in enumerate(steps, 1) if name in step.keys]
    if name != "error_key":
        return keyed
    # A failing test is no error until it fails in the same words again, and then the first time was one, too.
    known = {
        step.keys["step_key"]: step.keys[name] for step in steps if {name, "step_key"} <= step.keys.keys()
    }
    first = [
        (n, known[key])
        for n, step in enumerate(steps, 1)
        if name not in step.keys and step.error and (key := step.keys.get("step_key")) in known
    ]
    return sorted([*keyed, *first])


def first_report(steps: Sequence[RunStep], keyed: Mapping[int, str], since: int) -> int:
    """Return the step at which the error of a step first came, where that was not yet taken for an error."""
    earlier = range(max(1, since - REPORT_STEPS), since)
    own = (n for n in earlier if "error_key" not in steps[n - 1].keys and keyed.get(n) == keyed.get(since))
    return next((n for n in own if n in keyed), since)


def core_keys(keyed: StepKeys, since: int, detected: int, last: int) -> set[str]:
    """Return the keys that repeat from the first evidence on, and still occur when it is detected."""
    counts = Counter(key for n, key in keyed if since <= n <= last)
    return {key for n, key in keyed if detected <= n <= last and counts[key] > 1}


def first_step(
    steps: Sequence[RunStep], keyed: StepKeys, core: set[str], name: str, since: int, detected: int
) -> int:
    """Return the first step, not before `since`, that has one of the keys.

    An error may recur in spite of progress in between. An equal step is no repetition of one before
    progress, so that the search ends there.
    """
    first = detected
    own = {n for n, key in keyed if key in core}
    for number in range(detected, since - 1, -1):
        if number in own:
            first = number
        elif name == "step_key" and steps[number - 1].progress:
            break
    return first


def repeated_in(stretch: Sequence[RunStep], name: str, core: set[str]) -> Iterator[Repeated]:
    """Return what recurred in a stretch, the most frequent first; what looks the same is listed once."""
    keyed = step_keys(stretch, name)
    counts: Counter[tuple[str, str | None]] = Counter()
    forms: dict[tuple[str, str | None], set[str]] = {}
    for key, times in Counter(key for _, key in keyed if key in core).items():
        own = [stretch[n - 1] for n, other in keyed if other == key]
        shown = _shown(own, name, key)
        counts[shown] += times
        forms.setdefault(shown, set()).update(step.shown for step in own)
    for shown, times in counts.most_common(MAX_REPEATED):
        count = 1 if name == "talk_key" else len(forms[shown])
        yield Repeated(what=shown[0], times=times, error=shown[1], forms=count)


def _shown(steps: Sequence[RunStep], name: str, key: str) -> tuple[str, str | None]:
    """The most frequent form of the actions or words with one key, and the error if they met one."""
    if name == "talk_key":
        return next(text for step in steps for other, text in step.messages if other == key), None
    what = Counter(step.shown for step in steps).most_common(1)[0][0]
    return what, next((step.error for step in steps if step.error), None)


def tried_in(stretch: Sequence[RunStep], name: str, core: set[str], repeated: set[str]) -> tuple[str, ...]:
    """Return what else was done between the repetitions, each thing once, in order."""
    if not core:
        return ()
    others = dict.fromkeys(step.shown for step in stretch if step.keys.get(name) not in core)
    return tuple(shown for shown in others if shown not in repeated)[:MAX_TRIED]


def end_of(steps: Sequence[RunStep], last: int) -> tuple[str, int | None]:
    """Return how a stretch that ends at this step ended, and at which step."""
    if last >= len(steps):
        return "run_ended", None
    progress = next((n for n, step in enumerate(steps[last:], last + 1) if step.progress), None)
    return ("stopped", last + 1) if progress is None else ("progress", progress)


def seconds_in(steps: Sequence[RunStep], *, timed: bool) -> float | None:
    """Return how long some steps took: by the clock, or else by their durations."""
    if timed:
        return (max(step.until for step in steps) - steps[0].at).total_seconds() if steps else None
    return _total(step.duration for step in steps)


def _total(values: Iterable[float | None]) -> float | None:
    return reduce(add_number, values, None)


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)
