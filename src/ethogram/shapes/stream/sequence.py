"""Sequences live: for each place, the latest chain that stands there, and what was read along it."""

from __future__ import annotations

from typing import Any

from ..match import MOST_ALSO
from ..program import Program, SequenceProgram
from .chain import Link, Seen, SequenceState, limit_of, link_of, new, unfilled
from .fired import Fired
from .plan import Ask, Judge, Plan
from .record import Change
from .rows import Mark, Rows


class SequenceMachine:
    """Moves a sequence's state on by one event."""

    def __init__(self, plan: Plan, body: SequenceProgram) -> None:
        self.plan, self.body, self.judge = plan, body, Judge(plan)
        steps = plan.captures.steps
        self.steps = [steps.index(place.step) for place in body.places]
        self.conditions = [plan.must_ask(f"place {i}") for i in range(len(body.places))]
        self.nevers = [
            plan.must_ask(f"never {i}") if place.nevers else None for i, place in enumerate(body.places)
        ]
        self.gaps = [place.gaps for place in body.places]
        self.soon = [limit_of(place.soon) if place.soon else None for place in body.places]
        self.within = limit_of(body.within)
        firsts = {place.step: i for i, place in reversed(list(enumerate(body.places)))}
        self.collects = [
            place.step in body.collects and firsts[place.step] == i for i, place in enumerate(body.places)
        ]
        self.optionals: list[list[tuple[Ask, int]]] = [[] for _ in body.places]
        for k, one in enumerate(body.optionals):
            self.optionals[one.after].append((plan.must_ask(f"optional {k}"), steps.index(one.step)))
        self.captures = [plan.ask(f"capture {s}") for s in range(len(steps))]
        self.known = plan.must_ask("first known")
        self.rest = plan.nothing[1:]
        self.fired = Fired(self.plan, self.body, self.judge, self.steps, self.optionals)
        self.last = len(body.places) - 1
        self.later = range(self.last, 0, -1)
        # Places before which something may lie that matters: a never, or an optional step.
        self.watched = [
            never is not None or bool(i and self.optionals[i - 1]) for i, never in enumerate(self.nevers)
        ]

    def start(self) -> SequenceState:
        """The state of a history with no events."""
        return SequenceState(len(self.body.places), [len(one) for one in self.optionals])

    def step(self, state: SequenceState, rows: Rows, mark: Mark) -> Link | None:
        """Move on by the event the rows stand at; the last place's link where the whole fires.

        A chain that can never fire is let go: later chains of a place never start earlier, so nothing that
        could fire is missed.
        """
        at, us, standing, none = rows.n - 1, mark.us, state.standing, self.plan.none
        fired = None
        # From the last place to the first, so that what stands before still speaks of earlier events.
        for i in self.later:
            before = standing[i - 1]
            if before is None:
                continue
            start, gaps, soon = before.seen, self.gaps[i], self.soon[i]
            if (gaps is not None and at - start.position - 1 > gaps) or (
                soon is not None and not soon.holds(at - start.position, us - start.mark.us, rows.timed)
            ):
                standing[i - 1] = None
                continue
            if not state.blocked[i] and self.conditions[i](rows, before.last, none):
                link = self._link(state, rows, mark, i, before)
                if self.watched[i]:
                    self._between(state, rows, mark, i)
                standing[i] = link
                if i == self.last:
                    fired = link
                elif self.watched[i + 1]:
                    self._stood(state, i)
            elif self.watched[i]:
                self._between(state, rows, mark, i)
        if self.conditions[0](rows, self.plan.nothing, none):
            state.known = True
            standing[0] = link = self._link(state, rows, mark, 0, None)
            if not self.last:
                fired = link
            elif self.watched[1]:
                self._stood(state, 0)
        elif not state.known:
            state.known = self.known(rows, self.plan.nothing, none)
        state.idle = not any(standing)
        return None if fired is None else self._fire(state, rows, fired)

    def _fire(self, state: SequenceState, rows: Rows, link: Link) -> Link | None:
        """The chain, if it lies within the limits and after the last firing."""
        at, first = link.seen.position, link.first
        if first.position <= state.fired:
            return None
        if not self.within.holds(at - first.position + 1, link.seen.mark.us - first.mark.us, rows.timed):
            return None
        state.fired = at
        # Whatever stands now starts too early to fire again.
        state.standing = [None] * len(state.standing)
        state.runs = [()] * len(state.runs)
        return link

    def _reaches(self, i: int, start: Seen, at: int, us: int, timed: bool) -> bool:
        """Whether gaps and soon of place i hold from one matched event to the next."""
        gaps, soon = self.gaps[i], self.soon[i]
        if gaps is not None and at - start.position - 1 > gaps:
            return False
        return soon is None or soon.holds(at - start.position, us - start.mark.us, timed)

    def goes_on(self, i: int, link: Link, rows: Rows) -> bool:
        """Whether the place behind place i could stand after the event the rows stand at, or at it."""
        return i >= self.last or self._reaches(i + 1, link.seen, rows.n - 1, rows.us, rows.timed)

    def _link(self, state: SequenceState, rows: Rows, mark: Mark, i: int, before: Link | None) -> Link:
        step = self.steps[i]
        capture = self.captures[step]
        captured = () if capture is None else capture(rows, self.plan.nothing, self.plan.none)
        seen = new(Seen, (rows.n - 1, mark, captured))
        also: tuple[Seen, ...] = ()
        if before is None:
            if self.collects[i]:
                also = self._also(state, rows, i, seen, -1)
            return link_of(seen, None, seen, (captured, *self.rest), also, ())
        behind = before.last
        last = (*behind[:step], captured, *behind[step + 1 :])
        if self.collects[i]:
            also = self._also(state, rows, i, seen, before.seen.position)
        fills = state.fills[i - 1]
        return link_of(seen, before, before.first, last, also, fills[-1] if fills else ())

    def _seen(self, rows: Rows, mark: Mark, step: int) -> Seen:
        capture = self.captures[step]
        captured = () if capture is None else capture(rows, self.plan.nothing, self.plan.none)
        return Seen(rows.n - 1, mark, captured)

    def _also(self, state: SequenceState, rows: Rows, i: int, seen: Seen, before: int) -> tuple[Seen, ...]:
        """Earlier events of a collecting step, as far back as each is within reach of the next."""
        run = state.runs[i]
        if run and not self._reaches(i, run[-1], seen.position, seen.mark.us, rows.timed):
            run = ()
        state.runs[i] = (*run[1 - MOST_ALSO :], seen)
        floor = max(before, state.fired)
        if not run or run[0].position > floor:
            return run
        return tuple([one for one in run if one.position > floor])

    def _between(self, state: SequenceState, rows: Rows, mark: Mark, i: int) -> None:
        """Note what this event is to a chain that waits for place i: a never, or an optional step."""
        never = self.nevers[i]
        if never is not None and not state.blocked[i] and never(rows, self.plan.nothing, self.plan.none):
            state.blocked[i] = True
        fills = state.fills[i - 1]
        if fills:
            old, meets = list(fills), self.optionals[i - 1]
            for j, (ask, step) in enumerate(meets):
                if ask(rows, self.plan.nothing, self.plan.none):
                    fills[j] = (*(old[j - 1] if j else ()), self._seen(rows, mark, step))
                elif old[j][j] is None:
                    fills[j] = (*(fills[j - 1] if j else ()), None)

    def _stood(self, state: SequenceState, i: int) -> None:
        """Place i stands at this event: what lies between it and the next place starts anew."""
        state.blocked[i + 1] = False
        if self.optionals[i]:
            state.fills[i] = unfilled(len(self.optionals[i]))

    def change(
        self, program: Program, source: str, key: Any, subject: str, rows: Rows, fired: Link
    ) -> Change:
        """The detection of a chain, read where it fires."""
        return self.fired.change(program, source, key, subject, rows, fired)
