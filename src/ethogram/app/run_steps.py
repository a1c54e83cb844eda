"""Steps of runs: what a report needs of every action, short and masked, with its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from ..models import Event
from ..models.redaction import mask
from ..models.slotted import dataclass, field
from ..signals.agent.errors import failure_line
from ..signals.agent.operations import operation_of
from ..signals.agent.step import read_step

MAX_SHOWN = 120
"""Characters shown of an action, an error or a message."""
MAX_PATH = 400
KEYS = ("error_key", "step_key", "talk_key")
READINGS = (*KEYS, "operation", "progress", "changed", "path")
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
        if event.kind in ("action", "result") and not self.error:
            line = failure_of(event, self.operation)
            self.error = None if line is None else short(line.partition("\n")[0]) or "error"
        for name in KEYS:
            if isinstance(key := event.readings.get(name), str):
                self.keys.setdefault(name, key)
                if name == "talk_key":
                    self.messages.append((key, short(event.text or event.kind)))


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
    step, key = read_step(event), event.readings.get("error_key")
    line = failure_line(step, operation) if step is not None and step.is_outcome else None
    return key if line is None and isinstance(key, str) else line


def has_changed(event: Event, operation: str) -> bool:
    """Return whether an action or result changed a file or other state."""
    if (changed := event.readings.get("changed")) is not None:
        return changed == 1
    step = read_step(event)
    is_outcome = step is not None and step.is_outcome
    return operation in WRITES and is_outcome and failure_of(event, operation) is None


def path_of(event: Event) -> str:
    """Return the path an event is about; '' without one."""
    path = _text(event.readings.get("path")) or _text(event.attributes.get("path"))
    return path[:MAX_PATH]


def shown_action(event: Event) -> str:
    """Return the tool with its command, path or arguments, masked and short.

    >>> shown_action(Event.sample(kind="action", attributes={"tool": "bash", "command": "make  test"}))
    'bash make test'
    """
    attributes = event.attributes
    text = _text(attributes.get("command")) or _text(attributes.get("path"))
    if not text and isinstance(arguments := attributes.get("arguments"), Mapping):
        pairs = [
            f"{name}={value}" for name, value in arguments.items() if isinstance(value, (str, int, float))
        ]
        text = " ".join(pair[: MAX_SHOWN * 4] for pair in pairs[:6])
    tool = _text(attributes.get("tool"))[:MAX_SHOWN].strip()
    # Some formats have the tool as the first word of the command.
    return short(text if text.startswith(tool) else f"{tool} {text}") or tool or "an action"


@lru_cache(maxsize=1024)  # steps repeat themselves
def short(text: str, size: int = MAX_SHOWN) -> str:
    """Return a text on one line, masked before it is cut: half a secret looks like a word."""
    shown = " ".join(mask(text).split())
    return shown if len(shown) <= size else shown[: size - 1] + "…"


def add_number(total: float | None, value: Any) -> float | None:
    """Return the sum of what is known; None as long as nothing is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**53:
        return total
    return value if total is None else total + value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
