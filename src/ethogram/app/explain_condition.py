"""Conditions, thresholds and sequences taken apart: values on both sides of every comparison."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from ..engine.history import NO_CHAIN, Chain, History
from ..engine.live.expressions import number, read_at
from ..engine.live.sequence import Replay, Sequence, limit_of
from ..fields import Ordinal
from ..language.ast import And, AnyOf, Compare, Expr, Known, Limits, Member, Not, Number, Or, OrElse, Text
from ..language.program import Place, Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ..language.three_valued import above
from ..language.unparse import write, write_limits
from ..language.visitor import MEASURES, children, walk
from ..models import Value, format_time, moment
from ..models.record import Record
from ..models.slotted import dataclass

# A condition at one event, taken apart: every comparison with the values on both of its sides.


class Measured(NamedTuple):
    """An expression and its value; None: unknown."""

    text: str
    value: Value | None


@dataclass(frozen=True, slots=True)
class Spot(Record):
    """An event of a history; `position` counts from 1."""

    event: str
    at: datetime
    position: Ordinal


@dataclass(frozen=True, slots=True)
class Comparison(Record):
    """One yes/no question inside a condition, its answer (None: unknown), and the values that decided it.

    With `op` (<, >= ...) the values are its left and right side; without, whatever it looks at.
    """

    text: str
    truth: bool | None
    op: str | None
    values: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class Judged(Record):
    """A condition at an event. `measures` are the values of the windows it looks at."""

    text: str
    truth: bool | None
    comparisons: tuple[Comparison, ...]
    measures: tuple[Measured, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit(Record):
    """One limit of a shape, whether it held, and a sentence with the numbers."""

    limit: str
    holds: bool
    said: str


def how_long(us: int) -> str:
    """A stretch of time in its two largest units.

    >>> how_long(172_800_000_000), how_long(123_456_000_000), how_long(90_500_000), how_long(400_000)
    ('2d', '1d 10h', '1m 30s', '0.4s')
    """
    if us < 60_000_000:
        return f"{us / 1e6:.3g}s"
    parts, left = [], us // 1_000_000
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        parts.append((left // size, unit))
        left %= size
    first = next(i for i, (n, _) in enumerate(parts) if n)
    return " ".join(f"{n}{unit}" for n, unit in parts[first : first + 2] if n)


def spot(history: History, at: int) -> Spot:
    """Where in a history a position is."""
    event = history.events[at]
    return Spot(event.id, event.at, at + 1)


def judge(expr: Expr, history: History, at: int, chain: Chain = NO_CHAIN) -> Judged:
    """The condition at a position, with everything that went into its answer."""

    def read(item: Expr) -> Value | None:
        value: Value | None = read_at(item, history, at, chain)
        return value

    comparisons = tuple(
        Comparison(
            write(question),
            _truth(read(question)),
            question.op if isinstance(question, Compare) else None,
            tuple(Measured(write(side), read(side)) for side in _sides(question)),
        )
        for question in _questions(expr)
    )
    truth = _truth(read(expr))
    return Judged(write(expr), truth, comparisons, measures(expr, history, at))


def measures(expr: Expr, history: History, at: int) -> tuple[Measured, ...]:
    """Every measure inside an expression, with its value at a position."""
    found = dict.fromkeys(item for item in walk(expr) if isinstance(item, MEASURES))
    return tuple(Measured(write(item), read_at(item, history, at)) for item in found)


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _questions(expr: Expr) -> Iterator[Expr]:
    """The smallest yes/no questions: `and` and `or` are opened up, `not` stays with what it turns round."""
    if isinstance(expr, (And, Or)):
        for item in expr.items:
            yield from _questions(item)
    else:
        yield expr


def _sides(expr: Expr) -> tuple[Expr, ...]:
    """The values a question compares. Behind a word, numbers written in it need no telling."""
    if isinstance(expr, Compare):
        return (expr.left, expr.right)
    return tuple(dict.fromkeys(item for item in _looked_at(expr) if not isinstance(item, (Number, Text))))


def _looked_at(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Compare() | Member() | AnyOf():
            yield from children(expr)
        case And() | Or() | Not() | Known() | OrElse():
            for item in children(expr):
                yield from _looked_at(item)
        case _:
            yield expr


def nearness(expr: Expr, history: History, at: int, chain: Chain = NO_CHAIN) -> float:
    """How near a condition is to being true, 0 to 1: only for choosing which event to show.

    A false comparison of numbers counts by how far apart they are; unknown counts nothing.
    """
    match expr:
        case And() | Or():
            parts = [nearness(item, history, at, chain) for item in expr.items]
            return sum(parts) / len(parts) if isinstance(expr, And) else max(parts)
        case _:
            truth = read_at(expr, history, at, chain)
    if truth is True or not isinstance(expr, Compare):
        return float(truth is True)
    left = number(read_at(expr.left, history, at, chain))
    right = number(read_at(expr.right, history, at, chain))
    if left is None or right is None:
        return 0.0
    return 0.99 * (1 - abs(left - right) / max(abs(left) + abs(right), 1e-9))


# How near a threshold came to opening, and which deadlines a silence let pass.

SHOWN = 5
"""Deadlines told of one history: there is one after every event."""


@dataclass(frozen=True, slots=True)
class ThresholdWhy(Record):
    """How often `when` was true, false and unknown, and all its numbers at one event.

    The event is the one asked for, else the last at which it opened, else the one that came nearest.
    """

    true: int
    false: int
    unknown: int
    spot: Spot
    when: Judged
    clears: Judged | None
    stays: bool


@dataclass(frozen=True, slots=True)
class Wait(Record):
    """The wait after one event. `seconds` is how long it may be, and `measures` what made it so.

    It lasted until `next_at`: the next event or, where `ended` is false, the moment of the question.
    """

    spot: Spot
    after: Judged | None
    seconds: float | None
    measures: tuple[Measured, ...]
    deadline: datetime | None
    next_at: datetime
    ended: bool
    fired: bool


@dataclass(frozen=True, slots=True)
class SilenceWhy(Record):
    """`counted` events set a deadline: at least the `at_least`-th, meeting `after`, with a known limit."""

    longer_than: str
    after: str | None
    at_least: int
    counted: int
    waits: tuple[Wait, ...]


def why_threshold(
    body: ThresholdProgram, history: History, opened: list[int], at: int | None = None
) -> ThresholdWhy:
    """The threshold in a history in which it opened at these positions."""
    events = range(len(history.events))
    truths = [read_at(body.when, history, event) for event in events]
    if at is None:
        at = opened[-1] if opened else max(events, key=lambda e: (nearness(body.when, history, e), e))
    return ThresholdWhy(
        true=truths.count(True),
        false=truths.count(False),
        unknown=truths.count(None),
        spot=spot(history, at),
        when=judge(body.when, history, at),
        clears=None if body.clears is None else judge(body.clears, history, at),
        stays=body.stays,
    )


def why_silence(body: SilenceProgram, history: History, as_of: int, at: int | None = None) -> SilenceWhy:
    """The silence in a history: the deadlines that passed, the one that came nearest, and the last."""
    waits = [_wait(body, history, as_of, event) for event in range(len(history.events))]
    return SilenceWhy(
        longer_than=_limit(body.longer_than),
        after=None if body.after is None else write(body.after),
        at_least=body.at_least,
        counted=sum(wait.deadline is not None for wait in waits),
        waits=tuple(_chosen(waits) if at is None else [waits[at]]),
    )


def _limit(expr: Expr) -> str:
    if isinstance(expr, Number) and expr.value >= 0:
        return how_long(round(expr.value * 1e6))
    return f"{write(expr)} seconds"


def _wait(body: SilenceProgram, history: History, as_of: int, at: int) -> Wait:
    ended = at + 1 < len(history.events)
    following = history.times[at + 1] if ended else as_of
    after = None if body.after is None else judge(body.after, history, at)
    seconds = number(read_at(body.longer_than, history, at))
    counts = at + 1 >= body.at_least and (after is None or after.truth is True)
    deadline = None
    if counts and seconds is not None and not above(0.0, seconds):
        deadline = history.times[at] + max(0, round(seconds * 1e6))
    return Wait(
        spot(history, at),
        after,
        seconds,
        measures(body.longer_than, history, at),
        None if deadline is None else moment(deadline),
        moment(following),
        ended,
        deadline is not None and following > deadline,
    )


def _chosen(waits: list[Wait]) -> list[Wait]:
    fired = [wait for wait in waits if wait.fired][-SHOWN:]
    near = [wait for wait in waits if wait.deadline is not None]
    nearest = max(near, key=_lateness, default=None)
    chosen = {item.spot.position: item for item in (*fired, waits[-1], nearest) if item is not None}
    return [chosen[position] for position in sorted(chosen)]


def _lateness(wait: Wait) -> float:
    assert wait.deadline is not None
    return (wait.next_at - wait.deadline).total_seconds()


# How far a sequence came in a history, and which limit stopped it there.


@dataclass(frozen=True, slots=True)
class Tried(Record):
    """One event held against one place of a step: its condition, and every limit from the place before."""

    spot: Spot
    place: int
    condition: Judged
    limits: tuple[Limit, ...]

    @property
    def stands(self) -> bool:
        """Whether nothing was lacking."""
        return self.condition.truth is True and all(limit.holds for limit in self.limits)


@dataclass(frozen=True, slots=True)
class StepWhy(Record):
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
class SequenceWhy(Record):
    """Steps in order; `limits` are those of the whole, at the last event where all steps stood unfired."""

    steps: tuple[StepWhy, ...]
    limits: tuple[Limit, ...]
    complete: Spot | None


def why_sequence(
    program: Program, body: SequenceProgram, history: History, at: int | None = None
) -> SequenceWhy:
    """Every step with how far it came; `at` is the position to look at, if one is asked for."""
    walk = _Walk(program, body, history)
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
    """A history gone through to its end, and what can be read off afterwards."""

    def __init__(self, program: Program, body: SequenceProgram, history: History) -> None:
        self.body, self.history = body, history
        self.machine = Sequence(program, body)
        replay = Replay(self.machine, history)
        self.links, self.fired = replay.links, replay.fired
        self.standing = [sorted(links) for links in self.links]
        self.hits: dict[Expr, list[int]] = {}

    def before(self, i: int, at: int) -> int | None:
        """The latest event before `at` at which the place before i stood."""
        if i == 0:
            return None
        index = bisect_left(self.standing[i - 1], at)
        return self.standing[i - 1][index - 1] if index else None

    def chain(self, i: int, at: int) -> Chain:
        previous = self.before(i, at)
        return NO_CHAIN if previous is None else self.links[i - 1][previous].last

    def truth(self, i: int, at: int) -> bool | None:
        value: bool | None = read_at(self.body.places[i].condition, self.history, at, self.chain(i, at))
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
            failed = sum(not limit.holds for limit in self.limits(lacking, event))
            failed += self.truth(lacking, event) is not True
            near = nearness(condition, self.history, event, self.chain(lacking, event))
            return (failed, -near, -event)

        return self.tried(lacking, min(events, key=miss), first)

    def tried(self, i: int, at: int, first: int) -> Tried:
        """What event `at` is to place i."""
        condition = judge(self.body.places[i].condition, self.history, at, chain=self.chain(i, at))
        return Tried(spot(self.history, at), i - first + 1, condition, self.limits(i, at))

    def limits(self, i: int, at: int) -> tuple[Limit, ...]:
        """Every limit between event `at` for place i and the event at which the place before stood."""
        if i == 0:
            return ()
        place, previous = self.body.places[i], self.before(i, at)
        if previous is None:
            return (Limit("order", False, f"{self._place(i - 1)} had not stood before this event"),)
        found = []
        if place.max_gap is not None:
            between = at - previous - 1
            text = f"{_events(between)} between, at most {place.max_gap} allowed"
            found.append(Limit("max_gap", between <= place.max_gap, text))
        if place.within:
            held = self._holds(place.within, previous, at)
            found.append(Limit("within", held, self._distance(previous, at, place.within)))
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
            events = range(len(self.history.events))
            self.hits[never] = [t for t in events if read_at(never, self.history, t) is True]
        return self.hits[never]

    def _holds(self, limits: Limits, start: int, end: int, ends: int = 0) -> bool:
        limit, times = limit_of(limits), self.history.times
        return limit is None or limit.holds(end - start + ends, times[end] - times[start], self.history.timed)

    def _place(self, i: int) -> str:
        place = self.body.places[i]
        same = [k for k, item in enumerate(self.body.places) if item.step == place.step]
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
        start = self.links[last][event].first.position
        within = self._holds(self.body.within, start, event, ends=1)
        found = [Limit("within", within, self._distance(start, event, self.body.within, ends=1))]
        earlier = [item for item in self.fired if item < event]
        if earlier:
            fired = self.history.events[earlier[-1]]
            text = f"its first event must come after the last firing, at event {fired.id}"
            text += f" ({format_time(fired.at)})" if self.history.timed else ""
            found.append(Limit("new", start > earlier[-1], text))
        return tuple(found), spot(self.history, event)


def _events(n: int) -> str:
    return f"{n} event{'' if n == 1 else 's'}"
