"""When detection comes in made-up conversations, counted from the first turn that means harm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Protocol

from .conversation_state import ConversationState
from .simulate_talk import KINDS, REFUSED, Simulated, simulated

WATCHED = ("CAUTIOUS", "ELEVATED", "SUSPECT", "CRITICAL", "UNSAFE")
"""Modes whose first turn is told."""


class Talking(Protocol):
    """A conversation that is given its turns: `Conversation`, or another that is compared with it."""

    def turn(self, text: str, role: str = "user") -> ConversationState: ...


Make = Callable[[str], Talking]
"""A new conversation with this id."""


def rises(first: Mapping[str, int]) -> list[tuple[str, int]]:
    """The modes that a conversation rose to, with the turn of each: of several at one turn the highest.

    >>> rises({"CAUTIOUS": 3, "ELEVATED": 3, "SUSPECT": 5})
    [('ELEVATED', 3), ('SUSPECT', 5)]
    """
    at = {turn: mode for mode, turn in sorted(first.items(), key=lambda one: WATCHED.index(one[0]))}
    return [(mode, turn) for turn, mode in at.items()]


def simulate(
    make: Make,
    kinds: Sequence[str] = (),
    *,
    seed: int,
    count: int = 1,
    turns: int | None = None,
    refused: float = REFUSED,
) -> Iterator[dict[str, Any]]:
    """A record for each conversation, `count` of each kind (none named: of all), then one for each kind.

    Seeds are `seed` and those after it.
    """
    chosen = list(kinds) or list(KINDS)
    # All are made first, so that a kind that is none is told before anything else is.
    made = {kind: [simulated(kind, seed + k, turns, refused) for k in range(count)] for kind in chosen}
    found: dict[str, list[dict[str, Any]]] = {}
    for kind, talks in made.items():
        for one in talks:
            record = followed(one, make(f"{kind}/{one.seed}"))
            found.setdefault(kind, []).append(record)
            yield record
    yield from (summed(kind, rows) for kind, rows in found.items())


def followed(one: Simulated, talk: Talking) -> dict[str, Any]:
    """One conversation: the highest mode and risk, and the turn at which each mode was first reached.

    Turns count from 1 and are those of both sides; `waits` are user turns from the first that means harm
    to the mode, below 0 where the mode came before it, and empty where none does.
    """
    first: dict[str, int] = {}
    highest, risk, reason = "SAFE", 0.0, ""
    for place, (role, text) in enumerate(one.said, start=1):
        now = talk.turn(text, role)
        reached = WATCHED[: WATCHED.index(now.mode.name) + 1] if now.mode.name in WATCHED else ()
        for name in reached:
            if name not in first:
                first[name], highest, reason = place, name, now.reason
        risk = max(risk, now.risk)
    begins = None if one.begins is None else one.begins + 1
    waits = {} if begins is None else {name: (place - begins) // 2 for name, place in first.items()}
    return {
        "record": "simulated",
        "kind": one.kind,
        "seed": one.seed,
        "turns": len(one.said),
        "begins": begins,
        "highest_mode": highest,
        "highest_risk": round(risk, 4),
        "first": first,
        "waits": waits,
        "reason": reason,
    }


def summed(kind: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What became of the conversations of a kind: how many reached each mode, and the median wait for it."""
    return {
        "record": "simulate_summary",
        "kind": kind,
        "conversations": len(rows),
        "harmful": rows[0]["begins"] is not None,
        "reached": {name: sum(name in one["first"] for one in rows) for name in WATCHED},
        "waits": {
            name: median(waits)
            for name in WATCHED
            if (waits := [one["waits"][name] for one in rows if name in one["waits"]])
        },
    }
