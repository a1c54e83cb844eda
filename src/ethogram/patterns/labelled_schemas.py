"""JSON Schemas of labels, of figures got on them, and of what patterns would have found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..models import SEVERITIES

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SHARE_OR_NULL: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
NAME: Schema = {"type": "string", "minLength": 1}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
SEVERITY: Schema = {"enum": ["any", *SEVERITIES]}
SPLIT: Schema = TEXT | {"description": "any: all together."}
EVENT: Schema = {
    "type": ["string", "integer", "null"],
    "description": "An event's id, or its position in the thread, from 1.",
}


def label_body() -> Schema:
    """One label: what goes in beside events."""
    text: Schema = {"type": ["string", "integer", "null"]}
    fields: dict[str, Schema] = {
        "record": {"const": "label"},
        "id": {"type": ["string", "integer"], "description": "Each once."},
        "target": {"description": "Whether it is what is looked for: true or false, 1 or 0, yes or no."},
        "of": {"enum": ["conversation", "run", "event", "span", None]},
        "source": text,
        "subject": text | {"description": "Only what this subject does in the thread."},
        "thread": text | {"description": "Of a conversation or run; left out: the id."},
        "event": EVENT,
        "from": EVENT,
        "to": EVENT,
        "at": EVENT | {"description": "Where the target is; left out: the end of the thread."},
        "begins": EVENT | {"description": "Where things begin to build up: before it, all must be quiet."},
        "over": EVENT | {"description": "Where the target is over."},
        "pattern": text | {"description": "The label counts for this pattern alone."},
        "group": text | {"description": "What is alike has one group."},
        "split": text | {"description": "tune, test, ..."},
    }
    return {
        "type": "object",
        "required": ["id", "target"],
        "properties": fields,
        "additionalProperties": False,
    }


def labelled_body() -> Schema:
    """What a pattern marks of labelled things."""
    trivial = _inner({"name": NAME, "auroc": SHARE, "precision": SHARE_OR_NULL})
    return _whole(
        "labelled",
        {
            "set": NAME,
            "pattern": NAME | {"description": "any: all of them together."},
            "version": TEXT_OR_NULL,
            "severity": SEVERITY,
            "split": SPLIT,
            "of": {"type": "array", "items": {"enum": ["conversation", "run", "event", "span"]}},
            "things": COUNT,
            "targets": COUNT,
            "groups": COUNT,
            "marked": COUNT,
            "precision": _rate(),
            "recall": _rate(),
            "false_alarms": _rate(),
            "auroc": _or_null(_ends()),
            "recall_at_1": _or_null(_ends()),
            "recall_at_5": _or_null(_ends()),
            "lift": NUMBER_OR_NULL | {"description": "Precision over the share of targets."},
            "trivial": {"type": "array", "items": trivial},
            "horizon": _times("Events from the first detection to the target."),
            "recovery": _times("Events from the end of the target to the end of the detection."),
        },
    )


def labelled_compared_body() -> Schema:
    """How two versions differ on the same things: new less old."""
    figure = _or_null(_inner({"value": NUMBER, "low": NUMBER, "high": NUMBER, "p": SHARE}))
    return _whole(
        "labelled_compared",
        {
            "set": NAME,
            "split": SPLIT,
            "severity": SEVERITY,
            "things": COUNT,
            "better": COUNT | {"description": "Things on which only the new version is right."},
            "worse": COUNT,
            "p": SHARE | {"description": "McNemar's exact test of the two, by groups."},
            "precision": figure,
            "recall": figure,
            "false_alarms": figure,
            "auroc": figure,
        },
    )


def labelled_summary_body() -> Schema:
    """What was looked at."""
    return _whole(
        "labelled_summary",
        {
            "set": NAME,
            "labels": COUNT,
            "things": COUNT,
            "targets": COUNT,
            "not_found": COUNT | {"description": "Labels about nothing in the events, left out."},
            "not_found_first": {"type": "array", "items": TEXT},
            "patterns": {"type": "array", "items": NAME},
            "severity": SEVERITY,
            "data": TEXT | {"description": "A digest of the files."},
        },
    )


def backtest_body() -> Schema:
    """What a pattern would have found."""
    overlap = _inner(
        {"other": NAME, "both": COUNT, "jaccard": SHARE, "covered": SHARE, "together": NUMBER_OR_NULL}
    )
    return _whole(
        "backtest",
        {
            "pattern": NAME,
            "detections": COUNT,
            "histories": COUNT,
            "looked_at": COUNT,
            "by_severity": {"type": "object", "additionalProperties": COUNT},
            "by_week": {"type": "object", "additionalProperties": COUNT},
            "examples": {"type": "array", "items": {"type": "object"}},
            "overlaps": {"type": "array", "items": overlap},
            "shuffled": {"type": "array", "items": COUNT},
            "lift": NUMBER_OR_NULL,
        },
    )


def backtest_against_body() -> Schema:
    """How that differs from what another version would have found."""
    return _whole(
        "backtest_against",
        {
            "pattern": NAME,
            "other": NAME,
            "version": TEXT_OR_NULL,
            "detections": COUNT | {"description": "Of the other."},
            "histories": COUNT,
            "both": COUNT | {"description": "Detections that share an event with one of the other's."},
            "only": COUNT,
            "only_other": COUNT,
            "jaccard": SHARE_OR_NULL,
        },
    )


def backtest_summary_body() -> Schema:
    """What was looked at."""
    moments = {"as_of": TEXT_OR_NULL, "since": TEXT_OR_NULL}
    return _whole("backtest_summary", {"patterns": COUNT, "events": COUNT, **moments})


def _whole(name: str, properties: dict[str, Schema]) -> Schema:
    return _inner({"record": {"const": name}, **properties})


def _inner(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _ends() -> Schema:
    return _inner({"value": SHARE_OR_NULL, "low": SHARE, "high": SHARE})


def _rate() -> Schema:
    return _inner({"hits": COUNT, "of": COUNT, "value": SHARE_OR_NULL, "low": SHARE, "high": SHARE})


def _times(text: str) -> Schema:
    told = {"of": COUNT, "count": COUNT, "left_out": COUNT, "median": NUMBER_OR_NULL}
    body = _inner({**told, "quartile_low": NUMBER_OR_NULL, "quartile_high": NUMBER_OR_NULL})
    return body | {"description": text}


def _or_null(body: Schema) -> Schema:
    return {"anyOf": [body, {"type": "null"}]}


LABELLED_SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "label": ("What somebody said of a conversation, run, event or span: what goes in.", label_body),
    "labelled": ("How well a pattern tells targets from the rest in labelled data.", labelled_body),
    "labelled_compared": ("How two versions differ on the same labelled things.", labelled_compared_body),
    "labelled_summary": ("Which labels figures are about: the last line.", labelled_summary_body),
    "backtest": ("What a pattern would have found in history, with examples.", backtest_body),
    "backtest_against": ("How that differs from what another version finds.", backtest_against_body),
    "backtest_summary": ("What a backtest looked at: the last line.", backtest_summary_body),
}
