"""Run records: what an agent's run came to, with the episodes of detections and path lanes in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import reduce
from itertools import takewhile
from typing import Any

from ..language.templates import rounded
from ..models import format_time, rank
from .run_steps import READS, WRITES, RunStep, short

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
class Repeated:
    """One thing that recurred: the action or words, how often, and the error it met, if any."""

    what: str
    times: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunEpisode:
    """A detection as a stretch of one agent's steps, both ends included and counted from 1.

    `detected_step` is the first at which it could be known. Tokens, seconds and cost are None where
    unknown. `ended` is "progress" or "stopped", at `ended_step`, or "run_ended".
    """

    detection: str
    pattern: str
    title: str
    subject: str
    severity: str
    confidence: float
    from_step: int
    to_step: int
    detected_step: int
    steps: int
    tokens: int | None
    seconds: float | None
    cost: float | None
    repeated: tuple[Repeated, ...]
    tried: tuple[str, ...]
    ended: str
    ended_step: int | None
    recommendation: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; field names are stable (docs/records.md)."""
        record = {**asdict(self), "seconds": rounded(self.seconds), "cost": rounded(self.cost)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent of a run and its number of steps; `parent` is who started it, for a sub-agent."""

    name: str
    parent: str | None
    steps: int


@dataclass(frozen=True, slots=True)
class Lane:
    """Where one agent worked, step by step: one row for each folder, one mark for every `per_cell` steps.

    Names of rows are relative to `under`, the folder they share.
    """

    subject: str
    under: str
    per_cell: int
    rows: tuple[tuple[str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        rows = [{"name": name, "marks": marks} for name, marks in self.rows]
        return {"subject": self.subject, "under": self.under, "steps_per_mark": self.per_cell, "rows": rows}


@dataclass(frozen=True, slots=True)
class Run:
    """One run: how much was done, what it cost where that is known, and its episodes.

    `lost_steps` are those inside an episode in which something repeated, each counted once. Times are None
    where the source has none.
    """

    source: str
    thread: str
    task: str | None
    agents: tuple[Agent, ...]
    results: int
    errors: int
    changed_files: int
    condensations: int
    tokens: int | None
    cost: float | None
    seconds: float | None
    first_at: datetime | None
    last_at: datetime | None
    lost_steps: int = 0
    episodes: tuple[RunEpisode, ...] = ()
    lanes: tuple[Lane, ...] = ()

    @property
    def steps(self) -> int:
        """The number of actions of all its agents."""
        return sum(agent.steps for agent in self.agents)

    @property
    def lost_share(self) -> float:
        """The share of lost steps, 0 to 1."""
        return self.lost_steps / self.steps if self.steps else 0.0

    @property
    def severity(self) -> str | None:
        """The highest severity of its episodes."""
        return max((episode.severity for episode in self.episodes), key=rank, default=None)

    @property
    def confidence(self) -> float | None:
        """The highest confidence of an episode of that severity."""
        severity = self.severity
        return max((item.confidence for item in self.episodes if item.severity == severity), default=None)

    @property
    def place(self) -> tuple[int, float, float, str, str]:
        """The sort key of runs: the most severe first, those without episodes last."""
        severity = -1 if self.severity is None else -2 - rank(self.severity)
        return severity, -(self.confidence or 0.0), -self.lost_share, self.source, self.thread

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; field names are stable (docs/records.md)."""
        return {
            "record": "run",
            "source": self.source,
            "thread": self.thread,
            "task": self.task,
            "agents": [asdict(agent) for agent in self.agents],
            "severity": self.severity,
            "confidence": self.confidence,
            "steps": self.steps,
            "lost_steps": self.lost_steps,
            "lost_share": round(self.lost_share, 4),
            "results": self.results,
            "errors": self.errors,
            "changed_files": self.changed_files,
            "condensations": self.condensations,
            "tokens": self.tokens,
            "cost": rounded(self.cost),
            "seconds": rounded(self.seconds),
            "first_at": None if self.first_at is None else format_time(self.first_at),
            "last_at": None if self.last_at is None else format_time(self.last_at),
            "episodes": [episode.to_dict() for episode in self.episodes],
            "lanes": [lane.to_dict() for lane in self.lanes],
        }


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
    shown = tuple((short(name, NAME), "".join(row)) for name, row in rows.items())
    return Lane(subject, short("/".join(under), NAME), per_cell, shown)


def narrowed(lane: Lane, width: int) -> Lane:
    """Return the lane with at most so many marks in a row.

    >>> narrowed(Lane("a", "", 1, (("x/", "rrw-"),)), 2)
    Lane(subject='a', under='', per_cell=2, rows=(('x/', 'rw'),))
    """
    cells = max((len(marks) for _, marks in lane.rows), default=0)
    by = -(-cells // width) or 1
    rows = tuple(
        (name, "".join(reduce(_strongest, marks[i : i + by]) for i in range(0, len(marks), by)))
        for name, marks in lane.rows
    )
    return Lane(lane.subject, lane.under, lane.per_cell * by, rows)


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
