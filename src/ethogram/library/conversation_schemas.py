"""JSON Schemas of what is told of conversations: turn by turn, made-up ones, and figures about sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
COUNT_OR_NULL: Schema = {"type": ["integer", "null"], "minimum": 1}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SHARE_OR_NULL: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
NAME: Schema = {"type": "string", "minLength": 1}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
ENDS: Schema = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
MODE: Schema = {"enum": ["SAFE", "CAUTIOUS", "ELEVATED", "SUSPECT", "CRITICAL", "UNSAFE"]}
ABOVE: Schema = {"enum": MODE["enum"][1:]}
ROLE: Schema = {"enum": ["user", "assistant", "system", "tool"]}
HALF: Schema = {"enum": ["tune", "other", "report", "all"]}
KIND: Schema = {"enum": ["attack", "harmless", "tempting", "local"]}


def conversation_state_body() -> Schema:
    """Where a conversation stands after a turn."""
    signal = _inner(
        {
            "name": NAME,
            "value": SHARE_OR_NULL,
            "adds": SHARE,
            "usual": SHARE,
            "category": TEXT_OR_NULL,
            "reason": TEXT,
        }
    )
    change = _inner({"name": NAME, "by": NUMBER, "reason": TEXT})
    body = _whole(
        "conversation_state",
        {
            "conversation": NAME,
            "subject": NAME,
            "turn": COUNT | {"description": "Of both sides, from 1."},
            "role": ROLE,
            "risk": SHARE,
            "accumulated_risk": SHARE,
            "mode": MODE,
            "signals": {"type": "array", "items": signal},
            "raised": {"type": "array", "items": change},
            "lowered": {"type": "array", "items": change},
            "intents": _map(SHARE),
            "goal_directed": SHARE,
            "detections": {"type": "array", "items": {"type": "object"}},
        },
    )
    return {**body, "properties": {**body["properties"], "at": TEXT_OR_NULL, "excerpt": TEXT}}


def chat_summary_body() -> Schema:
    """What became of a conversation."""
    return _whole(
        "chat_summary",
        {
            "conversation": NAME,
            "subject": NAME,
            "turns": COUNT,
            "user_turns": COUNT,
            "risk": SHARE,
            "mode": MODE,
            "highest_risk": SHARE,
            "highest_mode": MODE,
            "first": _by_mode(COUNT),
            "patterns": _map(COUNT),
        },
    )


def conversation_body() -> Schema:
    """A made-up conversation, as one of the formats that are read."""
    said = _inner({"speaker": NAME, "role": ROLE, "text": TEXT})
    return _whole("conversation", {"conversation_id": NAME, "turns": {"type": "array", "items": said}})


def simulated_body() -> Schema:
    """When detection came in a made-up conversation."""
    return _whole(
        "simulated",
        {
            "kind": NAME,
            "seed": COUNT,
            "turns": COUNT,
            "begins": COUNT_OR_NULL,
            "highest_mode": MODE,
            "highest_risk": SHARE,
            "first": _by_mode(COUNT),
            "waits": _by_mode(NUMBER),
            "reason": TEXT,
        },
    )


def simulate_summary_body() -> Schema:
    """What became of the made-up conversations of a kind."""
    counts = {"reached": _by_mode(COUNT), "waits": _by_mode(NUMBER)}
    about: dict[str, Schema] = {"kind": NAME, "conversations": COUNT, "harmful": {"type": "boolean"}}
    return _whole("simulate_summary", {**about, **counts})


def conversation_set_body() -> Schema:
    """The conversations of a set that are looked at."""
    counts = {"conversations": COUNT, "turns": COUNT, "median_user_turns": NUMBER}
    return _whole("conversation_set", {"set": NAME, "kind": KIND, "half": HALF, **counts})


def conversation_mode_body() -> Schema:
    """How many conversations of a set ever reach a mode, and when."""
    return _whole(
        "conversation_mode",
        {
            "set": NAME,
            "kind": KIND,
            "mode": ABOVE,
            "conversations": COUNT,
            "reached": COUNT,
            "per_1000": NUMBER,
            "interval": ENDS,
            "median_turn": NUMBER_OR_NULL,
            "at_first_turn": SHARE_OR_NULL,
        },
    )


def conversation_pattern_body() -> Schema:
    """In how many conversations of a set a pattern is detected."""
    counts = {"conversations": COUNT, "detected": COUNT, "per_1000": NUMBER}
    return _whole("conversation_pattern", {"set": NAME, "kind": KIND, "pattern": NAME, **counts})


def conversation_apart_body() -> Schema:
    """How well a method tells attacks from harmless talk."""
    names = ("auroc", "recall_at_1", "recall_at_5")
    figures = {**dict.fromkeys(names, SHARE), **dict.fromkeys((f"{one}_interval" for one in names), ENDS)}
    about: dict[str, Schema] = {"against": NAME, "method": NAME, "attacks": COUNT, "harmless": COUNT}
    own = dict.fromkeys(("limit", "recall_at_limit", "alarms_at_limit"), SHARE_OR_NULL)
    return _whole("conversation_apart", {**about, **figures, **own})


def conversation_reading_body() -> Schema:
    """What a reading, and a shape over it, tells of a labelled set that nothing was trained on."""
    return _whole(
        "conversation_reading",
        {
            "set": NAME,
            "kind": {"enum": ["local", "length"]},
            "reading": NAME,
            "direction": {"enum": ["high", "low"]},
            "tuned_auroc": SHARE,
            "auroc": SHARE,
            "interval": ENDS,
            "positive": COUNT,
            "negative": COUNT,
            "bag_of_words": SHARE_OR_NULL,
        },
    )


def conversation_summary_body() -> Schema:
    """How the figures were got, and those that bars are set for."""
    return _whole(
        "conversation_summary",
        {
            "half": HALF,
            "most": COUNT_OR_NULL,
            "embedder": NAME,
            "tuned": TEXT,
            "against": TEXT_OR_NULL,
            "bars": _map(_inner({"value": NUMBER_OR_NULL, "bar": NUMBER})),
            "data": NAME,
        },
    )


def kept_state_body() -> Schema:
    """What a store keeps of a subject's conversations, as `ethogram export` writes it."""
    name: Schema = {"enum": ["conversation", "conversation_memory"]}
    state: Schema = {"type": ["object", "array"]}
    times: Schema = {"type": "string", "format": "date-time"}
    return _whole(
        "kept_state", {"subject": NAME, "name": name, "key": NAME, "saved_at": times, "state": state}
    )


def _whole(record: str, properties: dict[str, Schema]) -> Schema:
    return _inner({"record": {"const": record}, **properties})


def _inner(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _map(value: Schema) -> Schema:
    return {"type": "object", "additionalProperties": value}


def _by_mode(value: Schema) -> Schema:
    return {**_map(value), "propertyNames": ABOVE}


CONVERSATION_SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "conversation_state": ("Where a conversation stands after a turn, and why.", conversation_state_body),
    "chat_summary": ("How far a conversation went, and when.", chat_summary_body),
    "conversation": ("A made-up conversation.", conversation_body),
    "simulated": ("When detection came in a made-up conversation.", simulated_body),
    "simulate_summary": ("What became of made-up conversations of a kind.", simulate_summary_body),
    "conversation_set": ("The conversations that figures are about.", conversation_set_body),
    "conversation_mode": ("How many conversations ever reach a mode, and when.", conversation_mode_body),
    "conversation_pattern": ("In how many conversations a pattern is detected.", conversation_pattern_body),
    "conversation_apart": ("How well attacks are told from harmless talk.", conversation_apart_body),
    "conversation_reading": ("What a reading tells of a labelled set.", conversation_reading_body),
    "conversation_summary": (
        "How figures about conversations were got: the last line.",
        conversation_summary_body,
    ),
    "kept_state": ("What a store keeps of a subject's conversations.", kept_state_body),
}
