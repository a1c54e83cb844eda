"""JSON Schemas of what is told of conversations turn by turn, and of what is kept of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..chat.records import MODES

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SHARE_OR_NULL: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
NAME: Schema = {"type": "string", "minLength": 1}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
MODE: Schema = {"enum": list(MODES)}
ABOVE: Schema = {"enum": MODE["enum"][1:]}
ROLE: Schema = {"enum": ["user", "assistant", "system", "tool"]}


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
    "kept_state": ("What a store keeps of a subject's conversations.", kept_state_body),
}
