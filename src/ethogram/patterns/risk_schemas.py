"""JSON Schemas of risks, assessments and verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..models import SEVERITIES, VERDICTS

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
AT: Schema = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?Z$"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
MODE: Schema = {
    "enum": ["", *SEVERITIES],
    "description": "The gravest severity of which one new and certain detection alone makes as much.",
}


def risk_body() -> Schema:
    """What `ethogram risk` writes; of one subject also what if, and what to do."""
    body = _whole(
        {
            "record": {"const": "risk"},
            "source": TEXT,
            "subject": TEXT,
            "thread": TEXT_OR_NULL,
            "as_of": AT,
            "value": SHARE,
            "mode": MODE,
            "detections": _list(NAME) | {"description": "Ids of those that count."},
        }
    )
    body["properties"] |= {**_made_of(), "without": _without(), "recommendations": _recommendations()}
    return body


def assessment_body() -> Schema:
    """What `Assessment.to_dict` gives."""
    from .schemas import detection_body

    return _whole(
        {
            "record": {"const": "assessment"},
            "source": TEXT,
            "subject": TEXT,
            "thread": TEXT_OR_NULL | {"description": "The run; null where it is all a subject did."},
            "as_of": AT,
            "overall_risk": SHARE,
            "mode": MODE,
            **_made_of(),
            "without": _without(),
            "individual_patterns": _list(detection_body()),
            "combined_patterns": _list(detection_body()),
            "recommendations": _recommendations(),
        }
    )


def verdict_body() -> Schema:
    """What `Verdict.to_dict` gives."""
    return _whole(
        {
            "record": {"const": "verdict"},
            "verdict": {"enum": list(VERDICTS)},
            "by": TEXT,
            "at": AT,
            "pattern": NAME,
            "version": TEXT,
            "detection": TEXT_OR_NULL,
            "subject": TEXT_OR_NULL,
            "first_event": TEXT_OR_NULL,
            "last_event": TEXT_OR_NULL,
            "why": TEXT,
            "blind": {"type": "boolean", "description": "The judge could not see what others had said."},
            "source": TEXT,
        }
    )


def _made_of() -> dict[str, Schema]:
    sure = SHARE | {"description": "How sure its detection counts: by its pattern, or by verdicts."}
    share = _whole({"name": TEXT, "value": SHARE, "detection": NAME, "probability": sure})
    factor = {**share["properties"], "value": {"type": "number", "minimum": 1}}
    return {
        "plain": SHARE | {"description": "What the causes alone make."},
        "causes": _list(share) | {"description": "The largest of each cause, the largest first."},
        "combinations": _list(_whole(factor)) | {"description": "What each multiplies the odds by."},
        "floor": {"anyOf": [share, {"type": "null"}]},
    }


def _without() -> Schema:
    schema = _whole({"detection": NAME, "value": SHARE, "less": SHARE})
    return _list(schema) | {"description": "The risk without each detection and what stands on it."}


def _recommendations() -> Schema:
    rung: Schema = {"enum": ["nudge", "remind", "ask", "stop"]}
    schema = _whole({"rung": TEXT, "effect": TEXT})
    ladder = _whole(
        {"next": {"anyOf": [rung, {"type": "null"}]}, "rungs": _list(rung), "given": _list(schema)}
    )
    return _list(
        _whole(
            {
                "pattern": NAME,
                "title": TEXT,
                "severity": {"enum": list(SEVERITIES)},
                "urgency": {"enum": ["now", "soon", "later", "watch"]},
                "text": NAME,
                "less": SHARE,
                "detections": _list(NAME),
                "tried": _list(TEXT),
                "ladder": {"anyOf": [ladder, {"type": "null"}]},
            }
        )
    )


def _whole(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


RISK_SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "risk": ("Where a subject stands, and which detections make that up.", risk_body),
    "assessment": ("A run or a subject: patterns, risk, and what to do.", assessment_body),
    "verdict": ("What somebody said of a detection, or of its absence.", verdict_body),
}
