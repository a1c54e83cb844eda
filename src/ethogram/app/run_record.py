"""Run: the record of one run of an agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import Annotated, NamedTuple

from ..fields import Amount, Count, Name, Ordinal, Ratio, Severity, one_of
from ..models import rank
from ..models.record import Record, decimals
from ..models.slotted import dataclass
from .run_steps import READS, WRITES, Step, short

# Run: what an agent's run came to, and the stretches of it in which a pattern was found.


@dataclass(frozen=True, slots=True)
class Repeated(Record):
    """One thing that came again: the action or words, how often, and the error it met each time if any."""

    what: str
    times: Ordinal
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunEpisode(Record):
    """A detection as a stretch of one agent's steps, both ends included and counted from 1.

    `detected_step` is the first at which it could have been known. Tokens, seconds and cost are None where
    nobody told them. `ended` is how: "progress" or "stopped", at `ended_step`, or "run_ended".
    """

    JSON = (
        "detection pattern title subject severity confidence from_step to_step detected_step steps tokens "
        "seconds cost repeated tried ended ended_step recommendation"
    )
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
    tokens: Count | None
    seconds: Amount | None
    cost: Amount | None
    repeated: tuple[Repeated, ...]
    tried: tuple[str, ...]
    ended: Annotated[str, one_of("progress", "stopped", "run_ended")]
    ended_step: Ordinal | None
    recommendation: str

    @property
    def steps(self) -> Ordinal:
        """How many steps it is long."""
        return self.to_step - self.from_step + 1


@dataclass(frozen=True, slots=True)
class Agent(Record):
    """Who acted in a run, in how many steps; `parent` is who started it, for a sub-agent."""

    name: Name
    parent: str | None
    steps: Count


class LaneRow(NamedTuple):
    """The marks of one folder."""

    name: str
    marks: str


@dataclass(frozen=True, slots=True)
class Lane(Record):
    """Where one agent was, step by step: one row for each folder, one mark for every `per_cell` steps.

    The marks are in `run_lane.MARKS`. Names of rows are relative to `under`, the folder they share.
    """

    JSON = "subject under steps_per_mark rows"

    subject: Name
    under: str
    per_cell: int
    rows: tuple[LaneRow, ...]

    @property
    def steps_per_mark(self) -> Ordinal:
        """How many steps one mark stands for."""
        return self.per_cell


@dataclass(frozen=True, slots=True)
class Run(Record):
    """A run of an agent in which something was detected, step by step.

    `lost_steps` are those inside an episode in which something repeated, each counted once. Moments are
    None where the source has none.
    """

    RECORD = "run"
    JSON = (
        "source thread task agents severity confidence steps lost_steps lost_share results errors "
        "changed_files "
        "condensations tokens cost seconds first_at last_at episodes lanes"
    )
    DECIMALS = decimals(4, "lost_share") | decimals(6, "seconds", "cost")

    source: str
    thread: str
    task: str | None
    """What it is about, masked and cut; null: not known."""
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
    episodes: tuple[RunEpisode, ...] = ()
    lanes: tuple[Lane, ...] = ()

    @property
    def steps(self) -> Count:
        """How many actions there were, of all its agents."""
        return sum(agent.steps for agent in self.agents)

    @property
    def lost_share(self) -> Ratio:
        """The part of the steps that was lost, 0 to 1."""
        return self.lost_steps / self.steps if self.steps else 0.0

    @property
    def severity(self) -> Severity | None:
        """The gravest severity found in it."""
        return max((episode.severity for episode in self.episodes), key=rank, default=None)

    @property
    def confidence(self) -> Ratio | None:
        """The highest confidence of a detection at that severity."""
        return max(
            (episode.confidence for episode in self.episodes if episode.severity == self.severity),
            default=None,
        )

    @property
    def place(self) -> tuple[int, float, float, str, str]:
        """What runs are ranked by: the gravest first, quiet ones last."""
        severity = self.severity
        return (
            -1 if severity is None else -2 - rank(severity),
            -(self.confidence or 0.0),
            -self.lost_share,
            self.source,
            self.thread,
        )


# Path lane: which folders an agent touched over its steps, in as few marks as fit a line.

CELLS = 120
"""Marks in one row at most."""
ROWS = 8
"""Folders with a row of their own."""
NAME = 60
MARKS = {"x": "failed", "w": "changed", "r": "read", ".": "other"}
"""What a mark says, the most telling first: where a cell has several steps, that one is shown."""
NOTHING = "-"
NO_PATH, OTHER = "(no path)", "(other paths)"


def lane_of(subject: str, steps: Sequence[Step]) -> Lane:
    """The lane of one agent's steps; rows stand in the order in which their folders were first touched."""
    per_cell = -(-len(steps) // CELLS) or 1
    under = shared_folder([step.path for step in steps if step.path])
    names = [row_name(step.path, under) for step in steps]
    common = {name for name, _ in Counter(name for name in names if name != NO_PATH).most_common(ROWS)}
    rows: dict[str, list[str]] = {}
    cells = -(-len(steps) // per_cell)
    for index, (name, step) in enumerate(zip(names, steps, strict=True)):
        shown = name if name == NO_PATH or name in common else OTHER
        row = rows.setdefault(shown, [NOTHING] * cells)
        row[index // per_cell] = gravest(row[index // per_cell], mark_of(step))
    told = tuple(LaneRow(short(name, NAME), "".join(row)) for name, row in rows.items())
    return Lane(subject, short("/".join(under), NAME), per_cell, told)


def narrowed(lane: Lane, most: int) -> Lane:
    """The same lane with at most so many marks in a row.

    >>> narrowed(Lane("a", "", 1, (LaneRow("x/", "rrw-"),)), 2)
    Lane(subject='a', under='', per_cell=2, rows=(LaneRow(name='x/', marks='rw'),))
    """
    cells = max((len(marks) for _, marks in lane.rows), default=0)
    by = -(-cells // most) or 1
    rows = tuple(
        LaneRow(name, "".join(reduce(gravest, marks[i : i + by]) for i in range(0, len(marks), by)))
        for name, marks in lane.rows
    )
    return Lane(lane.subject, lane.under, lane.per_cell * by, rows)


def mark_of(step: Step) -> str:
    """The mark of one step."""
    if step.error is not None:
        return "x"
    return "r" if step.operation in READS else "w" if step.operation in WRITES else "."


def gravest(text: str, other: str) -> str:
    """The more telling of two marks."""
    order = [*MARKS, NOTHING]
    return min(text, other, key=order.index)


def shared_folder(paths: Sequence[str]) -> list[str]:
    """The parts of the folder that all paths lie in.

    >>> shared_folder(["/app/src/a.py", "/app/src/x/b.py", "/app/src"])
    ['', 'app']
    """
    folders = [parts(path)[:-1] for path in paths]
    if not folders:
        return []
    first, last = min(folders), max(folders)
    same = next((n for n, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), None)
    return first[: min(len(first), len(last)) if same is None else same]


def row_name(path: str, under: Sequence[str]) -> str:
    """The folder, or the file that is in none, below the shared one.

    >>> row_name("src/x/b.py", ["src"]), row_name("src/b.py", ["src"]), row_name("", [])
    ('x/', 'b.py', '(no path)')
    """
    if not path:
        return NO_PATH
    rest = parts(path)[len(under) :]
    head = rest[:2] if rest[0] == "" else rest[:1]
    return "/".join(head) + ("/" if len(rest) > len(head) else "")


def parts(path: str) -> list[str]:
    """A path as folders and a name; a leading '' is the root."""
    named = path.replace("\\", "/").rstrip("/") or "/"
    first, *rest = named.split("/")
    return [first, *(item for item in rest if item not in ("", "."))]
