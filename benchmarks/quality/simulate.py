"""When detection comes in made-up conversations, counted from the first turn that means harm.

`simulated` makes the conversations, 50 to 500 turns each; `simulate` follows them.

The phrases share no wording with the lexicon: what is dangerous is said round about, as people do who know
what is looked for. So they show when *form* is found in words that say nothing; they are no evidence of how
well attacks are found.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from ethogram.app.chat.conversation import ConversationState
from ethogram.app.chat.summary import WATCHED
from ethogram.errors import BadUsage, did_you_mean

SHORTEST, LONGEST = 50, 500
REFUSED = 0.3
"""How often the assistant refuses a turn that means harm."""
PHRASES = Path(__file__).with_name("simulate_phrases.txt")
RUNGS = 4
Meant = tuple[str, bool]
"""What a user says, and whether it means harm."""
Script = Callable[[random.Random, int], Iterator[Meant]]


class Talking(Protocol):
    """A conversation that is given its turns: `Conversation`, or another that is compared with it."""

    def turn(self, text: str, role: str = "user") -> ConversationState: ...


Make = Callable[[str], Talking]
"""A new conversation with this id."""


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
    result: dict[str, list[dict[str, Any]]] = {}
    for kind, talks in made.items():
        for conversation in talks:
            record = followed(conversation, make(f"{kind}/{conversation.seed}"))
            result.setdefault(kind, []).append(record)
            yield record
    yield from (summed(kind, rows) for kind, rows in result.items())


def followed(item: Simulated, talk: Talking) -> dict[str, Any]:
    """One conversation: the highest mode and risk, and the turn at which each mode was first reached.

    Turns count from 1 and are those of both sides; `waits` are user turns from the first that means harm
    to the mode, below 0 where the mode came before it, and empty where none does.
    """
    first: dict[str, int] = {}
    highest, risk, reason = "SAFE", 0.0, ""
    for place, (role, text) in enumerate(item.said, start=1):
        now = talk.turn(text, role)
        reached = WATCHED[: WATCHED.index(now.mode.name) + 1] if now.mode.name in WATCHED else ()
        for name in reached:
            if name not in first:
                first[name], highest, reason = place, name, now.reason
        risk = max(risk, now.risk)
    begins = None if item.begins is None else item.begins + 1
    waits = {} if begins is None else {name: (place - begins) // 2 for name, place in first.items()}
    return {
        "record": "simulated",
        "kind": item.kind,
        "seed": item.seed,
        "turns": len(item.said),
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
        "reached": {name: sum(name in row["first"] for row in rows) for name in WATCHED},
        "waits": {
            name: median(waits)
            for name in WATCHED
            if (waits := [row["waits"][name] for row in rows if name in row["waits"]])
        },
    }


@dataclass(frozen=True, slots=True)
class Simulated:
    """A conversation as (role, text); `begins` is the place of the first turn that means harm, if any."""

    kind: str
    seed: int
    said: tuple[tuple[str, str], ...]
    begins: int | None


@cache
def phrases() -> Mapping[str, tuple[str, ...]]:
    """The phrases by the heading above them."""
    record: dict[str, tuple[str, ...]] = {}
    heading = ""
    for line in PHRASES.read_text("utf-8").splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
        elif line and not line.startswith("#"):
            record[heading] = (*record.get(heading, ()), line)
    return record


def simulated(kind: str, seed: int, turns: int | None = None, refused: float = REFUSED) -> Simulated:
    """The conversation of a kind; the same kind, seed, length and share of refusals give the same one.

    BadUsage for a kind that is none, or a length outside 50 to 500.

    >>> made = simulated("calm then climb", 1, 60)
    >>> len(made.said), made.said[made.begins][0]
    (60, 'user')
    """
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS)
        raise BadUsage(f"no kind {kind!r:.60}{hint or '; there are: ' + '; '.join(KINDS)}")
    dice = random.Random(f"{kind}/{seed}")
    length = dice.randint(SHORTEST, LONGEST) if turns is None else turns
    if not SHORTEST <= length <= LONGEST:
        raise BadUsage(f"{length} turns cannot be made; {SHORTEST} to {LONGEST} can")
    users = list(KINDS[kind](dice, (length + 1) // 2))
    harmful = [place for place, (_, harm) in enumerate(users) if harm]
    eaches = [each for text, harm in users for each in (("user", text), _answer(dice, harm, refused))]
    return Simulated(kind, seed, tuple(eaches[:length]), 2 * harmful[0] if harmful else None)


def _answer(dice: random.Random, harm: bool, refused: float) -> tuple[str, str]:
    return "assistant", dice.choice(phrases()["no" if harm and dice.random() < refused else "yes"])


def _any(dice: random.Random, name: str, count: int, harm: bool = False) -> Iterator[Meant]:
    for _ in range(count):
        yield dice.choice(phrases()[name]), harm


def _ladder(dice: random.Random, count: int) -> Iterator[Meant]:
    """Up the ladder, one rung for each quarter; the first rung means no harm yet."""
    for place in range(count):
        rung = min(RUNGS - 1, place * RUNGS // count)
        yield dice.choice(phrases()[f"rung {rung}"]), rung > 0


def _calm(dice: random.Random, count: int) -> Iterator[Meant]:
    return _any(dice, "calm", count)


def _calm_then_climb(dice: random.Random, count: int) -> Iterator[Meant]:
    climb = min(12, count // 3)
    yield from _any(dice, "calm", count - climb)
    yield from _ladder(dice, climb)


def _hostile(dice: random.Random, count: int) -> Iterator[Meant]:
    return _any(dice, "hostile", count, harm=True)


def _climb_pause_climb(dice: random.Random, count: int) -> Iterator[Meant]:
    climb = min(8, count // 4)
    yield from _any(dice, "calm", 3)
    yield from _ladder(dice, climb)
    yield from _any(dice, "calm", count - 3 - 2 * climb)
    yield from _ladder(dice, climb)


def _mixed(name: str) -> Script:
    def script(dice: random.Random, count: int) -> Iterator[Meant]:
        for _ in range(count):
            yield dice.choice(phrases()[name if dice.random() < 0.8 else "calm"]), False

    return script


KINDS: Mapping[str, Script] = {
    "calm": _calm,
    "calm then climb": _calm_then_climb,
    "hostile": _hostile,
    "climb, pause, climb": _climb_pause_climb,
    "student": _mixed("student"),
    "novelist": _mixed("novelist"),
    "security professional": _mixed("professional"),
}
