"""goal_text and alignment: what a run is for, and how much a step has to do with it."""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from zlib import crc32

from ...models import Event
from ..base import signal
from ..options import Options
from .step import argument_text, read_step, words

# Goals: what a run is for, as the settings, its attributes or a person say.

LONGEST = 8_000


def goal_of(event: Event, options: Options) -> str:
    """The goal that the settings or this event tell; '' where they tell none."""
    for told in (options.goal, event.attributes.get("goal"), event.attributes.get("task")):
        if isinstance(told, str) and told.strip():
            return told[:LONGEST]
    if event.kind == "message" and event.attributes.get("role") == "user" and event.text:
        return event.text[:LONGEST] if event.text.strip() else ""
    return ""


# Grams: words compared by their parts, so that authenticate and authentication meet.
#
# A part is three letters in a row, and falls into one of a few hundred buckets by its hash. How much a part
# weighs is how rare its bucket is among the steps so far.

BUCKETS = 256
SIZE = 3
NEAR = 0.6
"""Words that share less than this are not near: many words end alike."""


@lru_cache(maxsize=2_048)
def grams(word: str) -> frozenset[str]:
    """The parts of a word; where it begins counts as a letter.

    >>> sorted(grams("logs"))
    ['^lo', 'log', 'ogs']
    """
    whole = f"^{word}"
    return frozenset(whole[place : place + SIZE] for place in range(max(1, len(whole) - SIZE + 1)))


@lru_cache(maxsize=4_096)
def bucket(gram: str) -> int:
    """The bucket that a part falls into, the same on every machine."""
    return crc32(gram.encode("utf-8", "surrogatepass")) % BUCKETS


def counted(words: tuple[str, ...], seen: tuple[int, ...]) -> tuple[int, ...]:
    """In how many steps each bucket was seen, with a step of these words."""
    now = {bucket(gram) for word in words for gram in grams(word)}
    return tuple(min(count + (place in now), 9_999) for place, count in enumerate(seen))


@lru_cache(maxsize=64)
def _by_start(goal: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Words of the goal by their first two letters: others are not compared."""
    record: dict[str, list[str]] = {}
    for word in goal:
        if len(word) > SIZE:
            record.setdefault(word[:2], []).append(word)
    return {start: tuple(some) for start, some in record.items()}


def nearness(word: str, goal: tuple[str, ...], seen: tuple[int, ...]) -> float:
    """How much a word shares with the nearest word of the goal, 0 where that is not near.

    >>> nearness("authentication", ("authenticate", "user"), (0,) * BUCKETS) > 0.7
    True
    >>> nearness("station", ("authenticate",), (0,) * BUCKETS)
    0.0
    """
    if len(word) <= SIZE:
        return 0.0
    best = max((_alike(word, item, seen) for item in _by_start(goal).get(word[:2], ())), default=0.0)
    return best if best >= NEAR else 0.0


def _alike(word: str, other: str, seen: tuple[int, ...]) -> float:
    """The weight of the parts two words share, over that of the parts of both on average."""
    a, b = grams(word), grams(other)
    most = max(seen, default=0) + 1
    weights = {item: math.log(1 + most / (1 + seen[bucket(item)])) for item in a | b}
    both, whole = sum(weights[item] for item in a & b), sum(weights[item] for item in a)
    return 2 * both / (whole + sum(weights[item] for item in b))


# alignment: how much a step has to do with the goal of its run, by the words they share.

MOST_WORDS = 300
SHOWN = 20
COMMON = words(
    "the and for that this with you are not but can from have has was will would should which when "
    "where what your all any use using used into than then them they its our out one two also only "
    "more some there their been were does did how why please make sure file files code path run "
    "python bash command cat grep sed echo print import return def class self true false none null "
    "string int list test tests line lines view create edit read write src lib head tail find ls cd"
)

State = tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]]
"""Words of the goal; words the run has come to work with; in how many steps each bucket of parts of words
was seen, where these are looked at."""


@signal("alignment", range=(0, 1), version=2, kinds=("action", "message"))
class Alignment:
    """How well a step serves the goal of the run: the share of its words and path that the goal shares.

    The goal is what the settings or the attributes `goal` or `task` say, else the first message of a person
    in the thread. Words the run has come to work with count half. With `semantic_analysis: advanced` a word
    also counts by the parts it shares with words of the goal, the more the rarer these are in the run. Absent
    without a goal, and for steps that say too little.
    """

    scope = "thread"
    start: State = ((), (), ())
    max_state_bytes = 24_000

    def measure(self, event: Event, state: State, options: Options) -> tuple[float | None, State]:
        """The share, and the words of the goal and of the early steps."""
        goal, early, seen = state
        if not goal:
            goal = _words(goal_of(event, options))
        step = read_step(event)
        if step is None:
            return None, (goal, early, seen)
        said = argument_text(step.arguments, frozenset()) if step.arguments else f"{step.command} {step.path}"
        words = _words(said[:2_000])
        if not goal or len(words) < 2:
            return None, (goal, early, seen)
        shares = {word: _counts(word, goal, early) for word in words}
        if options.semantic_analysis == "advanced":
            seen = counted(words, seen or (0,) * BUCKETS)
            shares = {name: max(share, nearness(name, goal, seen)) for name, share in shares.items()}
        shared = sum(min(len(word), 10) * share for word, share in shares.items())
        if len(early) < MOST_WORDS // 3:
            new = (word for word in words if _counts(word, goal, early) == 0)
            early = tuple(dict.fromkeys((*early, *new)))[:100]
        return min(1.0, 2 * shared / sum(min(len(word), 10) for word in words)), (goal, early, seen)


def _counts(word: str, goal: tuple[str, ...], early: tuple[str, ...]) -> float:
    return 1.0 if word in goal else 0.5 if word in early else 0.0


def _words(text: str) -> tuple[str, ...]:
    found = (item.lower()[:SHOWN] for item in _word().findall(text))
    return tuple(dict.fromkeys(item for item in found if item not in COMMON and len(item) > 2))[:MOST_WORDS]


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[A-Z]?[a-z]{2,30}|[A-Z]{2,30}(?![a-z])|\d{3,6}")


# goal_text: what a run is for, in a few words that can be shown.

MOST = 200
READ = 1_000


@signal("goal_text", range=None, kinds=("action", "message"))
class GoalText:
    """What the run is for, in at most 200 characters, without secrets and personal data; absent if unknown.

    Told by the settings, by the attributes `goal` or `task`, else by the first message of a person in the
    thread; read at the steps.
    """

    scope = "thread"
    start = ""
    max_state_bytes = 2_000

    def measure(self, event: Event, state: str, options: Options) -> tuple[str | None, str]:
        """The goal, and the same."""
        goal = state or _short(goal_of(event, options))
        return (goal or None if event.kind == "action" else None), goal


def _short(text: str) -> str:
    """The beginning of a text on one line, masked before it is cut, so that no half of a key is left."""
    if not text:
        return ""
    # Here and not above: its rules are large, and most who measure signals never ask for this one.
    from ...models.redaction import mask

    shown = " ".join(mask(text[:READ].rsplit(None, 1)[0] if len(text) > READ else text).split())
    return shown if len(shown) <= MOST else f"{shown[: MOST - 1]}…"
