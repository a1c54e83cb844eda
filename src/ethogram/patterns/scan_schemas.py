"""JSON Schema of what the scanner says about one message."""

from __future__ import annotations

from typing import Any

from ..lexicon.records import TIERS

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
COUNT_OR_NULL: Schema = {"type": ["integer", "null"], "minimum": 0}
NAME: Schema = {"type": "string", "minLength": 1}
YES_OR_NO: Schema = {"type": "boolean"}


def scan_body() -> Schema:
    """What `Scan.to_dict` gives. Counts are null where the language is not known."""
    counts: Schema = {"type": ["object", "null"], "additionalProperties": COUNT}
    return _whole(
        {
            "record": {"const": "scan"},
            "tier": {"enum": list(TIERS)},
            "count": COUNT_OR_NULL,
            "negative": COUNT_OR_NULL,
            "density": {"type": ["number", "null"], "minimum": 0},
            "by_trait": counts,
            "by_category": counts,
            "hard_constraint": {"type": "array", "items": NAME},
            "words": COUNT,
            "language": {"type": ["string", "null"]},
            "cut": YES_OR_NO,
            "lexicon": NAME,
            "flags": {"type": "array", "items": _flag()},
        }
    )


def _flag() -> Schema:
    names = dict.fromkeys(("trait", "category", "phrase"), NAME)
    places = dict.fromkeys(("start", "end"), COUNT)
    return _whole({**names, **places, **dict.fromkeys(("negated", "quoted", "mentioned"), YES_OR_NO)})


def _whole(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}
