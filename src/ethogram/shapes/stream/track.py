"""Track: one program, and all histories it watches."""

from __future__ import annotations

from typing import Any

from ...records import Event
from ..program import LevelProgram, Program, SequenceProgram, SilenceProgram
from .level import LevelMachine
from .plan import Plan, plan_of
from .rows import Mark, Rows
from .sequence import SequenceMachine
from .silence import SilenceMachine

Key = tuple[Any, ...]
"""Source, then the values of the history's fields."""


class Watched:
    """One program's look at one history."""

    __slots__ = ("base", "key", "rows", "state", "waits")

    def __init__(self, key: Key, rows: Rows, state: Any) -> None:
        self.key = key
        self.rows = rows
        self.state = state
        self.waits: int | None = None
        """The deadline under which a silence stands in the queue."""
        self.base = 0
        """How many events had been counted for all before it started (see cells.py)."""


class Track:
    """One program and all histories it watches."""

    def __init__(self, program: Program, cap: int) -> None:
        self.program = program
        self.plan = plan_of(program, cap)
        self.machine: Any = _machine(self.plan)
        self.enter = self.plan.layout.enter
        self.whole_enter = None if self.plan.whole_layout is None else self.plan.whole_layout.enter
        self.timed_only = program.timed_only
        self.is_silence = isinstance(self.machine, SilenceMachine)
        self.is_level = isinstance(self.machine, LevelMachine)
        layout = self.plan.layout
        self.is_pure = not (layout.need or layout.wanted or layout.keeps or layout.elapsed or self.is_level)
        """Whether it remembers no rows, so that events that do not concern it are only counted."""
        self.subject = program.history.index("subject")
        self.narrow = program.history != ("subject",)
        self.watched: dict[Key, Watched] = {}
        self.wholes: dict[tuple[str, str], Rows] = {}

    def start(self, key: Key, timed: bool, subject: str) -> Watched:
        """A history seen for the first time."""
        layout = self.plan.layout
        whole = self.wholes.get((key[0], subject)) if self.plan.whole_layout is not None else None
        rows = Rows(timed, layout.columns, len(layout.keeps), whole)
        self.watched[key] = found = Watched(key, rows, self.machine.start())
        return found

    def whole(self, event: Event) -> Rows:
        """The subject's own history, for measures over=subject."""
        layout = self.plan.whole_layout
        assert layout is not None
        name = (event.source, event.subject)
        if name not in self.wholes:
            self.wholes[name] = Rows(event.timed, layout.columns, len(layout.keeps))
        return self.wholes[name]

    def stand(self, rows: Rows, event: Event, evaluated: bool) -> None:
        """Let expressions be read at an event that the rows have been moved on to."""
        rows.event, rows.get, rows.evaluated = event, event.readings.get, evaluated
        rows.memo = self.plan.blank[:]

    def step(self, watched: Watched, mark: Mark, subject: str) -> Any:
        """What an event changes that the rows stand at; None for nothing, and for silences."""
        if self.is_level or self.is_silence:
            return self.machine.step(watched.state, watched.rows, mark, subject)
        return self.machine.step(watched.state, watched.rows, mark)


def _machine(plan: Plan) -> Any:
    match plan.program.body:
        case SequenceProgram() as body:
            return SequenceMachine(plan, body)
        case LevelProgram() as body:
            return LevelMachine(plan, body)
        case SilenceProgram() as body:
            return SilenceMachine(plan, body)
    raise TypeError(f"{plan.program.name} does not run over events")
