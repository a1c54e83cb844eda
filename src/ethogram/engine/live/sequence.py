"""Sequences: for each place the latest chain that stands there, and what was read along it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...language.ast import Duration, Events, Expr, Limits, StepMean, StepValue
from ...language.program import Program, SequenceProgram
from ...language.visitor import expressions, walk
from ...models.event import Event
from ..history import NO_CHAIN, Chain, History, Seen
from ..match import CLOSED, Change, Match
from .expressions import Judge, holds, reader

MOST_ALSO = 50
Fill = tuple[Seen | None, ...]
"""The events that fill the optional steps of one gap, in the order of the steps."""


class Limit(NamedTuple):
    """Limits as two numbers; None where there is none. Durations are inclusive."""

    events: int | None
    us: int | None

    def holds(self, events: int, us: int, timed: bool) -> bool:
        """Whether so many events and microseconds are not too many."""
        if self.events is not None and events > self.events:
            return False
        return self.us is None or us <= self.us or not timed


def limit_of(limits: Limits) -> Limit | None:
    """The narrowest of each kind."""
    events = [limit.n for limit in limits if isinstance(limit, Events)]
    durations = [limit.us for limit in limits if isinstance(limit, Duration)]
    return Limit(min(events, default=None), min(durations, default=None)) if limits else None


class Link(NamedTuple):
    """One place standing at an event, with the chain behind it.

    `last` is the newest event of each step along the chain; `also` are further events of the step, oldest
    first; `fill` the optional steps between the place before and this one.
    """

    seen: Seen
    before: Link | None
    first: Seen
    last: Chain
    also: tuple[Seen, ...]
    fill: Fill

    def chain(self) -> list[Link]:
        """The links of the chain, first place first."""
        links = [self]
        while links[-1].before is not None:
            links.append(links[-1].before)
        return links[::-1]


class SequenceState:
    """What a sequence remembers of one history: a chain per place, whatever the length of the history.

    `blocked`: a `never` was met since the place before stood. `runs`: for each step that collects, the
    newest events at which its first place stood, each within reach of the next. `fills[i][j]`: the best
    filling of the first j + 1 optional steps after place i, up to now.
    """

    __slots__ = ("blocked", "fills", "fired", "runs", "standing")

    def __init__(self, optionals: list[int]) -> None:
        places = len(optionals)
        self.standing: list[Link | None] = [None] * places
        self.blocked = [False] * places
        self.runs: list[tuple[Seen, ...]] = [()] * places
        self.fills: list[list[Fill]] = [unfilled(n) for n in optionals]
        self.fired = -1


def unfilled(n: int) -> list[Fill]:
    return [(None,) * (j + 1) for j in range(n)]


class Sequence:
    """A sequence program: moves the state of a history on by one event."""

    def __init__(self, program: Program, body: SequenceProgram) -> None:
        self.program, self.body, self.judge = program, body, Judge(program)
        places = body.places
        self.conditions = [holds(place.condition) for place in places]
        self.first = reader(places[0].condition)
        # Places of the first step share one condition, so test it once.
        self.alike = [place.condition == places[0].condition for place in places]
        self.nevers = [[holds(never) for never in place.nevers] for place in places]
        self.max_gaps = [place.max_gap for place in places]
        self.limits = [limit_of(place.within) for place in places]
        self.within = limit_of(body.within)
        self.steps = [place.step for place in places]
        self.collects = [
            place.step in body.collects and self.steps.index(place.step) == i
            for i, place in enumerate(places)
        ]
        self.optionals = [
            [optional for optional in body.optionals if optional.after == i] for i in range(len(places))
        ]
        self.captured: dict[str, list[tuple[Expr, Any]]] = {}
        for outer in expressions(
            (body, program.confidence, program.severities, program.details, program.explanation)
        ):
            for item in walk(outer):
                if isinstance(item, (StepValue, StepMean)):
                    pair = (item.of, reader(item.of))
                    if pair not in self.captured.setdefault(item.step, []):
                        self.captured[item.step].append(pair)
        self.later = range(len(places) - 1, 0, -1)
        # Places before which something may lie that matters: a never, or an optional step.
        self.watched = [
            bool(never) or bool(i and self.optionals[i - 1]) for i, never in enumerate(self.nevers)
        ]

    def start(self) -> SequenceState:
        """The state of a history in which nothing stands."""
        return SequenceState([len(optional) for optional in self.optionals])

    def step(self, k: int, event: Event, us: int, history: History) -> Change | None:
        """Move the k-th state of the history on by the newest event; a match where the whole fires."""
        link = self.advance(k, event, us, history)
        if link is None or not self.may_fire(history.states[k], link, history):
            return None
        state = history.states[k]
        state.fired = link.seen.position
        # All current chains start too early to fire again.
        state.standing, state.runs = [None] * len(self.steps), [()] * len(self.steps)
        return Change(CLOSED, self.match(link, history))

    def advance(self, k: int, event: Event, us: int, history: History) -> Link | None:
        """Move on by the newest event; the link of the last place, if that stands now.

        A chain that can never continue is dropped. Later chains of a place never start earlier, so none that
        could fire is missed.
        """
        at, state, last = history.n - 1, history.states[k], None
        begins: bool | None = None
        if state is not None:
            # From the last place to the first, so that each place reads the state of earlier events.
            standing = state.standing
            for i in self.later:
                before = standing[i - 1]
                if before is None:
                    continue
                if not self.reaches(i, before.seen, at, us, history.timed):
                    standing[i - 1] = None
                    continue
                stands = not state.blocked[i]
                if stands and self.alike[i]:
                    if begins is None:
                        begins = bool(self.conditions[0](event, at, history))
                    stands = begins
                elif stands:
                    history.chain = before.last
                    stands = self.conditions[i](event, at, history)
                    history.chain = NO_CHAIN
                link = self._link(state, event, us, history, i, before) if stands else None
                if self.watched[i]:
                    self._between(state, event, us, history, i)
                if link is not None:
                    standing[i] = link
                    if i + 1 == len(standing):
                        last = link
                    elif self.watched[i + 1]:
                        self._clear_between(state, i)
        bit = 1 << k
        if begins is None:
            begins = bool(self.conditions[0](event, at, history))
        if begins:
            history.known |= bit
            if state is None:
                state = history.states[k] = self.start()
            state.standing[0] = link = self._link(state, event, us, history, 0, None)
            if not self.later:
                last = link
            elif self.watched[1]:
                self._clear_between(state, 0)
        else:
            if not history.known & bit and self.first(event, at, history) is not None:
                history.known |= bit
            if state is not None and not any(state.standing) and not any(state.runs):
                history.states[k] = None  # what begins later begins after the last firing
        return last

    def reaches(self, i: int, start: Seen, at: int, us: int, timed: bool) -> bool:
        """Whether max_gap and within of place i hold from one matched event to the next."""
        max_gap, limit = self.max_gaps[i], self.limits[i]
        if max_gap is not None and at - start.position - 1 > max_gap:
            return False
        return limit is None or limit.holds(at - start.position, us - start.us, timed)

    def may_fire(self, state: SequenceState, link: Link, history: History) -> bool:
        """Whether a chain of all places lies within the limits and after the last firing."""
        return link.first.position > state.fired and self.inside(link.first, link.seen, history.timed)

    def inside(self, first: Seen, last: Seen, timed: bool) -> bool:
        """Whether two events lie within `within` of each other, both ends counted."""
        return self.within is None or self.within.holds(
            last.position - first.position + 1, last.us - first.us, timed
        )

    def _seen(self, event: Event, us: int, history: History, step: str) -> Seen:
        at, captured = history.n - 1, self.captured.get(step)
        values = {of: read(event, at, history) for of, read in captured} if captured else {}
        return Seen(at, event, us, values)

    def _link(
        self, state: SequenceState, event: Event, us: int, history: History, i: int, before: Link | None
    ) -> Link:
        step = self.steps[i]
        seen = self._seen(event, us, history, step)
        also: tuple[Seen, ...] = ()
        if self.collects[i]:
            also = self._also(state, history, i, seen, -1 if before is None else before.seen.position)
        if before is None:
            return Link(seen, None, seen, {step: (seen,)}, also, ())
        fills = state.fills[i - 1]
        last = {**before.last, step: (seen,)}
        return Link(seen, before, before.first, last, also, fills[-1] if fills else ())

    def _also(
        self, state: SequenceState, history: History, i: int, seen: Seen, before: int
    ) -> tuple[Seen, ...]:
        """Earlier events of a collecting step, as far back as each is within reach of the next."""
        run = state.runs[i]
        if run and not self.reaches(i, run[-1], seen.position, seen.us, history.timed):
            run = ()
        state.runs[i] = (*run[1 - MOST_ALSO :], seen)
        floor = max(before, state.fired)
        return tuple([item for item in run if item.position > floor])

    def _between(self, state: SequenceState, event: Event, us: int, history: History, i: int) -> None:
        """Note what this event is to a chain that waits for place i: a never, or an optional step."""
        at = history.n - 1
        if not state.blocked[i] and any(never(event, at, history) for never in self.nevers[i]):
            state.blocked[i] = True
        fills = state.fills[i - 1]
        if fills:
            old = list(fills)
            for j, optional in enumerate(self.optionals[i - 1]):
                if holds(optional.condition)(event, at, history):
                    fills[j] = (*(old[j - 1] if j else ()), self._seen(event, us, history, optional.step))
                elif old[j][j] is None:
                    fills[j] = (*(fills[j - 1] if j else ()), None)

    def _clear_between(self, state: SequenceState, i: int) -> None:
        """Place i stands at this event: what lies between it and the next place starts anew."""
        state.blocked[i + 1] = False
        state.fills[i] = unfilled(len(self.optionals[i]))

    def match(self, fired: Link, history: History) -> Match:
        """The match of a chain, read where it fires."""
        chain: dict[str, list[Seen]] = {}
        evidence: list[tuple[int, int, str, Event]] = []
        for i, link in enumerate(fired.chain()):
            also = [item for item in link.also if self.inside(item, fired.seen, history.timed)]
            optionals = zip(self.optionals[i - 1] if i else (), link.fill, strict=True)
            filled = [(item.step, seen) for item, seen in optionals if seen is not None]
            for step, seen in (*filled, *((self.steps[i], item) for item in (*also, link.seen))):
                chain.setdefault(step, []).append(seen)
                evidence.append((seen.position, len(evidence), step, seen.event))
        evidence.sort(key=lambda item: item[:2])
        history.chain = chain
        event, at, us = fired.seen.event, fired.seen.position, fired.seen.us
        judge = self.judge
        confidence = judge.confidence(event, at, history)
        made = Match(
            self.program,
            history.source,
            history.key,
            fired=event,
            first=fired.first.event.id,
            last=event.id,
            last_at=us,
            count=len(evidence),
            severity=judge.severity(event, at, history),
            confidence=confidence,
            fired_confidence=confidence,
            opened_at=fired.first.us,
            detected_at=us,
            closed_at=us,
            evidence=tuple((step, event) for _, _, step, event in evidence),
            details=judge.details(event, at, history),
            explanation=judge.explanation(event, at, history),
        )
        history.chain = NO_CHAIN
        return made


class Replay:
    """A sequence over a full history: the link of each place at every event where it stood, and all firings.

    Nothing is forgotten at a firing, as nothing is in the meaning of a sequence.
    """

    def __init__(self, machine: Sequence, history: History) -> None:
        self.links: list[dict[int, Link]] = [{} for _ in machine.steps]
        self.fired: list[int] = []
        history.states, history.known, total = [None], 0, history.n
        for at in range(total):
            history.n = at + 1
            last = machine.advance(0, history.events[at], history.times[at], history)
            state = history.states[0]
            for i, link in enumerate(state.standing if state is not None else ()):
                if link is not None and link.seen.position == at:
                    self.links[i][at] = link
            if last is not None and machine.may_fire(state, last, history):
                self.fired.append(at)
                state.fired = at
        history.n = total
        self.state: SequenceState | None = history.states[0]
