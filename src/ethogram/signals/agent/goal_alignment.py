"""The signals alignment and goal_text: what a run is for, and how much a step has to do with it."""

from __future__ import annotations

import math
from functools import lru_cache
from zlib import crc32

from ...models import Event
from ...models.lazy_regex import Rule
from ..base import signal
from ..options import Options
from .step import argument_text, read_step, words

MAX_GOAL = 8_000
MAX_GOAL_TEXT = 200
GOAL_TEXT_READ = 1_000
MAX_WORDS = 300
MAX_EARLY = 100
MAX_WORD = 20
BUCKETS = 256
GRAM = 3
MIN_SIMILARITY = 0.6
"""Words that share less are not similar: many words end alike."""
COMMON = words(
    "the and for that this with you are not but can from have has was will would should which when "
    "where what your all any use using used into than then them they its our out one two also only "
    "more some there their been were does did how why please make sure file files code path run "
    "python bash command cat grep sed echo print import return def class self true false none null "
    "string int list test tests line lines view create edit read write src lib head tail find ls cd"
)
_WORD = Rule(r"[A-Z]?[a-z]{2,30}|[A-Z]{2,30}(?![a-z])|\d{3,6}")


def goal_of(event: Event, options: Options) -> str:
    """Return the goal in the settings, the attributes or a user's message; '' without one."""
    for goal in (options.goal, event.attributes.get("goal"), event.attributes.get("task")):
        if isinstance(goal, str) and goal.strip():
            return goal[:MAX_GOAL]
    if event.kind == "message" and event.attributes.get("role") == "user" and event.text:
        return event.text[:MAX_GOAL] if event.text.strip() else ""
    return ""


State = tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]]
"""Words of the goal; words the run works with; the number of steps with each bucket of grams, if needed."""


@signal("alignment", range=(0, 1), version=2, kinds=("action", "message"))
class Alignment:
    """How well a step serves the goal of the run: the share of its words and path that the goal shares.

    The goal is the setting, the attribute `goal` or `task`, else the first message of a user in the thread.
    Words the run has come to work with count half. With `semantic_analysis: advanced` a word also counts by
    the letter groups it shares with words of the goal, rare groups more. Absent without a goal, and for
    steps with fewer than two words.
    """

    scope = "thread"
    start: State = ((), (), ())
    max_state_bytes = 24_000

    def measure(self, event: Event, state: State, options: Options) -> tuple[float | None, State]:
        goal, early, counts = state
        goal = goal or _words(goal_of(event, options))
        step = read_step(event)
        if step is None:
            return None, (goal, early, counts)
        text = argument_text(step.arguments) if step.arguments else f"{step.command} {step.path}"
        own = _words(text[:2_000])
        if not goal or len(own) < 2:
            return None, (goal, early, counts)
        shares = {word: 1.0 if word in goal else 0.5 if word in early else 0.0 for word in own}
        new = [word for word, share in shares.items() if not share]
        if options.semantic_analysis == "advanced":
            counts = _count_grams(own, counts or (0,) * BUCKETS)
            shares = {word: max(share, similarity(word, goal, counts)) for word, share in shares.items()}
        if len(early) < MAX_EARLY:
            early = (*early, *new)[:MAX_EARLY]
        shared = sum(min(len(word), 10) * share for word, share in shares.items())
        return min(1.0, 2 * shared / sum(min(len(word), 10) for word in own)), (goal, early, counts)


def _words(text: str) -> tuple[str, ...]:
    candidates = (word.lower()[:MAX_WORD] for word in _WORD.findall(text))
    return tuple(dict.fromkeys(word for word in candidates if word not in COMMON and len(word) > 2))[
        :MAX_WORDS
    ]


@lru_cache(maxsize=2_048)
def _grams(word: str) -> frozenset[str]:
    """Groups of three letters, the start of the word counted as a letter.

    >>> sorted(_grams("logs"))
    ['^lo', 'log', 'ogs']
    """
    whole = f"^{word}"
    return frozenset(whole[place : place + GRAM] for place in range(max(1, len(whole) - GRAM + 1)))


@lru_cache(maxsize=4_096)
def _bucket(gram: str) -> int:
    return crc32(gram.encode("utf-8", "surrogatepass")) % BUCKETS


def _count_grams(own: tuple[str, ...], counts: tuple[int, ...]) -> tuple[int, ...]:
    """The number of steps with each bucket, this step included."""
    now = {_bucket(gram) for word in own for gram in _grams(word)}
    return tuple(min(count + (place in now), 9_999) for place, count in enumerate(counts))


@lru_cache(maxsize=64)
def _by_start(goal: tuple[str, ...]) -> dict[str, list[str]]:
    """Words of the goal by their first two letters; only these are compared."""
    starts: dict[str, list[str]] = {}
    for word in goal:
        if len(word) > GRAM:
            starts.setdefault(word[:2], []).append(word)
    return starts


def similarity(word: str, goal: tuple[str, ...], counts: tuple[int, ...]) -> float:
    """Return how much a word shares with the most similar word of the goal; 0 below 0.6.

    >>> similarity("authentication", ("authenticate", "user"), (0,) * BUCKETS) > 0.7
    True
    >>> similarity("station", ("authenticate",), (0,) * BUCKETS)
    0.0
    """
    if len(word) <= GRAM:
        return 0.0
    candidates = _by_start(goal).get(word[:2], ())
    best = max((_dice(_grams(word), _grams(other), counts) for other in candidates), default=0.0)
    return best if best >= MIN_SIMILARITY else 0.0


def _dice(a: frozenset[str], b: frozenset[str], counts: tuple[int, ...]) -> float:
    """The weighted Dice coefficient of two sets of grams; rare buckets weigh more."""
    most = max(counts, default=0) + 1
    weights = {gram: math.log(1 + most / (1 + counts[_bucket(gram)])) for gram in a | b}
    both, all_of_a = sum(weights[gram] for gram in a & b), sum(weights[gram] for gram in a)
    return 2 * both / (all_of_a + sum(weights[gram] for gram in b))


@signal("goal_text", range=None, kinds=("action", "message"))
class GoalText:
    """What the run is for, in at most 200 characters, without secrets and personal data; absent if unknown.

    The setting, the attribute `goal` or `task`, else the first message of a user in the thread; read at the
    steps.
    """

    scope = "thread"
    start = ""
    max_state_bytes = 2_000

    def measure(self, event: Event, state: str, options: Options) -> tuple[str | None, str]:
        goal = state or _short(goal_of(event, options))
        return (goal or None if event.kind == "action" else None), goal


def _short(text: str) -> str:
    """The start of a text on one line, masked before it is cut, so that no part of a key is left."""
    if not text:
        return ""
    # Imported here: its rules are large, and most who measure signals never need them.
    from ...models.redaction import mask

    start = text[:GOAL_TEXT_READ].rsplit(None, 1)[0] if len(text) > GOAL_TEXT_READ else text
    shown = " ".join(mask(start).split())
    return shown if len(shown) <= MAX_GOAL_TEXT else f"{shown[: MAX_GOAL_TEXT - 1]}…"
