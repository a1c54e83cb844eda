"""How far a sequence came in a history, and which limit stopped it there."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from ..records import format_time
from ..shapes.compile import uses_steps
from ..shapes.evaluate import NO_CHAIN, Chain, reader
from ..shapes.history import History
from ..shapes.match import Matcher, holds
from ..shapes.program import Place, SequenceProgram
from ..shapes.tree import Expr, Limits
from ..shapes.write import write, write_limits
from .why_condition import Judged, Limit, Spot, how_long, judge, nearness, spot


@dataclass(frozen=True, slots=True)
class Tried:
    """One event held against one place of a step: its condition, and every limit from the place before."""

    spot: Spot
    place: int
    condition: Judged
    limits: tuple[Limit, ...]

    @property
    def stands(self) -> bool:
        """Whether nothing was lacking."""
        return self.condition.truth is True and all(one.holds for one in self.limits)


@dataclass(frozen=True, slots=True)
class StepWhy:
    """What became of a step: `stood` counts the events at which its places stood so far, one by one.

    `tried` is the event asked for, or where the step did not stand, the one that came nearest.
    """

    step: str
    condition: str
    places: int
    met: int
    unknown: int
    stood: tuple[int, ...]
    last: Spot | None
    tried: Tried | None


@dataclass(frozen=True, slots=True)
class SequenceWhy:
    """Steps in order; `limits` are those of the whole, at the last event where all steps stood unfired."""

    steps: tuple[StepWhy, ...]
    limits: tuple[Limit, ...]
    complete: Spot | None


def why_sequence(body: SequenceProgram, history: History, cap: int, at: int | None = None) -> SequenceWhy:
    """Every step with how far it came; `at` is the position to look at, if one is asked for."""
    walk = _Walk(body, history, cap)
    steps = []
    blocked = False
    for first, last in _spans(body.places):
        stood = bool(walk.standing[last])
        show = at is not None or not (stood or blocked)
        steps.append(walk.step(first, last, at, show=show))
        blocked = blocked or not stood
    limits, complete = walk.ending(at)
    return SequenceWhy(tuple(steps), limits, complete)


def _spans(places: tuple[Place, ...]) -> list[tuple[int, int]]:
    """First and last place of every step."""
    names = [place.step for place in places]
    return [(names.index(name), len(names) - 1 - names[::-1].index(name)) for name in dict.fromkeys(names)]


class _Walk:
    """A history walked to its end by the matcher, and what can be read off afterwards."""

    def __init__(self, body: SequenceProgram, history: History, cap: int) -> None:
        self.body, self.history, self.cap = body, history, cap
        self.matcher = Matcher(body, history, cap)
        self.fired = [at for at, _ in self.matcher.firings()]
        self.standing = [sorted(before) for before in self.matcher.before]
        self.hits: dict[Expr, list[int]] = {}

    def before(self, i: int, at: int) -> int | None:
        """The latest event before `at` at which the place before i stood."""
        if i == 0:
            return None
        index = bisect_left(self.standing[i - 1], at)
        return self.standing[i - 1][index - 1] if index else None

    def chain(self, i: int, at: int) -> Chain:
        previous = self.before(i, at)
        if previous is None or not uses_steps(self.body.places[i].condition):
            return NO_CHAIN
        return self.matcher.chain(self.matcher.positions(i - 1, previous))

    def truth(self, i: int, at: int) -> bool | None:
        value: bool | None = reader(self.body.places[i].condition, self.cap)(
            self.history, at, self.chain(i, at)
        )
        return value

    def step(self, first: int, last: int, at: int | None, *, show: bool) -> StepWhy:
        place = self.body.places[first]
        truths = [self.truth(first, event) for event in range(len(self.history.events))]
        stood = tuple(len(self.standing[i]) for i in range(first, last + 1))
        final = self.standing[last]
        return StepWhy(
            step=place.step,
            condition=write(place.condition),
            places=last - first + 1,
            met=truths.count(True),
            unknown=truths.count(None),
            stood=stood,
            last=spot(self.history, final[-1]) if final else None,
            tried=self._shown(first, last, at) if show else None,
        )

    def _shown(self, first: int, last: int, at: int | None) -> Tried | None:
        """The event asked for, at the furthest place that could be tried; else the nearest miss."""
        lacking = next((i for i in range(first, last + 1) if not self.standing[i]), last)
        if at is not None:
            reached = [i for i in range(first, last + 1) if i == first or self.before(i, at) is not None]
            return self.tried(reached[-1], at, first)
        events = [
            event
            for event in range(len(self.history.events))
            if lacking == 0 or self.before(lacking, event) is not None
        ]
        if not events:
            return None
        condition = self.body.places[lacking].condition

        def miss(event: int) -> tuple[int, float, int]:
            failed = sum(not one.holds for one in self.limits(lacking, event))
            failed += self.truth(lacking, event) is not True
            near = nearness(condition, self.history, event, self.cap, self.chain(lacking, event))
            return (failed, -near, -event)

        return self.tried(lacking, min(events, key=miss), first)

    def tried(self, i: int, at: int, first: int) -> Tried:
        """What event `at` is to place i."""
        condition = judge(self.body.places[i].condition, self.history, at, self.cap, chain=self.chain(i, at))
        return Tried(spot(self.history, at), i - first + 1, condition, self.limits(i, at))

    def limits(self, i: int, at: int) -> tuple[Limit, ...]:
        """Every limit between event `at` for place i and the event at which the place before stood."""
        if i == 0:
            return ()
        place, previous = self.body.places[i], self.before(i, at)
        if previous is None:
            return (Limit("order", False, f"{self._place(i - 1)} had not stood before this event"),)
        found = []
        if place.gaps is not None:
            between = at - previous - 1
            said = f"{_events(between)} between, at most {place.gaps} allowed"
            found.append(Limit("gaps", between <= place.gaps, said))
        if place.soon:
            held = holds(self.history, place.soon, previous, at)
            found.append(Limit("soon", held, self._distance(previous, at, place.soon)))
        return (*found, *self._nevers(place, previous, at))

    def _nevers(self, place: Place, previous: int, at: int) -> list[Limit]:
        found = []
        for never in place.nevers:
            hits = self._hits(never)
            index = bisect_left(hits, at)
            hit = hits[index - 1] if index and hits[index - 1] > previous else None
            told = "met by no event between" if hit is None else f"met by event {self.history.events[hit].id}"
            found.append(Limit("never", hit is None, f"{write(never)}: {told}"))
        return found

    def _hits(self, never: Expr) -> list[int]:
        if never not in self.hits:
            meets = reader(never, self.cap)
            events = range(len(self.history.events))
            self.hits[never] = [t for t in events if meets(self.history, t, NO_CHAIN) is True]
        return self.hits[never]

    def _place(self, i: int) -> str:
        place = self.body.places[i]
        same = [k for k, one in enumerate(self.body.places) if one.step == place.step]
        name = f"step '{place.step}'"
        return name if len(same) == 1 else f"{name} ({same.index(i) + 1} of {len(same)})"

    def _distance(self, start: int, end: int, limits: Limits, ends: int = 0) -> str:
        """How far apart two events are, in what the limits are given in."""
        took = how_long(self.history.times[end] - self.history.times[start])
        took = f"{took}, " if self.history.timed else ""
        origin = self.history.events[start].id
        return f"{took}{_events(end - start + ends)} from event {origin}; at most {write_limits(limits)}"

    def ending(self, at: int | None) -> tuple[tuple[Limit, ...], Spot | None]:
        """The limits of the whole, at the last event where all places stood and it did not fire."""
        last = len(self.body.places) - 1
        complete = [event for event in self.standing[last] if event not in self.fired]
        if at is not None:
            complete = [event for event in self.standing[last] if event == at]
        if not complete:
            return (), None
        event = complete[-1]
        start = self.matcher.positions(last, event)[0]
        within = holds(self.history, self.body.within, start, event, both_ends=True)
        found = [Limit("within", within, self._distance(start, event, self.body.within, ends=1))]
        earlier = [one for one in self.fired if one < event]
        if earlier:
            fired = self.history.events[earlier[-1]]
            said = f"its first event must come after the last firing, at event {fired.id}"
            said += f" ({format_time(fired.at)})" if self.history.timed else ""
            found.append(Limit("new", start > earlier[-1], said))
        return tuple(found), spot(self.history, event)


def _events(n: int) -> str:
    return f"{n} event{'' if n == 1 else 's'}"
