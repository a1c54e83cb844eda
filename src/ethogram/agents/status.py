"""Where each pattern stands in a run, and the records of the monitor."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from ..engine.history import History
from ..engine.live.threshold import Threshold
from ..language.program import Program, ThresholdProgram
from ..models.constants import RUNGS
from ..models.event import Value
from ..models.severity import rank
from ..models.slotted import dataclass
from ..signals.base import Signal
from ..signals.options import Options

# The state of each program in one run, from rows of readings alone.
#
# The thresholds of the live engine are evaluated at the newest row. As many rows are stored as the
# program's windows can reach; values that could be text are stored as digests.

Row = list[Any]
"""Microseconds, and the readings."""

Saved = dict[str, Any]
"""Of one program: its rows, and the episode that is open or None."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A program, how many rows its windows reach, the signals it reads, and those stored as digests."""

    program: Program
    rows: int
    names: tuple[str, ...]
    hashed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a program stands after an event. `holds`: its condition is true at this very event.

    `change` is 'opened', 'closed' or ''. `since` is the number of the event at which it opened;
    `severity` and `confidence` are the highest so far, `severity_now` is that of this event.
    """

    pattern: str
    change: str
    holds: bool
    severity: str
    confidence: float
    since: int
    severity_now: str = ""


def digest(text: str) -> str:
    """A short mark of a text, from which nobody can tell the text.

    >>> digest("make test") == digest("make test"), len(digest("x"))
    (True, 16)
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def stand(
    watched: Watched, saved: Saved | None, readings: Mapping[str, Value], us: int, number: int
) -> tuple[Saved | None, Standing | None]:
    """The saved state of a program after an event, and where it stands; None without readings for it."""
    program = watched.program
    if not any(name in readings for name in program.signals):
        return saved, None
    rows, opened = (saved["rows"], saved["open"]) if saved else ([], None)
    row = {name: readings[name] for name in watched.names if name in readings}
    for name in watched.hashed:
        if isinstance(value := row.get(name), str):
            row[name] = digest(value)
    rows = [*rows, [us, row]][-watched.rows :]
    opened, standing = _judged(program, rows, opened, number)
    return {"rows": rows, "open": opened}, standing


def _judged(
    program: Program, rows: Sequence[Row], opened: list[Any] | None, number: int
) -> tuple[list[Any] | None, Standing | None]:
    threshold, history, at = _threshold(program), _history(rows), len(rows) - 1
    event = history.events[at]
    change = ""
    if opened is None:
        if not threshold.opens(0, event, at, history):
            return None, None
        opened, change = [number, "", 0.0], "opened"
    elif threshold.closes(event, at, history):
        since, severity, confidence = opened
        return None, Standing(program.name, "closed", False, severity, confidence, since)
    judge, (since, severity, confidence) = threshold.judge, opened
    now = judge.severity(event, at, history)
    severity = now if not severity or rank(now) > rank(severity) else severity
    confidence = max(confidence, judge.confidence(event, at, history))
    holds = bool(change) or threshold.holds(event, at, history)
    return [since, severity, confidence], Standing(
        program.name, change, holds, severity, confidence, since, now
    )


@lru_cache(maxsize=256)
def _threshold(program: Program) -> Threshold:
    assert isinstance(program.body, ThresholdProgram)
    return Threshold(program, program.body)


def _history(rows: Sequence[Row]) -> History:
    history = History((), "", True)
    for us, readings in rows:
        # What readers of histories need of an event.
        event: Any = SimpleNamespace(readings=readings, attributes={})
        history.add(event, us)
    return history


# Records of the monitor.

SIGNALS = "ethogram.signals."
"""What the modules of signals are called that a hook may load."""

State = dict[str, Any]
"""All that is known of a run, as plain JSON data of bounded size."""


@dataclass(frozen=True, slots=True)
class Rules:
    """When to intervene. `off` are rungs, patterns and tools that are turned off.

    `cool_down` is the number of steps between two messages about one thing, `most` the number of
    interruptions of a run, and `lowest` the lowest severity that is mentioned.
    """

    rungs: tuple[str, ...]
    cool_down: int
    most: int
    lowest: str
    off: tuple[str, ...]
    critical: str

    def has(self, name: str) -> bool:
        """Return whether a rung, pattern or tool is on."""
        return name not in self.off

    @property
    def active_rungs(self) -> tuple[str, ...]:
        """The rungs that are on, mildest first."""
        return tuple(rung for rung in RUNGS if rung in self.rungs and self.has(rung))


@dataclass(frozen=True, slots=True)
class Plan:
    """What is watched: signals and programs, what a task allows, and how the ladder is climbed."""

    signals: tuple[Signal, ...]
    watched: tuple[Watched, ...]
    options: Options
    rules: Rules

    def program(self, pattern: str) -> Program:
        """The program of a pattern that is watched."""
        return next(item.program for item in self.watched if item.program.name == pattern)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a step. `rung` is one of the ladder's; `person` is for the person's eyes."""

    rung: str
    pattern: str
    severity: str
    text: str
    step: int
    person: str = ""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of an advice given at a step, and after how many steps that was known.

    went_on: it came again. stopped: it did not for five steps. allowed: a person was asked and it was done.
    """

    pattern: str
    step: int
    effect: str
    after: int


@dataclass(frozen=True, slots=True)
class Observed:
    """What one event brought about."""

    state: State
    standings: tuple[Standing, ...] = ()
    advice: Advice | None = None
    settled: tuple[Settled, ...] = ()
