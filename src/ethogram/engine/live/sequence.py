"""Sequences live: for each place, the latest chain that stands there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...language.ast import Duration, Events, Limits, StepValue
from ...language.program import Program, SequenceProgram
from ...language.visitor import MEASURES, walk
from ..plain import MOST_ALSO
from .buffer import Mark, Rows
from .episode import CLOSED, Change, Episode
from .plan import Ask, Judge, Plan
from .source import Captured

# Chains: the events that stand at the places of a sequence, and what a history remembers of them.


class Seen(NamedTuple):
    """A matched event: where it was, and what its step captured there."""

    position: int
    mark: Mark
    captured: Captured


Fill = tuple[Seen | None, ...]
"""The events that fill the optional steps of one gap, in the order of the steps."""


class Link(NamedTuple):
    """One place standing at an event, with the chain behind it.

    `last` is what each step captured last along the chain; `also` are further events of the step, oldest
    first; `fill` the optional steps between the place before and this one.
    """

    seen: Seen
    before: Link | None
    first: Seen
    last: tuple[Captured | None, ...]
    also: tuple[Seen, ...]
    fill: Fill


# Makes a named tuple of a tuple: what the class itself does, without matching names to values.
new: Any = tuple.__new__


def link_of(*fields: Any) -> Link:
    """A link of its fields, in order."""
    made: Link = new(Link, fields)
    return made


class SequenceState:
    """What a sequence remembers of one history: a chain per place, whatever the length of the history.

    `blocked`: a `never` was met since the place before stood. `runs`: for each step that collects, the
    newest events at which its first place stood, each within reach of the next.
    """

    __slots__ = ("blocked", "fills", "fired", "idle", "known", "runs", "standing")

    def __init__(self, places: int, gaps: list[int]) -> None:
        self.standing: list[Link | None] = [None] * places
        self.blocked = [False] * places
        self.runs: list[tuple[Seen, ...]] = [()] * places
        # fills[a][j]: the best filling of the first j + 1 optional steps after place a, up to now.
        self.fills: list[list[Fill]] = [unfilled(n) for n in gaps]
        self.fired = -1
        self.known = False
        self.idle = False
        """Whether nothing stands, so that only the first place need be looked at."""


def unfilled(n: int) -> list[Fill]:
    return [(None,) * (j + 1) for j in range(n)]


class Limit(NamedTuple):
    """Limits as two numbers; None where there is none."""

    events: int | None
    us: int | None

    def holds(self, events: int, us: int, timed: bool) -> bool:
        """Whether so many events and microseconds are not too many."""
        if self.events is not None and events > self.events:
            return False
        return self.us is None or us <= self.us or not timed


def limit_of(limits: Limits) -> Limit:
    """The narrowest of each kind."""
    events = [limit.n for limit in limits if isinstance(limit, Events)]
    durations = [limit.us for limit in limits if isinstance(limit, Duration)]
    return Limit(min(events, default=None), min(durations, default=None))


def chain(link: Link) -> list[Link]:
    """The links of a chain, first place first."""
    found = [link]
    while found[-1].before is not None:
        found.append(found[-1].before)
    return found[::-1]


# What is told of a sequence that fires, read where it does.


class Fired:
    """Makes detections of chains. `steps`: of which step each place is; `optionals`: behind each place."""

    def __init__(
        self,
        plan: Plan,
        body: SequenceProgram,
        judge: Judge,
        steps: Sequence[int],
        optionals: Sequence[Sequence[tuple[Ask, int]]],
    ) -> None:
        self.plan, self.body, self.judge = plan, body, judge
        self.steps, self.optionals = steps, optionals
        self.within = limit_of(body.within)

    def change(
        self, program: Program, source: str, key: Any, subject: str, rows: Rows, fired: Link
    ) -> Change:
        """The detection of a chain, read where it fires."""
        places = chain(fired)
        all_: list[list[Captured]] = [[] for _ in self.plan.captures.steps]
        last = list(fired.last)
        evidence: list[tuple[int, str, Mark]] = []
        for i, link in enumerate(places):
            step = self.steps[i]
            seen = [item for item in link.also if self._inside(item, fired, rows.timed)] + [link.seen]
            evidence += [(item.position, self.body.places[i].step, item.mark) for item in seen]
            all_[step] += [item.captured for item in seen]
            for filled, (_, optional) in zip(link.fill, self.optionals[i - 1] if i else (), strict=False):
                if filled is not None:
                    evidence.append((filled.position, self.plan.captures.steps[optional], filled.mark))
                    all_[optional] = [filled.captured]
                    last[optional] = filled.captured
        evidence.sort(key=lambda item: item[:2])
        confidence = self.judge.confidence(rows, last, all_)
        us = fired.seen.mark.us
        return Change(
            CLOSED,
            Episode(
                program, source, key,
                fired=fired.seen.mark,
                first=fired.first.mark.id,
                last=fired.seen.mark.id,
                last_at=us,
                count=len(evidence),
                severity=self.judge.severity(rows, last, all_),
                confidence=confidence,
                fired_confidence=confidence,
                opened_at=fired.first.mark.us,
                detected_at=us,
                closed_at=us,
                evidence=tuple((step, mark) for _, step, mark in evidence),
                details=self.judge.details(rows, last, all_),
                explanation=self.judge.explanation(rows, subject, last, all_),
            ),
        )  # fmt: skip

    def _inside(self, seen: Seen, fired: Link, timed: bool) -> bool:
        events = fired.seen.position - seen.position + 1
        return self.within.holds(events, fired.seen.mark.us - seen.mark.us, timed)


# Sequences live: for each place, the latest chain that stands there, and what was read along it.


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
        self.max_gaps = [place.max_gap for place in body.places]
        self.limits = [limit_of(place.within) if place.within else None for place in body.places]
        self.within = limit_of(body.within)
        firsts = {place.step: i for i, place in reversed(list(enumerate(body.places)))}
        self.collects = [
            place.step in body.collects and firsts[place.step] == i for i, place in enumerate(body.places)
        ]
        self.optionals: list[list[tuple[Ask, int]]] = [[] for _ in body.places]
        for k, optional in enumerate(body.optionals):
            self.optionals[optional.after].append(
                (plan.must_ask(f"optional {k}"), steps.index(optional.step))
            )
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
        return SequenceState(len(self.body.places), [len(optional) for optional in self.optionals])

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
            start, max_gap, limit = before.seen, self.max_gaps[i], self.limits[i]
            if (max_gap is not None and at - start.position - 1 > max_gap) or (
                limit is not None and not limit.holds(at - start.position, us - start.mark.us, rows.timed)
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
        """Whether max_gap and within of place i hold from one matched event to the next."""
        max_gap, limit = self.max_gaps[i], self.limits[i]
        if max_gap is not None and at - start.position - 1 > max_gap:
            return False
        return limit is None or limit.holds(at - start.position, us - start.mark.us, timed)

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
        return tuple([item for item in run if item.position > floor])

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


# Contiguous sequences: no event lies between two places, so one bit per place says all there is to say.
#
# Bit i is set where places 1 to i+1 stand at the newest event. One event moves all bits on at once:
# shifted by
# one, and kept where the event meets the condition of the place. Chains are made of the newest marks only
# where somebody asks for them.

MOST_PLACES = 60


def is_contiguous(plan: Plan) -> bool:
    """Whether a program is a sequence whose places follow each other, each judged by its event alone."""
    body = plan.program.body
    if not isinstance(body, SequenceProgram) or body.optionals or body.collects:
        return False
    if len(body.places) > MOST_PLACES or any(plan.captures.wanted):
        return False
    return all(
        (i == 0 or place.max_gap == 0)
        and not place.within
        and not place.nevers
        and not any(isinstance(item, (*MEASURES, StepValue)) for item in walk(place.condition))
        for i, place in enumerate(body.places)
    )


def chain_of(plan: Plan, steps: Sequence[int], rows: Rows, marks: Sequence[Mark], length: int) -> Link:
    """The chain of so many places that ends at the newest of the marks."""
    link: Link | None = None
    for i in range(length):
        seen = Seen(rows.n - length + i, marks[len(marks) - length + i], ())
        behind = plan.nothing if link is None else link.last
        last = (*behind[: steps[i]], (), *behind[steps[i] + 1 :])
        link = Link(seen, link, seen if link is None else link.first, last, (), ())
    assert link is not None
    return link


def stand_by(
    state: SequenceState, bits: int, plan: Plan, steps: Sequence[int], rows: Rows, marks: Sequence[Mark]
) -> None:
    """Write into the state what the bits say. All that stands starts after the last firing."""
    state.fired = rows.n - len(state.standing) - 1
    state.standing = [
        chain_of(plan, steps, rows, marks, i + 1) if bits >> i & 1 else None
        for i in range(len(state.standing))
    ]


def bits_of(state: SequenceState, rows: Rows) -> int:
    """The bits that say what a state does: a chain that ended earlier cannot go on."""
    return sum(
        1 << i
        for i, link in enumerate(state.standing)
        if link is not None and link.seen.position == rows.n - 1
    )


def marks_of(state: SequenceState, rows: Rows) -> list[Mark]:
    """The newest marks that the chains of a state are made of, oldest first."""
    standing = [link for link in state.standing if link is not None and link.seen.position == rows.n - 1]
    marks: list[Mark] = []
    link = max(standing, key=lambda item: item.seen.position - item.first.position, default=None)
    while link is not None:
        marks.append(link.seen.mark)
        link = link.before
    return marks[::-1]
