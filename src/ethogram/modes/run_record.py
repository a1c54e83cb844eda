"""Run: what an agent's run came to, and the stretches of it in which a pattern was found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..records import format_time, rank


@dataclass(frozen=True, slots=True)
class Repeated:
    """One thing that came again: the action or words, how often, and the error it met each time if any."""

    what: str
    times: int
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"what": self.what, "times": self.times, "error": self.error}


@dataclass(frozen=True, slots=True)
class RunEpisode:
    """A detection as a stretch of one agent's steps, both ends included and counted from 1.

    `detected_step` is the first at which it could have been known. Tokens, seconds and cost are None where
    nobody told them. `ended` is how: "progress" or "stopped", at `ended_step`, or "run_ended".
    """

    detection: str
    pattern: str
    title: str
    subject: str
    level: str
    confidence: float
    from_step: int
    to_step: int
    detected_step: int
    tokens: int | None
    seconds: float | None
    cost: float | None
    repeated: tuple[Repeated, ...]
    tried: tuple[str, ...]
    ended: str
    ended_step: int | None
    recommendation: str

    @property
    def steps(self) -> int:
        """How many steps it is long."""
        return self.to_step - self.from_step + 1

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; field names are a promise (docs/records.md)."""
        return {
            "detection": self.detection,
            "pattern": self.pattern,
            "title": self.title,
            "subject": self.subject,
            "level": self.level,
            "confidence": self.confidence,
            "from_step": self.from_step,
            "to_step": self.to_step,
            "detected_step": self.detected_step,
            "steps": self.steps,
            "tokens": self.tokens,
            "seconds": _rounded(self.seconds),
            "cost": _rounded(self.cost),
            "repeated": [one.to_dict() for one in self.repeated],
            "tried": list(self.tried),
            "ended": self.ended,
            "ended_step": self.ended_step,
            "recommendation": self.recommendation,
        }


@dataclass(frozen=True, slots=True)
class Agent:
    """Who acted in a run, in how many steps; `parent` is who started it, for a sub-agent."""

    name: str
    parent: str | None
    steps: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"name": self.name, "parent": self.parent, "steps": self.steps}


@dataclass(frozen=True, slots=True)
class Lane:
    """Where one agent was, step by step: one row for each folder, one mark for every `per_cell` steps.

    The marks are in `run_lane.MARKS`. Names of rows are relative to `under`, the folder they share.
    """

    subject: str
    under: str
    per_cell: int
    rows: tuple[tuple[str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        rows = [{"name": name, "marks": marks} for name, marks in self.rows]
        return {"subject": self.subject, "under": self.under, "steps_per_mark": self.per_cell, "rows": rows}


@dataclass(frozen=True, slots=True)
class Run:
    """One run: how much was done, what it cost where that is known, and what was found in it.

    `lost_steps` are those inside an episode in which something repeated, each counted once. Moments are
    None where the source has none.
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
        """How many actions there were, of all its agents."""
        return sum(one.steps for one in self.agents)

    @property
    def lost_share(self) -> float:
        """The part of the steps that was lost, 0 to 1."""
        return self.lost_steps / self.steps if self.steps else 0.0

    @property
    def level(self) -> str | None:
        """The gravest level found in it."""
        return max((one.level for one in self.episodes), key=rank, default=None)

    @property
    def confidence(self) -> float | None:
        """The highest confidence of a detection at that level."""
        return max((one.confidence for one in self.episodes if one.level == self.level), default=None)

    @property
    def place(self) -> tuple[int, float, float, str, str]:
        """What runs are ranked by: the gravest first, quiet ones last."""
        level = self.level
        return (
            -1 if level is None else -2 - rank(level),
            -(self.confidence or 0.0),
            -self.lost_share,
            self.source,
            self.thread,
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; field names are a promise (docs/records.md)."""
        return {
            "record": "run",
            "source": self.source,
            "thread": self.thread,
            "task": self.task,
            "agents": [one.to_dict() for one in self.agents],
            "level": self.level,
            "confidence": self.confidence,
            "steps": self.steps,
            "lost_steps": self.lost_steps,
            "lost_share": round(self.lost_share, 4),
            "results": self.results,
            "errors": self.errors,
            "changed_files": self.changed_files,
            "condensations": self.condensations,
            "tokens": self.tokens,
            "cost": _rounded(self.cost),
            "seconds": _rounded(self.seconds),
            "first_at": None if self.first_at is None else format_time(self.first_at),
            "last_at": None if self.last_at is None else format_time(self.last_at),
            "episodes": [one.to_dict() for one in self.episodes],
            "lanes": [one.to_dict() for one in self.lanes],
        }


def _rounded(value: float | None) -> float | None:
    """Without the dust that sums of fractions leave."""
    return None if value is None else round(value, 6)
