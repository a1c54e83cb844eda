"""When a silence would begin if nothing came: then a subject has to be looked at, though it did nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ..records import Event, micros
from ..shapes.evaluate import NO_CHAIN, number, reader
from ..shapes.history import History, histories
from ..shapes.program import Program, SilenceProgram
from ..stores.protocol import Who

LATEST = 2**62


def next_due(
    programs: Sequence[Program], events: Sequence[Event], as_of: datetime, cap: int
) -> dict[Who, int]:
    """The first deadline of each subject that has not passed at `as_of`, in microseconds since 1970."""
    due: dict[Who, int] = {}
    now = micros(as_of)
    for program in programs:
        if not isinstance(program.body, SilenceProgram):
            continue
        for history in histories(program, events):
            if program.timed_only and not history.timed:
                continue
            deadline = deadline_of(program.body, history, cap)
            if deadline is not None and now <= deadline < LATEST:
                who = (history.source, history.events[-1].subject)
                due[who] = min(deadline, due.get(who, deadline))
    return due


def deadline_of(body: SilenceProgram, history: History, cap: int) -> int | None:
    """When the silence after the last event would be too long, or None where it never is."""
    last = len(history.events) - 1
    if last < body.at_least - 1:
        return None
    if body.after is not None and reader(body.after, cap)(history, last, NO_CHAIN) is not True:
        return None
    seconds = number(reader(body.longer_than, cap)(history, last, NO_CHAIN))
    if seconds is None or seconds < 0 or seconds > LATEST / 1e6:
        return None
    return history.times[last] + round(seconds * 1e6)
