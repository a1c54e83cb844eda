"""alignment: how much a step has to do with the goal of its run, by the words they share."""

from __future__ import annotations

import re
from functools import cache

from ..records import Event
from .define import signal
from .options import Options
from .steps.goals import goal_of
from .steps.grams import BUCKETS, counted, nearness
from .steps.step import argument_text, read_step
from .steps.words import words

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
            shares = {one: max(share, nearness(one, goal, seen)) for one, share in shares.items()}
        shared = sum(min(len(word), 10) * share for word, share in shares.items())
        if len(early) < MOST_WORDS // 3:
            new = (word for word in words if _counts(word, goal, early) == 0)
            early = tuple(dict.fromkeys((*early, *new)))[:100]
        return min(1.0, 2 * shared / sum(min(len(word), 10) for word in words)), (goal, early, seen)


def _counts(word: str, goal: tuple[str, ...], early: tuple[str, ...]) -> float:
    return 1.0 if word in goal else 0.5 if word in early else 0.0


def _words(text: str) -> tuple[str, ...]:
    found = (one.lower()[:SHOWN] for one in _word().findall(text))
    return tuple(dict.fromkeys(one for one in found if one not in COMMON and len(one) > 2))[:MOST_WORDS]


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[A-Z]?[a-z]{2,30}|[A-Z]{2,30}(?![a-z])|\d{3,6}")
