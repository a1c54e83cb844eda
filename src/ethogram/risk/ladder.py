"""How far up the ladder of responses a pattern has been taken, and which rung comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CRITICAL = "ask"
"""Where the ladder is entered about what is critical."""


@dataclass(frozen=True, slots=True)
class Given:
    """A rung that was taken, and what came of it: stopped, went_on, allowed, declined, ended or open."""

    rung: str
    effect: str = "open"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"rung": self.rung, "effect": self.effect}


@dataclass(frozen=True, slots=True)
class Position:
    """A place on the ladder: the rung that comes next, '' where none is left, and those taken so far.

    `rungs` are those of the ladder that are on, from the mildest.
    """

    next: str
    rungs: tuple[str, ...]
    given: tuple[Given, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "next": self.next or None,
            "rungs": list(self.rungs),
            "given": [one.to_dict() for one in self.given],
        }


def position(rungs: Sequence[str], given: Sequence[Given], level: str) -> Position:
    """Where a pattern of this level stands; what was taken last decides, not how often.

    >>> ladder = ("nudge", "remind", "ask")
    >>> position(ladder, [], "high").next, position(ladder, [Given("nudge")], "high").next
    ('nudge', 'remind')
    >>> position(ladder, [], "critical").next, position(ladder, [Given("ask")], "critical").next
    ('ask', '')
    """
    taken = [rungs.index(one.rung) for one in given if one.rung in rungs]
    place = 1 + max(taken, default=-1)
    if level == "critical" and CRITICAL in rungs:
        place = max(place, rungs.index(CRITICAL))
    return Position(rungs[place] if place < len(rungs) else "", tuple(rungs), tuple(given))
