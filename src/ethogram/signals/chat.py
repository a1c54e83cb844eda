"""Signals of a conversation between a person and an assistant, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..chat.records import INTENTS, MODES
from ..models import Event, micros
from ..models.timestamps import SECOND
from .base import Part, Range, Unmeasured, register_parts
from .options import Options

if TYPE_CHECKING:
    from ..chat.accumulation import Tuning
    from ..chat.conversation import Meaning, Talk
    from ..chat.records import Outcome

# Readings of conversations between a person and an assistant, turn by turn: docs/chat.md.
#
# Readings are on the person's turns; the assistant's turns only update the state, which all these signals
# share per thread. Only events with a speaker, by `role` or `is_user`, are turns of a conversation; the task
# of an agent that acts on it (`task_prompt`) is none. What measures a turn is imported where one is measured:
# signals are listed by every command.

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
    role = role_of(event.attributes)
    if role is None or not event.text or event.attributes.get("task_prompt") is True:
        return {}, state
    return measure_turn(event, role, state, options)


def role_of(attributes: Mapping[str, Any]) -> str | None:
    """`user` or `assistant`, as the attributes of an event say; None where they do not, or it is neither.

    >>> role_of({"role": "human"}), role_of({})
    ('user', None)
    """
    role, is_user = attributes.get("role"), attributes.get("is_user")
    if role in ("user", "human"):
        return "user"
    if role in ("assistant", "ai", "model"):
        return "assistant"
    if role is not None or is_user is None:
        return None
    return "user" if is_user in (1, True) else "assistant" if is_user in (0, False) else None


NAMES = {
    "keywords": "risky_words",
    "request": "risky_request",
    "vehicle": "vehicle",
    "disguise": "disguised_text",
    "ladder": "danger_ladder",
    "query_pattern": "query_line",
    "after_refusal": "refusal_return",
    "topic_return": "topic_return",
    "resampling": "resampling",
    "split_request": "split_request",
    "meaning": "meaning_closeness",
    "standing": "meaning_standing",
    "drift": "meaning_drift",
    "topic_jump": "topic_jump",
    "trajectory": "risk_trajectory",
    "intent": "harmful_intent",
}
"""The reading that each signal's value is."""
CATEGORIES = {
    "vehicle": "vehicle_kind",
    "intent": "likely_intent",
    "typing_speed": "typing_speed",
    "response_time": "response_time",
    "question_style": "question_style",
    "topic_switching": "topic_switching",
}
"""The reading that each signal's category is."""
VALUES_FORMS = {
    "again": "again",
    "in other words": "other words",
    "as fiction": "fiction",
    "as a persona": "persona",
    "asking to drop the rules": "no rules",
    "in another language": "language",
    "insisting": "insisting",
    "cleared up": "cleared up",
}


def values_of(outcome: Outcome, was_refused: bool) -> TurnValues:
    """The readings of a user's turn, by name; what could not be measured in this language says so."""
    record: dict[str, float | str | Unmeasured] = {
        "risk": outcome.own,
        "harm_severity": outcome.severity,
        "refused_before": float(was_refused),
        "conversation_risk": outcome.risk,
        "conversation_mode": outcome.mode.name,
        "conversation_load": outcome.accumulated_risk,
        "goal_directed": outcome.goal_directed,
    }
    if outcome.stage is not None and outcome.topic is not None:
        record |= {"query_stage": STAGES[outcome.stage], "topic": outcome.topic}
    for item in outcome.signals:
        if (name := NAMES.get(item.name)) is not None:
            if item.value is not None:
                record[name] = item.value
            elif "language" in item.reason:
                record[name] = Unmeasured(item.reason)
        if item.category is None:
            continue
        if item.name == "after_refusal":
            record["return_form"] = VALUES_FORMS.get(item.category, "disguise")
        elif item.name in CATEGORIES:
            record[CATEGORIES[item.name]] = item.category
    return record


MAX_CACHED = 256
"""Conversations cached as objects; others are decoded from their stored state."""
_at_hand: dict[int, tuple[Any, Talk]] = {}
_lock = Lock()


def measure_turn(event: Event, role: str, state: Any, options: Options) -> tuple[TurnValues, Any]:
    """The readings of a turn, none of an assistant's, and the conversation after it as plain data."""
    from ..chat.conversation import REFUSES, follow, talk_to_json
    from ..chat.refusals import read_reply

    if state is None and role == "assistant" and read_reply(event.text or "").refuses < REFUSES:
        # Agents that talk among themselves, or a greeting: a conversation begins with the person.
        return {}, None
    at = micros(event.at) / SECOND if event.timed else None
    before = _opened(state)
    was_refused = bool(before.state.refused)
    how = options.conversation
    talk, outcome = follow(before, event.text or "", role, at, meaning_of(how), tuning_of(how))
    values = values_of(outcome, was_refused) if role == "user" else {}
    return values, _cached(talk, talk_to_json(talk))


def meaning_of(how: Mapping[str, Any]) -> Meaning | None:
    """What reads the meaning of turns, by the settings."""
    name = how.get("embedder", "static")
    if name is None:
        return None
    # Here and not above: NumPy is loaded only where a conversation is met.
    from ..chat.embeddings.harm_reader import reader_of

    return reader_of(name)


def tuning_of(how: Mapping[str, Any]) -> Tuning:
    """How much each signal counts and how quickly risk is forgotten, by the settings."""
    from ..chat.accumulation import Tuning

    if not how:
        return Tuning()
    return Tuning(how.get("weights", {}), how.get("half_life", 12 * 3600 * SECOND) / SECOND)


def _opened(state: Any) -> Talk:
    from ..chat.conversation import start, talk_from_json

    if state is None:
        return start()
    known = _at_hand.get(id(state))
    # The cache holds a reference to the plain data, so its id cannot be reused.
    return known[1] if known is not None and known[0] is state else talk_from_json(state)


def _cached(talk: Talk, plain: Any) -> Any:
    with _lock:
        if len(_at_hand) >= MAX_CACHED:
            del _at_hand[next(iter(_at_hand))]
        _at_hand[id(plain)] = (plain, talk)
    return plain


class _Turn(Part):
    """One reading of a conversation."""

    scope = "thread"
    turns = True
    max_state_bytes = 65_536
    keeps = "talk"
    together = staticmethod(measure_all_talks)


register_parts(_Turn, READINGS, kinds=KINDS, cost="cheap", reads=("text",))
