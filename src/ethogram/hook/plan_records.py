"""What a hook watches, and what an event brings about: the records of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..records.event import Value
from ..records.slotted import dataclass, field
from ..shapes.program import Program
from ..signals.define import Signal
from ..signals.options import Options
from .ladder import Rules
from .standing import Standing, Watched

SIGNALS = "ethogram.signals."
"""What the modules of signals are called that a hook may load."""

State = dict[str, Any]
"""All that is known of a run, as plain JSON data of bounded size."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is watched: signals and programs, what a task allows, and how the ladder is climbed."""

    signals: tuple[Signal, ...]
    watched: tuple[Watched, ...]
    options: Options
    rules: Rules

    def program(self, pattern: str) -> Program:
        """The program of a pattern that is watched."""
        return next(one.program for one in self.watched if one.program.name == pattern)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a step. `rung` is one of the ladder's; `person` is for the person's eyes."""

    rung: str
    pattern: str
    level: str
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
    readings: Mapping[str, Value] = field(default_factory=dict)
