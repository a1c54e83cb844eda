"""Steps of runs: of every action what a report needs, short and masked, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..models import Event
from ..models.redaction import mask
from ..models.slotted import dataclass, field
from ..signals.agent.errors import failure_line
from ..signals.agent.operations import operation_of
from ..signals.agent.step import read_step

SHOWN = 120
"""Characters of an action, an error or a saying that are shown."""
LONGEST_PATH = 400
KEYS = ("error_key", "step_key", "talk_key")
READINGS = (*KEYS, "operation", "progress", "changed", "path")
"""What is read of the events of runs in which something was found."""
READS = frozenset({"read", "list", "search", "fetch"})
WRITES = frozenset({"write", "delete"})


@dataclass(slots=True)
class Step:
    """One action of one agent, with its results and what the agent said after it.

    Tokens, cost and duration are None where nothing tells them.
    """

    at: datetime
    until: datetime
    shown: str = ""
    path: str = ""
    operation: str = "other"
    error: str | None = None
    keys: dict[str, str] = field(default_factory=dict)
    said: list[tuple[str, str]] = field(default_factory=list)
    """The key and an excerpt of what was said before the next action."""
    progress: bool = False
    tokens: float | None = None
    cost: float | None = None
    duration: float | None = None

    def take(self, event: Event) -> None:
        """Add what an event says to the step it belongs to."""
        attributes = event.attributes
        self.until = max(self.until, event.at)
        self.tokens = added(self.tokens, attributes.get("tokens"))
        self.cost = added(self.cost, attributes.get("cost"))
        self.duration = added(self.duration, attributes.get("duration"))
        self.progress = self.progress or event.readings.get("progress") == 1
        if event.kind in ("action", "result"):
            self.error = self.error or shown_error(event, self.operation)
        for name in KEYS:
            if isinstance(key := event.readings.get(name), str):
                self.keys.setdefault(name, key)
                if name == "talk_key":
                    self.said.append((key, short(event.text or event.kind)))


class Walked:
    """The steps of one agent in one run, from its events in order; `wanted` are ids to be found again."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self.steps: list[Step] = []
        self.places: dict[str, int] = {}
        self._wanted = wanted
        self._calls: dict[str, int] = {}
        self._before: Step | None = None

    def add(self, event: Event) -> None:
        """One event more. What comes before the first action counts to that."""
        number = self._number(event)
        if event.id in self._wanted:
            self.places[event.id] = number
        self._step(event, number).take(event)

    def number(self, event: str, at: datetime) -> int:
        """The step, from 1, of an event; of one not known here, the last that had begun at that moment."""
        if event in self.places:
            return self.places[event]
        return max((n for n, step in enumerate(self.steps, 1) if step.at <= at), default=1)

    def _number(self, event: Event) -> int:
        call = _text(event.attributes.get("call_id"))
        if event.kind == "action":
            if call:
                self._calls[call] = len(self.steps) + 1
            return len(self.steps) + 1
        known = self._calls.get(call) if event.kind == "result" else None
        return known or max(len(self.steps), 1)

    def _step(self, event: Event, number: int) -> Step:
        if event.kind == "action":
            made = self._before or Step(event.at, event.at)
            self._before = None
            made.at, made.shown, made.path = event.at, shown_action(event), path_of(event)
            made.operation = operation_at(event)
            self.steps.append(made)
        elif not self.steps:
            self._before = self._before or Step(event.at, event.at)
            return self._before
        return self.steps[number - 1]


def operation_at(event: Event) -> str:
    """What sort of thing an action does; a reading that came with it wins."""
    told, step = event.readings.get("operation"), read_step(event)
    return told if isinstance(told, str) else "other" if step is None else operation_of(step)


def failed_with(event: Event, operation: str) -> str | None:
    """The line that says how an action or result of this operation failed; None where it did not."""
    step, given = read_step(event), event.readings.get("error_key")
    line = failure_line(step, operation) if step is not None and step.is_outcome else None
    return given if line is None and isinstance(given, str) else line


def has_changed(event: Event, operation: str) -> bool:
    """Whether an action or result of this operation tells that a file or other state was changed."""
    if (changed := event.readings.get("changed")) is not None:
        return changed == 1
    step = read_step(event)
    is_outcome = step is not None and step.is_outcome
    return operation in WRITES and is_outcome and failed_with(event, operation) is None


def path_of(event: Event) -> str:
    """The path an event is about; '' where none is told."""
    told = _text(event.readings.get("path")) or _text(event.attributes.get("path"))
    return told[:LONGEST_PATH]


def shown_action(event: Event) -> str:
    """The tool with its command, path or arguments, masked and short.

    >>> shown_action(Event.sample(kind="action", attributes={"tool": "bash", "command": "make  test"}))
    'bash make test'
    """
    attributes = event.attributes
    said = _text(attributes.get("command")) or _text(attributes.get("path"))
    if not said and isinstance(arguments := attributes.get("arguments"), Mapping):
        pairs = [
            f"{name}={value}" for name, value in arguments.items() if isinstance(value, (str, int, float))
        ]
        said = " ".join(pair[: SHOWN * 4] for pair in pairs[:6])
    tool = _text(attributes.get("tool"))[:SHOWN].strip()
    # Some formats have the tool as the first word of the command.
    return short(said if said.startswith(tool) else f"{tool} {said}") or tool or "an action"


def shown_error(event: Event, operation: str) -> str | None:
    """The line that says how a step failed, masked and short; None where it did not."""
    line = failed_with(event, operation)
    return None if line is None else short(line.partition("\n")[0]) or "error"


def short(text: str, most: int = SHOWN) -> str:
    """A text on one line, masked, and cut after that: half a secret could not be told from a word."""
    told = " ".join(mask(text).split())
    return told if len(told) <= most else told[: most - 1] + "…"


def added(so_far: float | None, more: Any) -> float | None:
    """A sum of what is told; None as long as nothing is."""
    if isinstance(more, bool) or not isinstance(more, (int, float)) or not 0 <= more < 2**53:
        return so_far
    return more if so_far is None else so_far + more


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
