"""JSON Schemas of what evaluators say of messages, and of what that comes to."""

from __future__ import annotations

from typing import Any

from ..models import TRAITS

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
TEXT: Schema = {"type": "string"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
DOLLARS: Schema = {"type": ["number", "null"], "minimum": 0, "description": "null: no price is known."}
TIER: Schema = {"enum": ["focused", "deep", "deep_with_context"]}
COUNTS: Schema = {"type": "object", "additionalProperties": COUNT}


def evaluation_body() -> Schema:
    """One message that was scored. A trait that is left out was not measured."""
    schema = _whole({"id": TEXT, "confidence": SHARE, "start": COUNT, "end": COUNT})
    schema["properties"]["quote"] = TEXT | {"description": "Its words, masked; only where asked for."}
    return _whole(
        {
            "record": {"const": "evaluation"},
            "source": TEXT,
            "id": TEXT,
            "subject": TEXT,
            "tier": TIER,
            "text_digest": TEXT | {"description": "Of the text whose places start and end are."},
            "traits": {
                "type": "object",
                "properties": dict.fromkeys(TRAITS, SHARE),
                "additionalProperties": False,
            },
            "indicators": {"type": "array", "items": schema},
            "scorer": TEXT,
            "width": COUNT | {"description": "Earlier messages it could see; 1000000 for the whole thread."},
            "cost": DOLLARS,
            "usage": _usage(),
            "dropped": COUNTS,
        }
    )


def not_measured_body() -> Schema:
    """One message that could not be scored, and why."""
    return _whole({"record": {"const": "not_measured"}, "source": TEXT, "id": TEXT, "reason": TEXT})


def evaluate_summary_body() -> Schema:
    """What `Evaluated.to_dict` gives."""
    tier = _whole({"tier": TIER, "messages": COUNT, "cost": DOLLARS, "usage": _usage()})
    names: Schema = {"type": "array", "items": {"enum": list(TRAITS)}}
    return _whole(
        {
            "record": {"const": "evaluate_summary"},
            "evaluator": TEXT,
            "scorer": TEXT,
            "messages": COUNT,
            "evaluated": COUNT,
            "share": SHARE,
            "kept_before": COUNT,
            "untrusted": COUNT,
            "not_measured": COUNT,
            "reasons": COUNTS,
            "not_asked": COUNT,
            "in_batches": COUNT,
            "stopped": {"type": ["string", "null"], "description": "budget, interrupted, or why else."},
            "spent": DOLLARS,
            "traits": COUNTS,
            "not_measured_traits": names,
            "indicators": COUNT,
            "dropped": COUNTS,
            "tiers": {"type": "array", "items": tier},
            "copies": COUNT,
            "unknown_language": COUNT,
        }
    )


def _usage() -> Schema:
    return _whole(dict.fromkeys(("input", "output", "cache_read", "cache_write"), COUNT))


def _whole(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": dict(properties)}
