"""The JSON Schema of ethogram.yaml: which settings there are, what each may be, and its default.

It checks form, as an editor can. Whether patterns, parameters, causes and files are there is for the
commands themselves; `ethogram config show` tells, with line and column.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from ..chat.records import SIGNALS
from ..config import Settings
from ..config.loading import leaves
from ..config.settings import EMBEDDERS, LIMITS, USAGE, USAGE_LIMITS
from ..models import SEVERITIES
from ..models.constants import NORMALIZATION, RESOURCES, RUNGS, STATUSES, USAGE_KINDS

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "pattern": r"\S"}
TEXTS: Schema = {"type": "array", "items": TEXT}
SELECTORS: Schema = {"type": "array", "items": TEXT | {"not": {"pattern": r"\.py$"}}}
"""Patterns by name, glob, file or folder: settings never run code."""
NUMBER: Schema = {"type": "number"}
ABOVE_0: Schema = {"type": "number", "exclusiveMinimum": 0}
COUNT: Schema = {"type": "integer", "minimum": 1}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
YES_OR_NO: Schema = {"anyOf": [{"type": "boolean"}, {"enum": ["true", "false"]}]}
DURATION: Schema = {
    "type": "string",
    "pattern": r"^\s*\d{1,9}(\.\d{1,6})?\s*[smhdw]\s*$",
    "description": "A duration: 90s, 30m, 48h, 7d or 2w.",
}
HALF_LIFE: Schema = DURATION | {
    "pattern": r"^\s*(?=[^1-9]*[1-9])\d{1,9}(\.\d{1,6})?\s*[smhdw]\s*$",
    "description": "A duration above 0: 12h, 7d or 2w.",
}
OPTION: Schema = {"type": ["string", "number", "boolean", "object"]}


def config_body() -> Schema:
    """The whole file; every setting may be left out."""
    return {"type": "object", "properties": _described(_settings()), "additionalProperties": False}


def _settings() -> dict[str, Schema]:
    return {
        "patterns": SELECTORS,
        "enabled_patterns": SELECTORS,
        "combination_detection": YES_OR_NO,
        "parameters": _by_name(_by_name(NUMBER)),
        "status": _by_name({"enum": list(STATUSES)}),
        "scorers": _by_name(TEXT),
        "signals": _by_name({"enum": ["number", "category"]}),
        "time_zone": _or_null(TEXT),
        "session_inactivity": DURATION,
        "normalization": {"enum": list(NORMALIZATION)},
        "normalization_level": _or_null({"enum": list(NORMALIZATION)}),
        "allow": TEXTS,
        "deny": TEXTS,
        "critical_paths": TEXTS,
        "cwd": _or_null(TEXT),
        "goal": _or_null(TEXT),
        "inference_enabled": YES_OR_NO,
        "semantic_analysis": {"enum": ["basic", "advanced"]},
        "resources_monitored": _some_of(RESOURCES),
        "resource_limits": _of(dict.fromkeys(RESOURCES, ABOVE_0)),
        "lateness": DURATION,
        "max_future": _or_null(DURATION),
        "max_histories": COUNT,
        "source": TEXT,
        "limits": _of(dict.fromkeys(LIMITS, COUNT)),
        "memory": COUNT,
        "fail_on": _or_null({"enum": list(SEVERITIES)}),
        "mutes": _or_null(TEXT),
        "evaluator": _or_null(TEXT),
        "evaluators": _by_name(_by_name(OPTION)),
        "answers": _or_null(TEXT),
        "hook": _hook(),
        "usage": _usage(),
        "conversation": _conversation(),
        "risk": _risk(),
        "learning": _learning(),
        "calibration": YES_OR_NO,
    }


def _hook() -> Schema:
    return _of(
        {
            "rungs": _some_of(RUNGS),
            "off": TEXTS,
            "patterns": SELECTORS,
            "cool_down": COUNT,
            "most": COUNT,
            "lowest": {"enum": list(SEVERITIES)},
            "critical": {"enum": ["ask", "off"]},
        }
    )


def _usage() -> Schema:
    hour: Schema = {"type": "integer", "minimum": 0, "maximum": 23}
    night = {"type": "array", "items": hour, "minItems": 2, "maxItems": 2, "uniqueItems": True}
    version: Schema = {"anyOf": [{"type": "integer", "minimum": 0}, TEXT]}
    return _of(
        {
            "kinds": _some_of(USAGE_KINDS),
            "cohort": version,
            "night": night,
            "region": _or_null(TEXT),
            "helplines": _by_name(TEXT),
            "weights": _of(dict.fromkeys(USAGE["weights"], SHARE)),
            **dict.fromkeys(USAGE_LIMITS, ABOVE_0),
        }
    )


def _conversation() -> Schema:
    weight: Schema = {"type": "number", "minimum": 0, "maximum": 10}
    return _of(
        {
            "embedder": _or_null({"enum": list(EMBEDDERS)}),
            "weights": _of(dict.fromkeys(SIGNALS, weight)),
            "half_life": DURATION,
            "memory": YES_OR_NO,
        }
    )


def _risk() -> Schema:
    return _of(
        {
            "weights": _of(dict.fromkeys(SEVERITIES, SHARE)),
            "half_life": HALF_LIFE,
            "half_lives": _by_name(HALF_LIFE),
            "multipliers": _by_name({"type": "number", "minimum": 1}),
            "floor": SHARE,
            "floor_half_life": HALF_LIFE,
        }
    )


def _learning() -> Schema:
    shares = ("adjustment_threshold", "luck", "second_look", "step", "far", "lose")
    counts = ("minimum", "each", "accuracy_minimum", "history_retention_days", "apart_days")
    return _of(
        {
            "enabled": YES_OR_NO,
            "automatic": YES_OR_NO,
            **dict.fromkeys(shares, SHARE),
            **dict.fromkeys(counts, COUNT),
            "file": _or_null(TEXT),
        }
    )


def _described(settings: Mapping[str, Schema]) -> dict[str, Schema]:
    """The settings with what each says, and their defaults in the form of the file."""
    defaults, said = default_settings(), descriptions()
    return {
        name: body | {"description": said.get(name, ""), "default": defaults[name]}
        for name, body in settings.items()
    }


def descriptions() -> dict[str, str]:
    """What each setting says, as it stands beside it in the code; nothing where there is no source."""
    try:
        (body,) = ast.parse(inspect.getsource(Settings)).body
    except (OSError, SyntaxError):
        return {}
    assert isinstance(body, ast.ClassDef)
    return {
        item.target.id: " ".join(said.value.value.split())
        for item, said in pairwise(body.body)
        if isinstance(item, ast.AnnAssign)
        and isinstance(item.target, ast.Name)
        and isinstance(said, ast.Expr)
        and isinstance(said.value, ast.Constant)
        and isinstance(said.value.value, str)
    }


def default_settings() -> dict[str, Any]:
    """Every setting as the file would give it if it said nothing new.

    >>> default_settings()["lateness"], default_settings()["risk"]["half_life"]
    ('0s', '1w')
    """
    whole: dict[str, Any] = {}
    for key, value in leaves(Settings()):
        *above, last = key.split(".")
        here = whole
        for name in above:
            here = here.setdefault(name, {})
        here[last] = value
    return whole


def _of(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _by_name(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _some_of(words: Iterable[str]) -> Schema:
    return {"type": "array", "items": {"enum": list(words)}}
