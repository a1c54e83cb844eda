"""Silences: the deadline after the newest event, and whether it has passed."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from ...language.program import Program, SilenceProgram
from ...language.three_valued import above
from ...language.visitor import MEASURES, expressions, walk
from ...models.event import Event
from ...models.slotted import dataclass
from ...models.timestamps import format_time, moment
from ..history import History
from ..match import CLOSED, OPENED, Change, Match
from .expressions import Judge, holds, number, reader

if TYPE_CHECKING:
    from .engine import Group


@dataclass(slots=True)
class Waiting:
    """The silence after an event. `read` holds the values to report, once read."""

    before: Event
    us: int
    deadline: int
    is_open: bool = False
    read: tuple[str, float, dict[str, Any], str] | None = None


class Silence:
    """A silence program: moves the state of a history (None or what it waits for) on by one event."""

    def __init__(self, program: Program, body: SilenceProgram) -> None:
        self.program, self.body, self.judge = program, body, Judge(program)
        self.longer = reader(body.longer_than)
        self.after = None if body.after is None else holds(body.after)
        # A history does not change until its next event, so values can be read when reported. A subject's
        # whole history may change before that: then read at once.
        outputs = (program.confidence, program.severities, program.details, program.explanation)
        self.at_once = any(
            isinstance(item, MEASURES) and item.window.over_subject
            for outer in expressions(outputs)
            for item in walk(outer)
        )

    def step(self, k: int, event: Event, us: int, history: History) -> Change | None:
        """Close what is open, and set the deadline after the newest event."""
        at, before = history.n - 1, history.states[k]
        deadline = self.deadline(k, event, us, at, history)
        history.states[k] = None if deadline is None else Waiting(event, us, deadline)
        if deadline is not None and self.at_once:
            self.read(history.states[k], at, history)
        if before is None or not before.is_open:
            return None
        return Change(CLOSED, self.match(before, history, us))

    def deadline(self, k: int, event: Event, us: int, at: int, history: History) -> int | None:
        """When the silence after an event is too long; records whether it was tested and known."""
        if at + 1 < self.body.at_least:
            return None
        seconds, bit = number(self.longer(event, at, history)), 1 << k
        # The rest matters only with a deadline, or to explain why there is none.
        if seconds is None and history.tested & bit:
            return None
        if self.after is not None and not self.after(event, at, history):
            return None
        history.tested |= bit
        if seconds is None:
            return None
        history.known |= bit
        return None if above(0.0, seconds) else us + max(0, round(seconds * 1e6))

    def passed(self, k: int, history: History) -> Change:
        """The silence whose deadline has passed."""
        state = history.states[k]
        state.is_open = True
        self.read(state, history.n - 1, history)
        return Change(OPENED, self.match(state, history, None))

    def read(self, state: Waiting, at: int, history: History) -> None:
        """Read the values to report of a silence, at the event before it."""
        if state.read is None:
            judge, event = self.judge, state.before
            confidence = judge.confidence(event, at, history)
            history.results = {"deadline": format_time(moment(state.deadline))}
            severity, details = judge.severity(event, at, history), judge.details(event, at, history)
            state.read = (severity, confidence, details, judge.explanation(event, at, history))
            history.results = {}

    def match(self, state: Waiting, history: History, closed: int | None) -> Match:
        """The silence as it is now."""
        assert state.read is not None
        severity, confidence, details, explanation = state.read
        return Match(
            self.program,
            history.source,
            history.key,
            fired=state.before,
            first=state.before.id,
            last=state.before.id,
            last_at=state.us,
            count=1,
            severity=severity,
            confidence=confidence,
            fired_confidence=confidence,
            opened_at=state.deadline,
            detected_at=state.deadline,
            closed_at=closed,
            evidence=(("before", state.before),),
            details=details,
            explanation=explanation,
        )


class Deadlines:
    """Every silence that waits for its deadline; each stands in the queue of its source at most once.

    Those with the same deadline are in the order of the events before them.
    """

    def __init__(self) -> None:
        self.queues: dict[str, list[tuple[int, Any, int, Group, int, History]]] = {}
        self._pushed = 0
        self._dropped: dict[str, int] = {}

    def wait(self, group: Group, k: int, history: History) -> None:
        """Queue a deadline."""
        state, waits = history.states[k], history.waits[k]
        deadline = state.deadline
        if waits is None or waits > deadline:
            history.waits[k] = deadline
            self._pushed += 1
            queue = self.queues.setdefault(history.source, [])
            heappush(queue, (deadline, state.before.order, self._pushed, group, k, history))

    def drop(self, history: History) -> None:
        """Drop the deadlines of a removed history; queue entries are cleaned up in batches."""
        for k, waits in enumerate(history.waits):
            if waits is None:
                continue
            history.waits[k], source = None, history.source
            self._dropped[source] = self._dropped.get(source, 0) + 1
            queue = self.queues[source]
            if 2 * self._dropped[source] > len(queue):
                queue[:] = [item for item in queue if item[5].waits[item[4]] == item[0]]
                heapify(queue)
                del self._dropped[source]

    def forget(self, source: str) -> None:
        """Let go of a source that no history is left of."""
        self.queues.pop(source, None)
        self._dropped.pop(source, None)

    def passed(self, source: str, us: int) -> Iterator[Change]:
        """The silences of a source whose deadline lies before a moment; they are open from now on."""
        queue = self.queues.get(source)
        while queue and queue[0][0] < us:
            deadline, order, _, group, k, history = heappop(queue)
            if history.waits[k] != deadline:
                continue
            history.waits[k], state = None, history.states[k]
            if state is None or state.is_open:
                continue
            if (state.deadline, state.before.order) != (deadline, order):  # a later event came
                self.wait(group, k, history)
                continue
            machine = group.machines[k]
            assert isinstance(machine, Silence)
            yield machine.passed(k, history)
