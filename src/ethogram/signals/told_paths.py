"""told_paths: what a run was told about paths, for the signals that judge where its agents work."""

from __future__ import annotations

from functools import lru_cache

from ..records import Event
from .define import signal
from .options import Options
from .steps.asked import told_by, with_told, with_wishes
from .steps.calls import mark
from .steps.wishes import Wish, wishes

MOST_ACTORS = 16

State = tuple[str, tuple[str, ...]]
"""What was told so far, one path a line; marks of those who called a tool."""
START: State = ("", ())


@signal("told_paths", range=None, kinds=("action", "result", "message"))
class ToldPaths:
    """What a run was told about paths, one a line: `named .env`, `barred tests/`, `cwd /app`; else absent.

    Read at its steps, from the attributes `cwd`, `allow` and `deny` of any event before, from the messages of
    persons, the attributes `task` and `goal` and the setting `goal`; never from what a tool or an agent says.
    Whoever has called a tool in the thread is no person: a sub-agent is told what to do by an agent.
    """

    scope = "thread"
    start: State = START
    max_state_bytes = 48_000

    def measure(self, event: Event, state: State, options: Options) -> tuple[str | None, State]:
        """What is told by now, and who has acted."""
        told, actors = state
        if event.kind != "result":
            told = with_told(told, told_by(event.attributes))
            if options.inference_enabled:
                told = _with_words(told, event, actors)
        if event.kind == "message":
            return None, state if told == state[0] else (told, actors)
        if event.kind == "action" and len(actors) < MOST_ACTORS:
            own = mark(event.subject)
            actors = actors if own in actors else (*actors, own)
        said = told
        if options.goal and options.inference_enabled:
            said = with_wishes(told, _wishes(options.goal))
        return said or None, state if (told, actors) == state else (told, actors)


def _with_words(told: str, event: Event, actors: tuple[str, ...]) -> str:
    attributes = event.attributes
    for text in (attributes.get("task"), attributes.get("goal")):
        if isinstance(text, str) and text.strip():
            told = with_wishes(told, _wishes(text))
    if event.kind == "message" and event.text and _is_person(event, actors):
        told = with_wishes(told, _wishes(event.text))
    return told


def _is_person(event: Event, actors: tuple[str, ...]) -> bool:
    told = event.attributes
    return told.get("role") == "user" and not told.get("parent") and mark(event.subject) not in actors


@lru_cache(maxsize=16)
def _wishes(text: str) -> tuple[Wish, ...]:
    return wishes(text)
