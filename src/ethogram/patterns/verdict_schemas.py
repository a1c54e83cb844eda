"""JSON Schemas of what verdicts come to: accuracy, agreement, calibration, and what was learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SHARE_OR_NULL: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
BEYOND: Schema = {"type": ["number", "null"], "minimum": -1, "maximum": 1}
AT: Schema = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?Z$"}


def accuracy_body() -> Schema:
    """What `Accuracy.to_dict` gives."""
    parts: Schema = {"type": "object", "additionalProperties": _whole(_precision())}
    return _whole(
        {
            "record": {"const": "accuracy"},
            "pattern": NAME,
            "version": TEXT,
            **_precision(),
            "unjudged": COUNT | {"description": "Detections that stand and that nobody has judged."},
            "recall": _whole({"at_least": SHARE_OR_NULL, "at_most": SHARE_OR_NULL}),
            "by_source": parts,
            "by_month": parts,
        }
    )


def _precision() -> dict[str, Schema]:
    counts = ("confirmed", "false_alarm", "missed", "correct_silence", "disputed")
    few = _whole({"have": COUNT, "need": COUNT})
    return {
        **dict.fromkeys(counts, COUNT),
        **dict.fromkeys(("precision", "precision_low", "precision_high"), SHARE_OR_NULL),
        "insufficient": _or_null(few) | {"description": "Verdicts there are, and how many it takes."},
    }


def agreement_body() -> Schema:
    """How far judges agree."""
    kappa = {
        "items": COUNT,
        "observed": SHARE,
        "expected": SHARE,
        **dict.fromkeys(("value", "low", "high"), BEYOND),
    }
    pair = _whole({"judges": {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}, **kappa})
    return _whole(
        {
            "record": {"const": "agreement"},
            "pattern": TEXT_OR_NULL,
            "judges": {"type": "object", "additionalProperties": COUNT},
            "all": _or_null(_whole(kappa)),
            "blind": _or_null(_whole(kappa)),
            "pairs": _list(pair),
        }
    )


def proposal_body() -> Schema:
    """What `ethogram learn` writes where it has something to propose."""
    effect = dict.fromkeys(("confirmed", "false_alarms", "caught", "lost"), COUNT)
    whole = _whole({**effect, "precision": SHARE_OR_NULL, "precision_low": SHARE, "precision_high": SHARE})
    numbers = dict.fromkeys(("old", "new", "low", "high"), NUMBER)
    recent: Schema = {"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2}
    return _whole(
        {
            "record": {"const": "proposal"},
            "pattern": NAME,
            "parameter": NAME,
            **numbers,
            "tried": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2},
            "before": whole,
            "after": whole,
            "held_out": whole,
            "lost_confirmed": COUNT,
            "luck": SHARE,
            "verdicts": COUNT,
            "groups": COUNT,
            "values": _list(_whole({"value": NUMBER, **effect})),
            "recent": _or_null(recent),
            "recent_lost": COUNT,
            "version": TEXT,
            "tries": COUNT,
            "not_changed": TEXT_OR_NULL,
        }
    )


def no_proposal_body() -> Schema:
    """What it writes where it has not."""
    return _whole(
        {"record": {"const": "no_proposal"}, "pattern": NAME, "why": NAME, "version": TEXT, "tries": COUNT}
    )


def learned_body() -> Schema:
    """What `Change.to_dict` gives."""
    number: Schema = {"type": "integer", "minimum": 1}
    body = _whole(
        {
            "record": {"const": "learned"},
            "at": AT,
            "by": TEXT,
            "pattern": NAME,
            "parameter": NAME,
            "old": NUMBER,
            "new": NUMBER,
            "undoes": _or_null(number),
            "why": TEXT,
        }
    )
    body["properties"]["number"] = number | {"description": "Its place in the list; only where it is listed."}
    return body


def calibration_body() -> Schema:
    """What `Calibrated.to_dict` gives."""
    shares = ("low", "high", "said", "share", "share_low", "share_high", "probability")
    row = _whole({"count": COUNT, "right": COUNT, **dict.fromkeys(shares, SHARE)})
    point: Schema = {"type": "array", "items": SHARE, "minItems": 2, "maxItems": 2}
    return _whole(
        {
            "record": {"const": "calibration"},
            "pattern": NAME,
            "verdicts": COUNT,
            "sufficient": {"type": "boolean"},
            "brier": SHARE,
            "distance": SHARE,
            "rows": _list(row),
            "curve": _list(point),
        }
    )


def verdicts_added_body() -> Schema:
    """What `ethogram verdict --file` writes."""
    return _whole({"record": {"const": "verdicts_added"}, "added": COUNT, "repeated": COUNT})


def _whole(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(of: Schema) -> Schema:
    return {"anyOf": [of, {"type": "null"}]}


VERDICT_SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "verdicts_added": ("How many verdicts of a file are new.", verdicts_added_body),
    "accuracy": ("How often a version of a pattern was right, as far as verdicts tell.", accuracy_body),
    "agreement": ("How far judges agree beyond chance.", agreement_body),
    "calibration": ("What the confidences of a pattern have meant.", calibration_body),
    "proposal": ("Another number for a pattern that is too often wrong.", proposal_body),
    "no_proposal": ("Why there is nothing to propose.", no_proposal_body),
    "learned": ("A change of a number that was taken up, or taken back.", learned_body),
}
