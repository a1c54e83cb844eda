"""The readings of one turn of a conversation, from what the conversation makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..models import Event, micros
from ..models.timestamps import SECOND
from .base import Unmeasured
from .chat import STAGES
from .options import Options

if TYPE_CHECKING:
    from ..chat.accumulation import Tuning
    from ..chat.conversation import Meaning, Talk
    from ..chat.records import Outcome

# `chat` is imported where a turn is measured: signals are listed by every command.
Values = Mapping[str, float | str | Unmeasured]

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


def values_of(outcome: Outcome, was_refused: bool) -> Values:
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


def measure_turn(event: Event, role: str, state: Any, options: Options) -> tuple[Values, Any]:
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
