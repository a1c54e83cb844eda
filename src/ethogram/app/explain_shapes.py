"""Why sequences, thresholds and silences did or did not match: every condition and limit with its numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from ..engine.history import NO_CHAIN, Chain, History
from ..engine.live.expressions import number, read_at
from ..engine.live.sequence import Replay, Sequence, limit_of
from ..engine.live.silence import Silence
from ..fields import Ordinal
from ..language.ast import And, AnyOf, Compare, Expr, Known, Limits, Member, Not, Number, Or, OrElse, Text
from ..language.program import Place, Program, SequenceProgram, SilenceProgram, ThresholdProgram
from ..language.unparse import write, write_limits
from ..language.visitor import MEASURES, children, walk
from ..models import Value, format_time, moment
from ..models.record import Record
from ..models.slotted import dataclass

MOST_WAITS = 5
"""Passed deadlines shown of one history: there may be one after every event."""


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
    """One part of a condition, whether it is true (None: unknown), and the values that decided it.

    With `op` (<, >= ...) the values are its left and right side; without, those it reads.
    """

    text: str
    truth: bool | None
    op: str | None
    values: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class ConditionAt(Record):
    """A condition at an event. `measures` are the values of the windows it reads."""

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
    """A duration in its two largest units.

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
    """The event at a position of a history."""
    event = history.events[at]
    return Spot(event.id, event.at, at + 1)


def condition_at(expr: Expr, history: History, at: int, chain: Chain = NO_CHAIN) -> ConditionAt:
    """The condition at a position, with every value behind it."""

    def read(item: Expr) -> Value | None:
        value: Value | None = read_at(item, history, at, chain)
        return value

    def truth(item: Expr) -> bool | None:
        value = read(item)
        return value if isinstance(value, bool) else None

    comparisons = tuple(
        Comparison(
            write(part),
            truth(part),
            part.op if isinstance(part, Compare) else None,
            tuple(Measured(write(side), read(side)) for side in _sides(part)),
        )
        for part in _parts(expr)
    )
    return ConditionAt(write(expr), truth(expr), comparisons, measures(expr, history, at))


def measures(expr: Expr, history: History, at: int) -> tuple[Measured, ...]:
    """Every window measure in an expression, with its value at a position."""
    items = dict.fromkeys(item for item in walk(expr) if isinstance(item, MEASURES))
    return tuple(Measured(write(item), read_at(item, history, at)) for item in items)


def _parts(expr: Expr) -> Iterator[Expr]:
    """The parts that `and` and `or` join; `not` stays with what it negates."""
    if isinstance(expr, (And, Or)):
        for item in expr.items:
            yield from _parts(item)
    else:
        yield expr


def _sides(expr: Expr) -> tuple[Expr, ...]:
    """The values that a part compares; of other than comparisons, without literals."""
    if isinstance(expr, Compare):
        return (expr.left, expr.right)
    return tuple(dict.fromkeys(item for item in _values(expr) if not isinstance(item, (Number, Text))))


def _values(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Compare() | Member() | AnyOf():
            yield from children(expr)
        case And() | Or() | Not() | Known() | OrElse():
            for item in children(expr):
                yield from _values(item)
        case _:
            yield expr


def nearness(expr: Expr, history: History, at: int, chain: Chain = NO_CHAIN) -> float:
    """How near a condition is to being true, 0 to 1; it decides which event is shown.

    A false comparison of numbers counts by how far apart they are; unknown counts nothing.
    """
    if isinstance(expr, (And, Or)):
        parts = [nearness(item, history, at, chain) for item in expr.items]
        return sum(parts) / len(parts) if isinstance(expr, And) else max(parts)
    truth = read_at(expr, history, at, chain)
    if truth is True or not isinstance(expr, Compare):
        return float(truth is True)
    left, right = (number(read_at(side, history, at, chain)) for side in (expr.left, expr.right))
    if left is None or right is None:
        return 0.0
    return 0.99 * (1 - abs(left - right) / max(abs(left) + abs(right), 1e-9))


@dataclass(frozen=True, slots=True)
class ThresholdWhy(Record):
    """How often `when` was true, false and unknown, and all its numbers at one event.

    The event is the requested one, else the last at which it opened, else the one that came nearest.
    """

    true: int
    false: int
    unknown: int
    spot: Spot
    when: ConditionAt
    clears: ConditionAt | None
    stays: bool


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
        when=condition_at(body.when, history, at),
        clears=None if body.clears is None else condition_at(body.clears, history, at),
        stays=body.stays,
    )


@dataclass(frozen=True, slots=True)
class Wait(Record):
    """The wait after one event: it may take `seconds`, by the values in `measures`.

    It lasted until `next_at`: the next event or, where `ended` is false, the moment of the evaluation.
    """

    spot: Spot
    after: ConditionAt | None
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


def why_silence(
    program: Program, body: SilenceProgram, history: History, as_of: int, at: int | None = None
) -> SilenceWhy:
    """The silence in a history: the deadlines that passed, the one that came nearest, and the last."""
    silence = Silence(program, body)
    waits = [_wait(silence, history, as_of, event) for event in range(len(history.events))]
    limit = body.longer_than
    longer_than = f"{write(limit)} seconds"
    if isinstance(limit, Number) and limit.value >= 0:
        longer_than = how_long(round(limit.value * 1e6))
    return SilenceWhy(
        longer_than=longer_than,
        after=None if body.after is None else write(body.after),
        at_least=body.at_least,
        counted=sum(wait.deadline is not None for wait in waits),
        waits=tuple(_shown_waits(waits) if at is None else [waits[at]]),
    )


def _wait(silence: Silence, history: History, as_of: int, at: int) -> Wait:
    body, ended = silence.body, at + 1 < len(history.events)
    following = history.times[at + 1] if ended else as_of
    after = None if body.after is None else condition_at(body.after, history, at)
    seconds = number(read_at(body.longer_than, history, at))
    deadline = silence.deadline(0, history.events[at], history.times[at], at, history)
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


def _shown_waits(waits: list[Wait]) -> list[Wait]:
    fired = [wait for wait in waits if wait.fired][-MOST_WAITS:]
    late = [(wait.next_at - wait.deadline, wait) for wait in waits if wait.deadline is not None]
    nearest = [max(late, key=lambda pair: pair[0])[1]] if late else []
    shown = {wait.spot.position: wait for wait in (*fired, waits[-1], *nearest)}
    return [shown[position] for position in sorted(shown)]


@dataclass(frozen=True, slots=True)
class Tried(Record):
    """One event compared with one place of a step: the condition, and the limits from the place before."""

    spot: Spot
    place: int
    condition: ConditionAt
    limits: tuple[Limit, ...]


@dataclass(frozen=True, slots=True)
class StepWhy(Record):
    """How far a step came: `stood` counts the events at which each of its places stood.

    `tried` is the requested event or, where the step did not stand, the one that came nearest.
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
    """Every step with how far it came; `at` is the position of the requested event."""
    replayed = _ReplayedSequence(program, body, history)
    names = [place.step for place in body.places]
    steps = []
    blocked = False
    for name in dict.fromkeys(names):
        first, last = names.index(name), len(names) - 1 - names[::-1].index(name)
        stood = bool(replayed.standing[last])
        steps.append(replayed.step(first, last, at, show=at is not None or not (stood or blocked)))
        blocked = blocked or not stood
    limits, complete = replayed.ending(at)
    return SequenceWhy(tuple(steps), limits, complete)


class _ReplayedSequence:
    """A sequence replayed over a history: where each place stood, and where it fired."""

    def __init__(self, program: Program, body: SequenceProgram, history: History) -> None:
        self.body, self.history = body, history
        replay = Replay(Sequence(program, body), history)
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
        place, final = self.body.places[first], self.standing[last]
        truths = [self.truth(first, event) for event in range(len(self.history.events))]
        return StepWhy(
            step=place.step,
            condition=write(place.condition),
            places=last - first + 1,
            met=truths.count(True),
            unknown=truths.count(None),
            stood=tuple(len(self.standing[i]) for i in range(first, last + 1)),
            last=spot(self.history, final[-1]) if final else None,
            tried=self._shown(first, last, at) if show else None,
        )

    def _shown(self, first: int, last: int, at: int | None) -> Tried | None:
        """The requested event at the furthest place that it could fill; else the nearest miss."""
        if at is not None:
            reached = [i for i in range(first, last + 1) if i == first or self.before(i, at) is not None]
            return self.tried(reached[-1], at, first)
        lacking = next((i for i in range(first, last + 1) if not self.standing[i]), last)
        events = [
            event
            for event in range(len(self.history.events))
            if lacking == 0 or self.before(lacking, event) is not None
        ]

        def miss(event: int) -> tuple[int, float, int]:
            failed = sum(not limit.holds for limit in self.limits(lacking, event))
            failed += self.truth(lacking, event) is not True
            condition = self.body.places[lacking].condition
            near = nearness(condition, self.history, event, self.chain(lacking, event))
            return (failed, -near, -event)

        return self.tried(lacking, min(events, key=miss), first) if events else None

    def tried(self, i: int, at: int, first: int) -> Tried:
        """Event `at` compared with place i."""
        condition = condition_at(self.body.places[i].condition, self.history, at, self.chain(i, at))
        return Tried(spot(self.history, at), i - first + 1, condition, self.limits(i, at))

    def limits(self, i: int, at: int) -> tuple[Limit, ...]:
        """Every limit between event `at` for place i and the event at which the place before stood."""
        if i == 0:
            return ()
        place, previous = self.body.places[i], self.before(i, at)
        if previous is None:
            return (Limit("order", False, f"{self._place(i - 1)} had not stood before this event"),)
        limits = []
        if place.max_gap is not None:
            between = at - previous - 1
            text = f"{_events(between)} between, at most {place.max_gap} allowed"
            limits.append(Limit("max_gap", between <= place.max_gap, text))
        if place.within:
            limits.append(self._within(place.within, previous, at))
        return (*limits, *self._nevers(place, previous, at))

    def _nevers(self, place: Place, previous: int, at: int) -> Iterator[Limit]:
        for never in place.nevers:
            if never not in self.hits:
                events = range(len(self.history.events))
                self.hits[never] = [t for t in events if read_at(never, self.history, t) is True]
            hits = self.hits[never]
            index = bisect_left(hits, at)
            hit = hits[index - 1] if index and hits[index - 1] > previous else None
            where = (
                "met by no event between" if hit is None else f"met by event {self.history.events[hit].id}"
            )
            yield Limit("never", hit is None, f"{write(never)}: {where}")

    def _within(self, limits: Limits, start: int, end: int, ends: int = 0) -> Limit:
        """How far apart two events are; `ends` is 1 where both of them count."""
        limit, times = limit_of(limits), self.history.times
        events, us = end - start + ends, times[end] - times[start]
        took = f"{how_long(us)}, " if self.history.timed else ""
        text = f"{took}{_events(events)} from event {self.history.events[start].id}"
        holds = limit is None or limit.holds(events, us, self.history.timed)
        return Limit("within", holds, f"{text}; at most {write_limits(limits)}")

    def _place(self, i: int) -> str:
        place = self.body.places[i]
        same = [k for k, item in enumerate(self.body.places) if item.step == place.step]
        name = f"step '{place.step}'"
        return name if len(same) == 1 else f"{name} ({same.index(i) + 1} of {len(same)})"

    def ending(self, at: int | None) -> tuple[tuple[Limit, ...], Spot | None]:
        """The limits of the whole, at the last event where all places stood and it did not fire."""
        last = len(self.body.places) - 1
        complete = [
            event for event in self.standing[last] if (event not in self.fired if at is None else event == at)
        ]
        if not complete:
            return (), None
        event = complete[-1]
        start = self.links[last][event].first.position
        limits = [self._within(self.body.within, start, event, ends=1)]
        earlier = [item for item in self.fired if item < event]
        if earlier:
            fired = self.history.events[earlier[-1]]
            text = f"its first event must come after the last firing, at event {fired.id}"
            text += f" ({format_time(fired.at)})" if self.history.timed else ""
            limits.append(Limit("new", start > earlier[-1], text))
        return tuple(limits), spot(self.history, event)


def _events(n: int) -> str:
    return f"{n} event{'' if n == 1 else 's'}"
