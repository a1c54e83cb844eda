"""Chains: the events that stand at the places of a sequence, and what a history remembers of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..tree import Duration, Events, Limits
from .captured import Captured
from .rows import Mark


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
    events = [one.n for one in limits if isinstance(one, Events)]
    durations = [one.us for one in limits if isinstance(one, Duration)]
    return Limit(min(events, default=None), min(durations, default=None))


def chain(link: Link) -> list[Link]:
    """The links of a chain, first place first."""
    found = [link]
    while found[-1].before is not None:
        found.append(found[-1].before)
    return found[::-1]
