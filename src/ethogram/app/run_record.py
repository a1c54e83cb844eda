"""Runs of agents: their steps, short and masked, the episodes of detections, and path lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from itertools import takewhile
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from ..fields import Amount, Count, Name, Ordinal, Ratio, Severity, one_of
from ..models import Event, rank
from ..models.record import Record, decimals
from ..models.slotted import dataclass, field
from ..signals.agent.errors import failure_line
from ..signals.agent.operations import operation_of
from ..signals.agent.shown import excerpt, shown_call
from ..signals.agent.step import read_step

MAX_PATH = 400
MAX_TASK = 200
TASK = "What it is about, masked and cut; null: not known."
KEYS = ("error_key", "step_key", "talk_key")
STRAYS = ("out_of_scope", "critical_path")
READINGS = (*KEYS, *STRAYS, "operation", "progress", "changed", "touched_path")
"""Signals measured of runs with a detection."""
READS = frozenset({"read", "list", "search", "fetch"})
WRITES = frozenset({"write", "delete"})


@dataclass(slots=True)
class RunStep:
    """One action of one agent, with its results and the agent's messages before the next action.

    `messages` are pairs of key and excerpt. Tokens, cost and duration are None where nothing states them.
    """

    at: datetime
    until: datetime
    shown: str = ""
    path: str = ""
    operation: str = "other"
    error: str | None = None
    keys: dict[str, str] = field(default_factory=dict)
    messages: list[tuple[str, str]] = field(default_factory=list)
    progress: bool = False
    strays: bool = False
    """Whether it touched a path outside the task."""
    tokens: float | None = None
    cost: float | None = None
    duration: float | None = None

    def add(self, event: Event) -> None:
        """Add an event that belongs to this step."""
        attributes = event.attributes
        self.until = max(self.until, event.at)
        self.tokens = add_number(self.tokens, attributes.get("tokens"))
        self.cost = add_number(self.cost, attributes.get("cost"))
        self.duration = add_number(self.duration, attributes.get("duration"))
        self.progress = self.progress or event.readings.get("progress") == 1
        self.strays = self.strays or any(event.readings.get(name) == 1 for name in STRAYS)
        self.path = self.path or path_of(event)
        if event.kind in ("action", "result") and not self.error:
            line = failure_of(event, self.operation)
            self.error = None if line is None else excerpt(line.partition("\n")[0]) or "error"
        for name in KEYS:
            if isinstance(key := event.readings.get(name), str):
                # The first call of a run is read at once, and again with its result.
                self.keys[name] = key if event.kind == "result" else self.keys.get(name, key)
                if name == "talk_key":
                    self.messages.append((key, excerpt(event.text or event.kind)))


class AgentSteps:
    """The steps of one agent in one run, from its events in order; `wanted` are event ids to locate."""

    def __init__(self, wanted: frozenset[str] = frozenset()) -> None:
        self.steps: list[RunStep] = []
        self.numbers: dict[str, int] = {}
        self._wanted = wanted
        self._calls: dict[str, int] = {}
        self._early: RunStep | None = None

    def add(self, event: Event) -> int:
        """Add an event and return its step, 0 before the first action; such events count to that."""
        call, number = _text(event.attributes.get("call_id")), max(len(self.steps), 1)
        if event.kind == "action":
            number = len(self.steps) + 1
            if call:
                self._calls[call] = number
            step, self._early = self._early or RunStep(event.at, event.at), None
            step.at, step.shown, step.path = event.at, shown_action(event), path_of(event)
            step.operation = operation_at(event)
            self.steps.append(step)
        elif event.kind == "result":
            number = self._calls.get(call, number)
        if event.id in self._wanted:
            self.numbers[event.id] = number
        if self.steps:
            self.steps[number - 1].add(event)
            return number
        self._early = self._early or RunStep(event.at, event.at)
        self._early.add(event)
        return 0

    def number(self, event: str, at: datetime) -> int:
        """Return the step, from 1, of an event; of an unknown one, the last that had begun at that time."""
        if event in self.numbers:
            return self.numbers[event]
        return max((n for n, step in enumerate(self.steps, 1) if step.at <= at), default=1)


def operation_at(event: Event) -> str:
    """Return what an action does; a reading that came with it wins."""
    reading, step = event.readings.get("operation"), read_step(event)
    return reading if isinstance(reading, str) else "other" if step is None else operation_of(step)


def failure_of(event: Event, operation: str) -> str | None:
    """Return the line that states how an action or result failed; None if it did not."""
    key, line = event.readings.get("error_key"), None
    code, error = event.attributes.get("exit_code"), event.attributes.get("error")
    if error is not None or code != 0 or not isinstance(code, int):  # else it ended well, as mostly
        step = read_step(event)
        line = failure_line(step, operation) if step is not None and step.is_outcome else None
    return key if line is None and isinstance(key, str) else line


def has_changed(event: Event, operation: str) -> bool:
    """Return whether an action or result changed a file or other state."""
    if (changed := event.readings.get("changed")) is not None:
        return changed == 1
    return operation in WRITES and has_outcome(event) and failure_of(event, operation) is None


def has_outcome(event: Event) -> bool:
    """Return whether an event says how an action ended."""
    step = read_step(event)
    return step is not None and step.is_outcome


def path_of(event: Event) -> str:
    """Return the path an event is about, by its attributes or its command; '' without one."""
    path = _text(event.readings.get("touched_path")) or _text(event.attributes.get("path"))
    return path[:MAX_PATH]


def shown_action(event: Event) -> str:
    """Return the tool with its command, path or arguments, masked and short.

    >>> shown_action(Event.sample(kind="action", attributes={"tool": "bash", "command": "make  test"}))
    'bash make test'
    """
    step = read_step(event)
    return "an action" if step is None else shown_call(step)


def add_number(total: float | None, value: Any) -> float | None:
    """Return the sum of what is known; None as long as nothing is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**53:
        return total
    return value if total is None else total + value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


CELLS = 120
"""Marks in one row of a lane at most."""
ROWS = 8
"""Folders with a row of their own."""
NAME = 60
MARKS = {"x": "failed", "w": "changed", "r": "read", ".": "other"}
"""What a mark means; where a cell has several steps, the first of these is shown."""
NOTHING = "-"
NO_PATH, OTHER = "(no path)", "(other paths)"


@dataclass(frozen=True, slots=True)
class Repeated(Record):
    """One thing that recurred: the action or words, how often, and the error it met, if any."""

    what: str
    times: Ordinal
    error: str | None = None
    forms: Ordinal = 1
    """How many different actions met that error or gave that result; `what` is the most frequent."""


@dataclass(frozen=True, slots=True)
class RunEpisode(Record):
    """A detection as a stretch of one agent's steps, both ends included and counted from 1.

    `detected_step` is the first at which it could be known. Tokens, seconds and cost are None where
    unknown. `ended` is "progress" or "stopped", at `ended_step`, or "run_ended".
    """

    DECIMALS = decimals(6, "seconds", "cost")

    detection: Name
    pattern: Name
    title: str
    subject: Name
    severity: Severity
    confidence: Ratio
    from_step: Ordinal
    to_step: Ordinal
    detected_step: Ordinal
    """The first at which it could have been known."""
    steps: Ordinal
    tokens: Count | None
    seconds: Amount | None
    cost: Amount | None
    repeated: tuple[Repeated, ...]
    tried: tuple[str, ...]
    ended: Annotated[str, one_of("progress", "stopped", "run_ended")]
    ended_step: Ordinal | None
    recommendation: str


@dataclass(frozen=True, slots=True)
class Agent(Record):
    """An agent of a run and its number of steps; `parent` is who started it, for a sub-agent."""

    name: Name
    parent: str | None
    steps: Count


class LaneRow(NamedTuple):
    """The marks of one folder."""

    name: str
    marks: str


@dataclass(frozen=True, slots=True)
class Lane(Record):
    """Where one agent worked, step by step: one row a folder, one mark for every `steps_per_mark` steps.

    Names of rows are relative to `under`, the folder they share.
    """

    subject: Name
    under: str
    steps_per_mark: Ordinal
    rows: tuple[LaneRow, ...]


@dataclass(frozen=True, slots=True)
class Run(Record):
    """A run of an agent in which something was detected, step by step.

    `lost_steps` are those inside an episode in which something repeated, each counted once. Times are None
    where the source has none.
    """

    RECORD = "run"
    JSON = (
        "source thread task agents severity confidence steps lost_steps lost_share lost_tokens results "
        "errors changed_files "
        "condensations tokens cost seconds first_at last_at episodes lanes"
    )
    DECIMALS = decimals(4, "lost_share") | decimals(6, "seconds", "cost")

    source: str
    thread: str
    stated_task: str | None = field(repr=False)
    """As it was written; `task` is for reports."""
    agents: tuple[Agent, ...]
    results: Count
    errors: Count
    changed_files: Count
    condensations: Count
    tokens: Count | None
    cost: Amount | None
    """Dollars; null where nothing states them."""
    seconds: Amount | None
    first_at: datetime | None
    last_at: datetime | None
    lost_steps: Count = 0
    """Inside an episode in which something repeated."""
    lost_tokens: Count | None = None
    """Tokens of those steps; null where nothing states them."""
    episodes: tuple[RunEpisode, ...] = ()
    """Steps are those of one agent, from 1, both ends included. `forms` counts the different actions that met
    one error, `tried` lists at most 8 other actions, `ended` is progress, stopped or run_ended."""
    lanes: tuple[Lane, ...] = ()
    """Marks: r read, w changed, x failed, . other, - not here."""

    @property
    def task(self) -> Annotated[str | None, Meta(description=TASK)]:
        """What it is about, masked and cut; None where that is not known."""
        return None if self.stated_task is None else excerpt(self.stated_task, MAX_TASK)

    @property
    def steps(self) -> Count:
        """The number of actions of all its agents."""
        return sum(agent.steps for agent in self.agents)

    @property
    def lost_share(self) -> Ratio:
        """The share of lost steps, 0 to 1."""
        return self.lost_steps / self.steps if self.steps else 0.0

    @property
    def severity(self) -> Severity | None:
        """The highest severity of its episodes."""
        return max((episode.severity for episode in self.episodes), key=rank, default=None)

    @property
    def confidence(self) -> Ratio | None:
        """The highest confidence of an episode of that severity."""
        severity = self.severity
        return max((item.confidence for item in self.episodes if item.severity == severity), default=None)

    @property
    def place(self) -> tuple[int, float, float, str, str]:
        """The sort key of runs: the most severe first, those without episodes last."""
        severity = -1 if self.severity is None else -2 - rank(self.severity)
        return severity, -(self.confidence or 0.0), -self.lost_share, self.source, self.thread


def lane_of(subject: str, steps: Sequence[RunStep]) -> Lane:
    """Return the lane of one agent's steps; rows are in the order in which their folders were first used."""
    per_cell = -(-len(steps) // CELLS) or 1
    under = shared_folder([step.path for step in steps if step.path])
    names = [row_name(step.path, under) for step in steps]
    common = {name for name, _ in Counter(name for name in names if name != NO_PATH).most_common(ROWS)}
    rows: dict[str, list[str]] = {}
    for index, (name, step) in enumerate(zip(names, steps, strict=True)):
        row_of = name if name == NO_PATH or name in common else OTHER
        row = rows.setdefault(row_of, [NOTHING] * -(-len(steps) // per_cell))
        row[index // per_cell] = _strongest(row[index // per_cell], _mark(step))
    shown = tuple(LaneRow(excerpt(name, NAME), "".join(row)) for name, row in rows.items())
    return Lane(subject, excerpt("/".join(under), NAME), per_cell, shown)


def narrowed(lane: Lane, width: int) -> Lane:
    """Return the lane with at most so many marks in a row.

    >>> narrowed(Lane("a", "", 1, (LaneRow("x/", "rrw-"),)), 2)
    Lane(subject='a', under='', steps_per_mark=2, rows=(LaneRow(name='x/', marks='rw'),))
    """
    cells = max((len(marks) for _, marks in lane.rows), default=0)
    by = -(-cells // width) or 1
    rows = tuple(
        LaneRow(name, "".join(reduce(_strongest, marks[i : i + by]) for i in range(0, len(marks), by)))
        for name, marks in lane.rows
    )
    return Lane(lane.subject, lane.under, lane.steps_per_mark * by, rows)


def _mark(step: RunStep) -> str:
    if step.error is not None:
        return "x"
    return "r" if step.operation in READS else "w" if step.operation in WRITES else "."


def _strongest(mark: str, other: str) -> str:
    return min(mark, other, key=[*MARKS, NOTHING].index)


def shared_folder(paths: Sequence[str]) -> list[str]:
    """Return the parts of the folder that contains all paths.

    >>> shared_folder(["/app/src/a.py", "/app/src/x/b.py", "/app/src"])
    ['', 'app']
    """
    folders = (_parts(path)[:-1] for path in paths)
    levels = takewhile(lambda level: len(set(level)) == 1, zip(*folders, strict=False))
    return [level[0] for level in levels]


def row_name(path: str, under: Sequence[str]) -> str:
    """Return the folder, or the file in none, below the shared one.

    >>> row_name("src/x/b.py", ["src"]), row_name("src/b.py", ["src"]), row_name("", [])
    ('x/', 'b.py', '(no path)')
    """
    if not path:
        return NO_PATH
    rest = _parts(path)[len(under) :]
    head = rest[:2] if rest[0] == "" else rest[:1]
    return "/".join(head) + ("/" if len(rest) > len(head) else "")


def _parts(path: str) -> list[str]:
    """Folders and name of a path; a leading '' is the root."""
    first, *rest = (path.replace("\\", "/").rstrip("/") or "/").split("/")
    return [first, *(part for part in rest if part not in ("", "."))]
