"""Signals of a conversation between a person and an assistant, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..chat.records import INTENTS, MODES
from ..models import Event
from .base import Part, Range, Unmeasured, signal
from .options import Options

# Readings of conversations between a person and an assistant, turn by turn: docs/chat.md.
#
# Readings are on the person's turns; the assistant's turns only update the state, which all these signals
# share per thread. Only events with a speaker, by `role` or `is_user`, are turns of a conversation; the task
# of an agent that acts on it (`task_prompt`) is none.

KINDS = ("message", "event")
SHARE = (0, 1)
STAGES = ("what", "how", "weakness", "exploit")
VEHICLES = ("override", "persona", "fiction")
FORMS = (
    "again", "other words", "fiction", "persona", "no rules", "language", "disguise", "insisting",
    "cleared up",
)  # fmt: skip
TurnValues = Mapping[str, float | str | Unmeasured]

READINGS: tuple[tuple[str, Range, str], ...] = (
    ("risk", SHARE, "How close this turn comes to something harmful, by itself."),
    ("harm_severity", SHARE, "How bad the harm would be that this turn is about."),
    ("topic", None, "What a question in a line of questions is about, as one word."),
    (
        "query_stage",
        STAGES,
        "What a question wants to know: what, how it works, where it is weak, how to use that.",
    ),
    ("refused_before", SHARE, "1 where a request of the person was refused earlier in the thread, else 0."),
    ("conversation_risk", SHARE, "How risky the conversation is by now."),
    ("conversation_mode", MODES, "Where the conversation stands, from SAFE to UNSAFE."),
    ("conversation_load", SHARE, "Risk that has added up above the conversation's own baseline."),
    ("risky_words", SHARE, "How often, how rare and how grave words of the lexicon are."),
    ("risky_request", SHARE, "How much a turn asks to do what could do harm."),
    ("vehicle", SHARE, "How much a story, a persona or an order to drop the rules carries the request."),
    ("vehicle_kind", VEHICLES, "Which of these it is."),
    (
        "disguised_text",
        SHARE,
        "How much of the text is hidden: base64, spaced letters, look-alikes and such.",
    ),
    ("danger_ladder", SHARE, "How far it has come from a subject to its dangers, how to do it, exactly how."),
    ("query_line", SHARE, "How far questions about one thing go from what it is to how to use its weakness."),
    ("refusal_return", SHARE, "How much a turn comes back to what was refused."),
    ("return_form", FORMS, "In what form it comes back."),
    ("topic_return", SHARE, "How much a turn comes back to a topic that was risky before."),
    ("resampling", SHARE, "How often a turn nearly repeats turns before it."),
    ("split_request", SHARE, "How much more pieces of a request ask for together than alone."),
    ("meaning_closeness", SHARE, "How near the turn's meaning is to what does harm, against look-alikes."),
    ("meaning_standing", SHARE, "The same over the strongest stretch of turns up to now."),
    ("meaning_drift", SHARE, "How much nearer to harm the meaning is than at the beginning."),
    ("topic_jump", SHARE, "How far the turn's meaning is from what was talked about."),
    ("risk_trajectory", SHARE, "How much the newest turns' risk looks like an escalation."),
    ("harmful_intent", SHARE, "How likely harm is meant, by what the turns so far show; never 0 or 1."),
    ("likely_intent", INTENTS, "What is most likely meant."),
    ("goal_directed", SHARE, "How likely one goal lies behind the turns."),
    ("typing_speed", ("normal", "automated"), "Whether anybody could type that fast."),
    ("response_time", ("human", "scripted"), "Whether turns come as evenly as a script's."),
    ("question_style", ("exploratory", "directed"), "Whether questions look around or ask how to do it."),
    ("topic_switching", ("organic", "strategic"), "Whether changes of topic lead back to risky ones."),
)
"""Name, range and meaning of each."""


def measure_all_talks(event: Event, state: Any, options: Options) -> tuple[TurnValues, Any]:
    """Every reading here at an event, by name, and the conversation after it."""
    role = role_of(event)
    if role is None or not event.text or event.attributes.get("task_prompt") is True:
        return {}, state
    # Here and not above: where nobody talks to an assistant it is not needed.
    from .chat_turns import measure_turn

    return measure_turn(event, role, state, options)


def role_of(event: Event) -> str | None:
    """`user` or `assistant`, as the event says; None where it does not, or is of neither.

    >>> role_of(Event.sample(attributes={"role": "human"})), role_of(Event.sample())
    ('user', None)
    """
    role, is_user = event.attributes.get("role"), event.attributes.get("is_user")
    if role in ("user", "human"):
        return "user"
    if role in ("assistant", "ai", "model"):
        return "assistant"
    if role is not None or is_user is None:
        return None
    return "user" if is_user in (1, True) else "assistant" if is_user in (0, False) else None


class _Turn(Part):
    """One reading of a conversation."""

    scope = "thread"
    max_state_bytes = 65_536
    keeps = "talk"
    together = staticmethod(measure_all_talks)


for _name, _range, _meaning in READINGS:
    signal(_name, range=_range, kinds=KINDS, cost="cheap", reads=("text",))(
        type(f"Turn_{_name}", (_Turn,), {"__doc__": _meaning, "__module__": __name__, "name": _name})
    )
