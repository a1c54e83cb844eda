"""The JSON Schema of a pattern file: docs/language.md, sections 2 and 3.

It checks form: which keys there are and what kind of value each takes. Whether names are known,
expressions parse and examples hold is for `ethogram patterns lint`.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from ..language.shape_parser import COMBINATIONS, KINDS, SETTINGS
from ..models.constants import EVIDENCE, STATUSES
from ..models.severity import SEVERITIES
from .pattern_file import LISTS

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
DATE: Schema = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
NAME: Schema = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
# The name of a pattern, of one of its for_each values, or of its first steps.
PART: Schema = {"type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_]*(\.[^.@\s]+)?(@\d+)?$"}
INDICATOR: Schema = {"type": "string", "pattern": "^[A-Z]{3}[-_][A-Z0-9]+$"}
COUNT: Schema = {"type": "integer", "minimum": 1}
# Where a number is due, the name of a parameter will do.
NUMBER: Schema = {"anyOf": [{"type": "number"}, NAME]}
SIZE: Schema = {"anyOf": [COUNT, NAME]}
SEVERITY: Schema = {"enum": list(SEVERITIES)}
EXPRESSION: Schema = {"type": ["string", "number"], "minLength": 1}
DURATION: Schema = {"type": "string", "pattern": r"^\s*\d{1,9}(\.\d{1,6})?\s*[smhdw]\s*$"}
EVENTS: Schema = {"type": "string", "pattern": r"^\s*\d{1,9}\s+events?\s*$"}
LIMIT: Schema = {"anyOf": [DURATION, EVENTS]}
LIMITS: Schema = {"anyOf": [LIMIT, {"type": "array", "items": LIMIT, "minItems": 1}]}
# How far back: a number of events, a limit, or a parameter; or several of these that all hold.
BACK: Schema = {"anyOf": [COUNT, LIMIT, NAME]}
WINDOW: Schema = {"anyOf": [BACK, {"type": "array", "items": BACK, "minItems": 1}]}
SCALAR: Schema = {"type": ["number", "string", "boolean", "null"]}
_SETTING: dict[str, Schema] = {
    **dict.fromkeys(("of", "when", "where", "against", "within_each", "since", "and"), EXPRESSION),
    **dict.fromkeys(("clears", "longer_than", "after"), EXPRESSION),
    **dict.fromkeys(("rise", "fall", "tau", "difference", "t", "multiplier"), NUMBER),
    **dict.fromkeys(("last", "skip"), WINDOW),
    **dict.fromkeys(("from", "to"), PART),
    "at_least": SIZE,
    "within": DURATION,
}


def pattern_body() -> Schema:
    """A pattern file, read as YAML 1.2."""
    several = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 50, "uniqueItems": True}
    combined = {"properties": {"shape": {"anyOf": [{"required": [k]} for k in (*COMBINATIONS, "spread")]}}}
    sequence = {"properties": {"shape": {"required": ["sequence"]}}}
    by_condition = {
        "type": "object", "propertyNames": SEVERITY, "additionalProperties": EXPRESSION, "minProperties": 1,
    }  # fmt: skip
    body = _closed(
        {
            "id": {"type": "string", "pattern": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"},
            "name": NAME | {"description": "The file's name."},
            "title": TEXT,
            "status": {"enum": list(STATUSES)},
            "evidence": {"enum": list(EVIDENCE)},
            "description": TEXT | {"description": "Conduct, not intent."},
            "triage": TEXT | {"description": "What a person should look at first."},
            **dict.fromkeys(LISTS, _item_or_list(TEXT)),
            "author": TEXT,
            "date": DATE,
            "modified": DATE,
            "cause": TEXT | {"description": "Detections of one cause count once in risk."},
            "confirms": _item_or_list(INDICATOR),
            "group_by": _item_or_list(TEXT),
            "parameters": _by_name({"type": "number"}),
            "define": _by_name(EXPRESSION),
            "for_each": _by_name(several) | {"minProperties": 1, "maxProperties": 1},
            "shape": {"$ref": "#/$defs/shape"},
            "confidence": EXPRESSION,
            "severity": {"anyOf": [SEVERITY, by_condition]},
            "details": _by_name(EXPRESSION),
            "explanation": TEXT,
            "recommendation": TEXT,
            "tell_at": SIZE,
            "examples": {"$ref": "#/$defs/examples"},
        },
        required=["name", "title", "description", "shape", "severity", "examples"],
    )  # fmt: skip
    body["anyOf"] = [{"required": ["confidence"]}, combined]
    body["dependentSchemas"] = {"tell_at": sequence}
    body["$defs"] = {"shape": _shape(), "step": _step(), "examples": _examples(), "example": _example()}
    return body


def _shape() -> Schema:
    shapes = {
        kind: _closed({name: _SETTING[name] for name in (*required, *others)}, [*required])
        for kind, (required, others) in SETTINGS.items()
    }
    shapes["trend"]["oneOf"] = [{"required": ["rise"]}, {"required": ["fall"]}]
    whole = {kind: _closed({kind: body}, [kind]) for kind, body in shapes.items()}
    whole |= {"sequence": _sequence(), **{kind: _combination(kind) for kind in COMBINATIONS}}
    return {"oneOf": [whole[kind] for kind in KINDS]}


def _sequence() -> Schema:
    steps = {"type": "array", "items": {"$ref": "#/$defs/step"}, "minItems": 1}
    gap = {"anyOf": [{"type": "integer", "minimum": 0}, NAME]}
    return _closed({"sequence": steps, "max_gap": gap, "within": LIMITS}, required=["sequence"])


def _step() -> Schema:
    """A `never`; or a name with its condition, and the options that stand beside it."""
    options = {"times": SIZE, "at_least": SIZE, "within": LIMITS, "optional": {"type": "boolean"}}
    required = [r + s for r, s in product(([], ["times"], ["at_least"]), ([], ["within"]))]
    named = {
        "type": "object",
        "propertyNames": NAME,
        "properties": options | {"never": False},
        "additionalProperties": EXPRESSION,
        "anyOf": [
            *(_beside(keys, options) for keys in required),
            *(_beside([*keys, "optional"], options) for keys in required),
        ],
        # An optional step takes nothing else.
        "if": {"required": ["optional"], "properties": {"optional": {"const": True}}},
        "then": {"maxProperties": 2},
    }
    return {"oneOf": [_closed({"never": EXPRESSION}, required=["never"]), named]}


def _beside(keys: list[str], options: dict[str, Schema]) -> Schema:
    """Exactly these options, and one key more: the step's name."""
    others: dict[str, Schema | bool] = {name: False for name in options if name not in keys}
    size = len(keys) + 1
    return {"required": keys, "properties": others, "minProperties": size, "maxProperties": size}


def _combination(kind: str) -> Schema:
    """Parts with a limit in time; overlapping ones need none, and for any_of there is none."""
    least = 1 if kind == "any_of" else 2
    parts = {"type": "array", "items": PART, "minItems": least, "uniqueItems": True}
    body = _closed({kind: parts, "multiplier": NUMBER}, required=[kind])
    if kind == "any_of":
        return body
    body["properties"]["within"] = {"anyOf": [DURATION, {"const": "none"}]}
    limited: Schema = {"required": ["within"]}
    if kind == "in_order":
        return body | {"required": [kind, "within"]}
    body["properties"]["overlapping"] = {"type": "boolean"}
    overlaps = {"required": ["overlapping"], "properties": {"overlapping": {"const": True}}}
    return body | {"anyOf": [limited, overlaps]}


def _examples() -> Schema:
    def listed(least: int) -> Schema:
        return {"type": "array", "items": {"$ref": "#/$defs/example"}, "minItems": least}

    return _closed({"fires": listed(1), "quiet": listed(2)}, required=["fires", "quiet"])


def _example() -> Schema:
    scalar_or_list: Schema = {"anyOf": [SCALAR, {"type": "array", "items": SCALAR}]}
    event = {
        "type": "object",
        "properties": {"at": {"type": ["number", "string"]}, "readings": {"type": "object"}},
    }
    fields = {
        "story": TEXT,
        "at": COUNT | {"description": "Position of the event at which it fires, from 1."},
        "severity": SEVERITY,
        "every": DURATION,
        "as_of": DURATION,
        "events": {"type": "array", "items": event, "minItems": 1},
        **dict.fromkeys(("subject", "target", "thread", "session", "kind"), scalar_or_list),
    }
    return {
        "type": "object",
        "required": ["story"],
        "properties": fields,
        "additionalProperties": scalar_or_list | {"description": "One value per event, or one for all."},
    }


def _closed(properties: dict[str, Schema], required: list[str]) -> Schema:
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


def _item_or_list(item: Schema) -> Schema:
    """A list of different ones; one alone is a list of one."""
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1, "uniqueItems": True}]}


def _by_name(values: Schema) -> Schema:
    return {"type": "object", "propertyNames": NAME, "additionalProperties": values}
