"""Judge: how sure and how grave a program finds a position of a history."""

from __future__ import annotations

from ..language.history import History
from ..language.program import Program
from .evaluate import NO_CHAIN, Chain, Read, number, reader


class Judge:
    """Reads a program's confidence and severity at a position."""

    def __init__(self, program: Program, cap: int) -> None:
        confidence = program.confidence
        self._confidence: Read | None = None if confidence is None else reader(confidence, cap)
        self._severities = [
            (name, None if condition is None else reader(condition, cap))
            for name, condition in program.severities
        ]

    def confidence(self, history: History, at: int, chain: Chain = NO_CHAIN) -> float:
        """0..1; absent is 0."""
        value = None if self._confidence is None else number(self._confidence(history, at, chain))
        return 0.0 if value is None else round(min(1.0, max(0.0, value)), 6)

    def severity(self, history: History, at: int, chain: Chain = NO_CHAIN) -> str:
        """The highest severity whose condition holds, else the lowest listed."""
        for name, condition in reversed(self._severities):
            if condition is None or condition(history, at, chain) is True:
                return name
        return self._severities[0][0]
