"""How near a level came to opening, and which deadlines a silence let pass."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..records import Value, moment
from ..shapes.evaluate import NO_CHAIN, number, reader
from ..shapes.history import History
from ..shapes.program import LevelProgram, SilenceProgram
from ..shapes.tree import Expr, Number
from ..shapes.truth import above
from ..shapes.write import write
from .why_condition import Judged, Spot, how_long, judge, measures, nearness, spot

SHOWN = 5
"""Deadlines told of one history: there is one after every event."""


@dataclass(frozen=True, slots=True)
class LevelWhy:
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
class Wait:
    """The wait after one event. `seconds` is how long it may be, and `measures` what made it so.

    It lasted until `next_at`: the next event or, where `ended` is false, the moment of the question.
    """

    spot: Spot
    after: Judged | None
    seconds: float | None
    measures: tuple[tuple[str, Value | None], ...]
    deadline: datetime | None
    next_at: datetime
    ended: bool
    fired: bool


@dataclass(frozen=True, slots=True)
class SilenceWhy:
    """`counted` events set a deadline: at least the `at_least`-th, meeting `after`, with a known limit."""

    longer_than: str
    after: str | None
    at_least: int
    counted: int
    waits: tuple[Wait, ...]


def why_level(
    body: LevelProgram, history: History, cap: int, opened: list[int], at: int | None = None
) -> LevelWhy:
    """The level in a history in which it opened at these positions."""
    when = reader(body.when, cap)
    events = range(len(history.events))
    truths = [when(history, event, NO_CHAIN) for event in events]
    if at is None:
        at = opened[-1] if opened else max(events, key=lambda e: (nearness(body.when, history, e, cap), e))
    return LevelWhy(
        true=truths.count(True),
        false=truths.count(False),
        unknown=truths.count(None),
        spot=spot(history, at),
        when=judge(body.when, history, at, cap),
        clears=None if body.clears is None else judge(body.clears, history, at, cap),
        stays=body.stays,
    )


def why_silence(
    body: SilenceProgram, history: History, cap: int, as_of: int, at: int | None = None
) -> SilenceWhy:
    """The silence in a history: the deadlines that passed, the one that came nearest, and the last."""
    waits = [_wait(body, history, cap, as_of, event) for event in range(len(history.events))]
    return SilenceWhy(
        longer_than=_limit(body.longer_than),
        after=None if body.after is None else write(body.after),
        at_least=body.at_least,
        counted=sum(one.deadline is not None for one in waits),
        waits=tuple(_chosen(waits) if at is None else [waits[at]]),
    )


def _limit(expr: Expr) -> str:
    if isinstance(expr, Number) and expr.value >= 0:
        return how_long(round(expr.value * 1e6))
    return f"{write(expr)} seconds"


def _wait(body: SilenceProgram, history: History, cap: int, as_of: int, at: int) -> Wait:
    ended = at + 1 < len(history.events)
    following = history.times[at + 1] if ended else as_of
    after = None if body.after is None else judge(body.after, history, at, cap)
    seconds = number(reader(body.longer_than, cap)(history, at, NO_CHAIN))
    counts = at + 1 >= body.at_least and (after is None or after.truth is True)
    deadline = None
    if counts and seconds is not None and not above(0.0, seconds):
        deadline = history.times[at] + max(0, round(seconds * 1e6))
    return Wait(
        spot(history, at),
        after,
        seconds,
        measures(body.longer_than, history, at, cap),
        None if deadline is None else moment(deadline),
        moment(following),
        ended,
        deadline is not None and following > deadline,
    )


def _chosen(waits: list[Wait]) -> list[Wait]:
    fired = [one for one in waits if one.fired][-SHOWN:]
    near = [one for one in waits if one.deadline is not None]
    nearest = max(near, key=_lateness, default=None)
    chosen = {one.spot.position: one for one in (*fired, waits[-1], nearest) if one is not None}
    return [chosen[position] for position in sorted(chosen)]


def _lateness(wait: Wait) -> float:
    assert wait.deadline is not None
    return (wait.next_at - wait.deadline).total_seconds()
