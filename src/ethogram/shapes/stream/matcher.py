"""Matcher: the gate of a set of programs and what lies behind it, without events around it.

For those who have numbered histories and tuples of readings at hand. A stream does the same for events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...records import Event, is_evaluated
from ..history import CAP
from ..program import Program
from .gate import Form, gate_of
from .record import Change
from .reduce import Carried
from .rows import Mark
from .stream import Stream

NOTHING: list[Change] = []
HEAD = ("def gate(history, V, mark):", " cell = cells[history]; E = None; us = mark.us")
Step = Callable[[int, tuple[Any, ...], Mark], list[Change]]


class Matcher:
    """Programs over the histories 0 to n - 1 of subjects, whose events all carry readings of these names."""

    def __init__(
        self, programs: Sequence[Program], names: Sequence[str], histories: int, cap: int = CAP
    ) -> None:
        self.names = tuple(names)
        self._stream = Stream(programs, cap)
        ((fields, self._kind),) = self._stream.cells.kinds.items()
        assert fields == ("subject",), "a matcher is for histories of subjects"
        self._evaluated = is_evaluated(dict.fromkeys(names))
        carried = Carried(frozenset(names), attributes=False, evaluated=self._evaluated)
        places = {name: place for place, name in enumerate(names)}
        cells = [self._kind.cell(("input", f"s{number}")) for number in range(histories)]
        given = {"cells": cells, "changes": self._changes, "nothing": NOTHING}
        form = Form(HEAD, " return changes(H, cell, V, mark) if H else nothing", given)
        self.step: Step = gate_of(self._kind, self._kind.tracks, carried, places, timed=True, form=form)  # type: ignore[assignment]
        """What an event with these readings changes in one of the histories."""
        for cell in cells:
            for number in self._kind.tracks:
                self._kind.start(cell, number, Event.sample(subject=cell[0][1])).base = 0

    def _changes(self, hits: int, cell: list[Any], values: tuple[Any, ...], mark: Mark) -> list[Change]:
        readings = dict(zip(self.names, values, strict=True))
        event = Event(mark.id, mark.at, cell[0][1], mark.seq, readings=readings)
        changes: list[Change] = []
        self._stream.step(hits, self._kind, cell, self._evaluated, event, mark, changes)
        return changes
