"""JSON Schemas of what is said about an analysis as a whole, and of mutes."""

from __future__ import annotations

from typing import Any

from .evaluation_schemas import evaluate_summary_body

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}


def summary_body() -> Schema:
    """What `Analysis.summary` gives."""
    names = ("pattern", "histories", "detections", "insufficient")
    muted = _listed({"id": TEXT, "detections": COUNT, "expired": TRUTH, "trusted": TRUTH})
    return _whole(
        {
            "record": {"const": "summary"},
            "as_of": TEXT_OR_NULL | {"description": "The moment of the question; null: there was none."},
            "events": COUNT,
            "subjects": COUNT,
            "detections": COUNT,
            "muted": _whole({"detections": COUNT, "entries": muted}),
            "shadow": COUNT,
            "insufficient": COUNT,
            "checked": _listed({name: TEXT if name == "pattern" else COUNT for name in names}),
            "repeated": COUNT,
            "after_as_of": COUNT,
            "bad": COUNT,
            "unused_readings": _listed({"signal": TEXT, "scorer": TEXT, "count": COUNT}),
            "evaluated": {"anyOf": [evaluate_summary_body(), {"type": "null"}]},
            "unmeasured": _listed({"signal": TEXT, "reason": TEXT, "count": COUNT}),
            "unknown_readings": _listed(
                {"signal": TEXT, "count": COUNT, "near": {"type": "array", "items": TEXT}}
            ),
        }
    )


def mute_body() -> Schema:
    """What `Mute.to_dict` gives."""
    asked = dict.fromkeys(("subject", "pattern", "path", "command"), TEXT_OR_NULL)
    rest = {"until": TEXT_OR_NULL, "added": TEXT_OR_NULL, "trusted": TRUTH}
    return _whole({"record": {"const": "mute"}, "id": TEXT, **asked, "reason": TEXT, **rest})


def _whole(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _listed(properties: dict[str, Schema]) -> Schema:
    return {"type": "array", "items": _whole(properties)}
