"""JSON Schemas of what is recorded, told and kept of how people use a service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
AMOUNT: Schema = {"type": "number", "minimum": 0}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
WHOLE_OR_NULL: Schema = {"type": ["integer", "null"]}
YES_OR_NO: Schema = {"type": "boolean"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SEVERITY: Schema = {"enum": ["none", "low", "medium"]}
PERSON: Schema = {"type": ["string", "null"], "pattern": "^[0-9a-f]{32}$"}
AT: Schema = {"type": "string", "pattern": r"Z$"}
AT_OR_NULL: Schema = {"type": ["string", "null"]}
FLAGS: dict[str, Schema] = dict.fromkeys(("emotional", "closing", "ended_abruptly"), YES_OR_NO)
TRENDS = ["stable", "increasing", "decreasing"]


def _whole(record: str, properties: dict[str, Schema]) -> Schema:
    properties = {"record": {"const": record}, **properties}
    return {"type": "object", "required": list(properties), "properties": properties}


def _inner(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _map(value: Schema) -> Schema:
    return {"type": "object", "additionalProperties": value}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _fused() -> Schema:
    words: Schema = {"type": "array", "items": TEXT}
    score: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    return _inner(
        {"score": score, "weights": _map(SHARE), "absent": words, "is_crisis": YES_OR_NO, "sentence": TEXT}
    )


def usage_signals_body() -> Schema:
    """What `usage signals` gives: UsageSignals.to_dict with whose it is and when."""
    status: Schema = {"enum": ["ok", "insufficient"]}
    signal = {
        "status": status,
        "value": NUMBER,
        "severity": SEVERITY,
        "sentence": TEXT,
        "details": _map(NUMBER),
    }
    return _whole(
        "usage_signals",
        {
            "subject": TEXT,
            "as_of": AT,
            "frequency_change": {"type": "number", "minimum": -1, "maximum": 1},
            "is_late_night": YES_OR_NO,
            "session_length_trend": {"enum": TRENDS},
            "withdrawal_detected": YES_OR_NO,
            "return_after_absence": YES_OR_NO,
            "abrupt_termination": YES_OR_NO,
            "behavioral_score": SHARE,
            "status": status,
            "parts": _map(SHARE),
            "cohort": COUNT,
            "signals": _map(_inner(signal)),
            "fused": _or_null(_fused()),
            "helpline": _or_null(_inner({"region": TEXT, "text": TEXT})),
        },
    )


def usage_news_body() -> Schema:
    """What `News.to_dict` gives."""
    finding = _inner({"signal": TEXT, "severity": SEVERITY, "sentence": TEXT})
    return _whole(
        "usage_news",
        {
            "person": PERSON,
            "subject": TEXT_OR_NULL | {"description": "The id, where the ids were given."},
            "as_of": AT,
            "severity": SEVERITY,
            "behavioral_score": SHARE,
            "findings": {"type": "array", "items": finding},
        },
    )


def usage_sweep_body() -> Schema:
    """What `usage sweep` gives at the end: how many people by the highest severity told."""
    people = _inner({"low": COUNT, "medium": COUNT})
    helpline = _or_null(_inner({"region": TEXT, "text": TEXT}))
    removed = _inner({"people": COUNT, "events": COUNT}) | {
        "description": "What was older than the retention."
    }
    return _whole("usage_sweep", {"as_of": AT, "people": people, "removed": removed, "helpline": helpline})


def usage_recorded_body() -> Schema:
    """What `usage record` gives."""
    return _whole(
        "usage_recorded",
        {"store": TEXT, "added": COUNT, "known": COUNT, "not_by_person": COUNT, "bad": COUNT},
    )


def usage_store_body() -> Schema:
    """What `usage info` gives."""
    counts = dict.fromkeys(("keys", "people", "events", "looks"), COUNT)
    record: dict[str, Schema] = {"keep": {"enum": ["events", "aggregates"]}, "retention_days": NUMBER}
    return _whole("usage_store", {**record, **counts})


def usage_key_body() -> Schema:
    """What `usage key` gives."""
    return _whole(
        "usage_key",
        {"what": {"enum": ["new", "rotate", "catch_up", "check"]}, "file": TEXT_OR_NULL, "keys": COUNT},
    )


def usage_look_body() -> Schema:
    """One line of the audit."""
    return _whole("usage_look", {"at": AT, "what": TEXT, "person": PERSON, "who": TEXT, "why": TEXT})


def usage_purge_body() -> Schema:
    """What `purge` gives of a usage store."""
    return _whole("usage_purge", {"people": COUNT, "events": COUNT, "clean": YES_OR_NO})


def usage_person_body() -> Schema:
    """The head of a person's own data."""
    times = {"first_at": AT_OR_NULL, "last_at": AT_OR_NULL, "clock_ahead": WHOLE_OR_NULL}
    return _whole("usage_person", {"person": PERSON, "events": COUNT, **times})


def usage_event_body() -> Schema:
    """One event that is kept."""
    record: dict[str, Schema] = {"at": AT, "length": WHOLE_OR_NULL, "is_user": YES_OR_NO, **FLAGS}
    return _whole("usage_event", {**record, "session": TEXT_OR_NULL, "clock_ahead": WHOLE_OR_NULL})


def usage_day_body() -> Schema:
    """One day on the person's own clock, which begins at five in the morning."""
    hours: Schema = {"type": "array", "items": NUMBER}
    return _whole("usage_day", {"day": TEXT, "events": COUNT, "active_hours": hours})


def usage_half_hour_body() -> Schema:
    """One half-hour in which the person was there."""
    length: Schema = {"type": ["number", "null"]}
    record: dict[str, Schema] = {"first_at": AT, "last_at": AT, "events": COUNT, "typical_length": length}
    return _whole("usage_half_hour", {**record, **FLAGS})


def usage_told_body() -> Schema:
    """One thing that was told about a person."""
    return _whole("usage_told", {"signal": TEXT, "severity": SEVERITY, "since": AT, "last": AT})


def usage_cohort_body() -> Schema:
    """A version of the cohort's table."""
    figures = (
        "events_a_day active_a_day days events_spread active_spread spread_days week_spread night_share "
        "night_weight log_pause log_pause_spread pauses session_minutes message_length"
    )
    return _whole(
        "usage_cohort",
        {
            "version": COUNT,
            "source": {"type": "string", "minLength": 1},
            **dict.fromkeys(figures.split(), AMOUNT),
            "date": TEXT,
            "people": COUNT,
            "file": TEXT_OR_NULL,
        },
    )


USAGE_SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "usage_cohort": ("What is usual among the people of a service.", usage_cohort_body),
    "usage_signals": ("What is unusual about a person at a moment.", usage_signals_body),
    "usage_news": ("A person about whom something is to be told.", usage_news_body),
    "usage_sweep": ("How many people were told of: the last line of a sweep.", usage_sweep_body),
    "usage_recorded": ("What became of the events of files.", usage_recorded_body),
    "usage_store": ("What is in a store of people's use.", usage_store_body),
    "usage_key": ("What became of a key.", usage_key_body),
    "usage_look": ("Who looked at whom, when, and why.", usage_look_body),
    "usage_purge": ("What was removed of people's use.", usage_purge_body),
    "usage_person": ("A person's own data: the head.", usage_person_body),
    "usage_event": ("A person's own data: one event that is kept.", usage_event_body),
    "usage_day": ("A person's own data: one day.", usage_day_body),
    "usage_half_hour": ("A person's own data: one half-hour.", usage_half_hour_body),
    "usage_told": ("A person's own data: one thing that was told about them.", usage_told_body),
}
