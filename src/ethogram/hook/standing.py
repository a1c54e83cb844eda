"""Standing: where each program stands in one run, one event after the other, on rows of readings alone.

The meaning is that of the plain runner: the same readers and the same judge, asked at the newest row. What is
kept is as many rows as the program's windows can reach, with what could be text as a digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..records.event import Value
from ..records.levels import rank
from ..records.slotted import dataclass
from ..shapes.evaluate import NO_CHAIN, reader
from ..shapes.history import CAP, History
from ..shapes.judge import Judge
from ..shapes.program import LevelProgram, Program

Row = list[Any]
"""Microseconds, and the readings."""

Saved = dict[str, Any]
"""Of one program: its rows, and the episode that is open or None."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A program, how many rows it can look back on, the signals it reads, and those of which only digests
    are kept."""

    program: Program
    rows: int
    names: tuple[str, ...]
    hashed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a program stands after an event. `holds`: its condition is true at this very event.

    `change` is 'opened', 'closed' or ''. `since` is the number of the event at which it opened, and `level`
    and `confidence` the highest so far.
    """

    pattern: str
    change: str
    holds: bool
    level: str
    confidence: float
    since: int


class Seen:
    """An event as readers of histories need it: its readings."""

    __slots__ = ("attributes", "readings")

    def __init__(self, readings: Mapping[str, Value]) -> None:
        self.readings = readings
        self.attributes: Mapping[str, Any] = {}


def digest(text: str) -> str:
    """A short mark of a text, from which nobody can tell the text.

    >>> digest("make test") == digest("make test"), len(digest("x"))
    (True, 16)
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def stand(
    one: Watched, saved: Saved | None, readings: Mapping[str, Value], us: int, number: int
) -> tuple[Saved | None, Standing | None]:
    """What is kept of a program after an event, and where it stands; None while it has nothing to say."""
    program = one.program
    if not any(name in readings for name in program.signals):
        return saved, None
    rows, opened = (saved["rows"], saved["open"]) if saved else ([], None)
    kept = {name: readings[name] for name in one.names if name in readings}
    for name in one.hashed:
        if isinstance(value := kept.get(name), str):
            kept[name] = digest(value)
    rows = [*rows, [us, kept]][-one.rows :]
    opened, standing = _judged(program, rows, opened, number)
    return {"rows": rows, "open": opened}, standing


def _judged(
    program: Program, rows: Sequence[Row], opened: list[Any] | None, number: int
) -> tuple[list[Any] | None, Standing | None]:
    body = program.body
    assert isinstance(body, LevelProgram)
    history = _history(rows)
    at = len(rows) - 1
    truth = reader(body.when, CAP)(history, at, NO_CHAIN)
    clear = truth is False
    if body.clears is not None:
        clear = reader(body.clears, CAP)(history, at, NO_CHAIN) is True
    change = ""
    if opened is None and truth is True and not clear:
        opened, change = [number, "", 0.0], "opened"
    elif opened is not None and clear and not body.stays:
        since, level, confidence = opened
        return None, Standing(program.name, "closed", False, level, confidence, since)
    if opened is None:
        return None, None
    judge = Judge(program, CAP)
    since, level, confidence = opened
    now = judge.level(history, at)
    level = now if not level or rank(now) > rank(level) else level
    confidence = max(confidence, judge.confidence(history, at))
    return [since, level, confidence], Standing(program.name, change, truth is True, level, confidence, since)


def _history(rows: Sequence[Row]) -> History:
    history = History((), "", True)
    history.times = [us for us, _ in rows]
    history.events = [Seen(readings) for _, readings in rows]  # type: ignore[misc]
    history.evaluated = [False] * len(rows)
    return history
