"""The signals person_messages and after_person: when a person speaks in a run."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...models import Event
from ..base import STEPS, Part, Range, register_parts, short
from ..options import Options
from .keys import is_complaint
from .normalization import short_hash

MAX_TEXTS = 8
"""Messages of the user that are remembered, to notice one that comes again."""
MAX_AGENTS = 6

Spoken = tuple[int, tuple[str, ...], tuple[str, ...]]
"""How many messages there were, digests of the newest, and the agents that went on after the newest."""


def measure_person(event: Event, state: Spoken, options: Options) -> tuple[Mapping[str, float], Spoken]:
    """How many messages of a person came before a step, and whether the agent goes on after one.

    One of the role user that a program sent does not count: it complains about the form of the agent's
    output, or repeats an earlier one word for word.
    """
    (count, known, agents), subject = state, short(event.subject)
    if event.kind == "message" and event.attributes.get("role") != "assistant":
        text = (event.text or "").strip()
        if event.attributes.get("role") != "user" or not text or is_complaint(text):
            return {}, state
        hashed = short_hash(text.casefold())
        return {}, (state if hashed in known else (count + 1, (*known, hashed)[-MAX_TEXTS:], ()))
    values = {"person_messages": float(count)} if event.kind in STEPS else {}
    if not count or subject in agents:
        return values, state
    return {**values, "after_person": 1.0}, (count, known, (*agents, subject)[-MAX_AGENTS:])


class _Person(Part):
    scope = "thread"
    start: Spoken = (0, (), ())
    max_state_bytes = 1_000
    keeps = "person"
    together = staticmethod(measure_person)


PERSON: tuple[tuple[str, Range, str], ...] = (
    (
        "person_messages",
        (0, math.inf),
        "How many messages of a person came before this step of a run; a program's repetitions do not count.",
    ),
    ("after_person", (0, 1), "1.0 where an agent goes on after a message of a person; else absent."),
)
register_parts(_Person, PERSON, kinds=("message", *STEPS, "condensation"))
