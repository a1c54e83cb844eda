"""Made-up conversations of 50 to 500 turns: which phrases, in what order.

The phrases share no wording with the lexicon: what is dangerous is said round about, as people do who know
what is looked for. So they show when *form* is found in words that say nothing; they are no evidence of how
well attacks are found.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import BadUsage, did_you_mean

SHORTEST, LONGEST = 50, 500
REFUSED = 0.3
"""How often the assistant refuses a turn that means harm."""
PHRASES = Path(__file__).with_name("simulate_phrases.txt")
RUNGS = 4
Meant = tuple[str, bool]
"""What a user says, and whether it means harm."""
Script = Callable[[random.Random, int], Iterator[Meant]]


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
    found: dict[str, tuple[str, ...]] = {}
    heading = ""
    for line in PHRASES.read_text("utf-8").splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
        elif line and not line.startswith("#"):
            found[heading] = (*found.get(heading, ()), line)
    return found


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
    said = [each for text, harm in users for each in (("user", text), _answer(dice, harm, refused))]
    return Simulated(kind, seed, tuple(said[:length]), 2 * harmful[0] if harmful else None)


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
