"""JSON Schemas of the records that the benchmarks print; `check` holds a record against its own."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
COUNT_OR_NULL: Schema = {"type": ["integer", "null"], "minimum": 1}
NUMBER: Schema = {"type": "number"}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
AMOUNT: Schema = {"type": "number", "minimum": 0}
AMOUNT_OR_NULL: Schema = {"type": ["number", "null"], "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SHARE_OR_NULL: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
NAME: Schema = {"type": "string", "minLength": 1}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
ENDS: Schema = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
ENDS_OR_NULL: Schema = {"type": ["array", "null"], "items": AMOUNT, "minItems": 2, "maxItems": 2}
SEVERITY: Schema = {"enum": ["low", "medium"]}
MODE: Schema = {"enum": ["SAFE", "CAUTIOUS", "ELEVATED", "SUSPECT", "CRITICAL", "UNSAFE"]}
ABOVE: Schema = {"enum": MODE["enum"][1:]}
ROLE: Schema = {"enum": ["user", "assistant", "system", "tool"]}
HALF: Schema = {"enum": ["tune", "other", "report", "all"]}
HALF_OF_PEOPLE: Schema = {"enum": ["tune", "report", "all"]}
KIND: Schema = {"enum": ["attack", "harmless", "tempting", "local"]}


def check(record: dict[str, Any]) -> None:
    """Raise where a record does not fit its schema, or has a field that the schema does not name."""
    schema = SCHEMAS[record["record"]]
    Draft202012Validator(schema).validate(record)
    assert record.keys() <= schema["properties"].keys()


def usage_set_body() -> Schema:
    """The people of a set that are looked at."""
    return _whole(
        "usage_set",
        {
            "set": NAME,
            "half": HALF_OF_PEOPLE,
            "seed": COUNT,
            "zone": TEXT_OR_NULL,
            "cohort": COUNT,
            "people": COUNT,
            "events": COUNT,
            "person_weeks": AMOUNT,
            "observed_days": COUNT | {"description": "Days on which a person was there, added up."},
        },
    )


def usage_rate_body() -> Schema:
    """How often something opened for a group of people."""
    names = dict.fromkeys(("set", "background", "method", "group", "pattern"), NAME)
    return _whole(
        "usage_rate",
        {
            **names,
            "severity": SEVERITY,
            "people": COUNT,
            "person_weeks": AMOUNT,
            "active_weeks": COUNT | {"description": "Calendar weeks in which a person was there, added up."},
            "openings": COUNT,
            "rate": AMOUNT | {"description": "Openings a person-week."},
            "interval": ENDS_OR_NULL,
            "active_rate": AMOUNT | {"description": "Openings an active week."},
            "active_interval": ENDS_OR_NULL,
            "with_any": SHARE_OR_NULL,
        },
    )


def usage_recall_body() -> Schema:
    """How many planted changes were found."""
    band = _inner({"from": AMOUNT, "below": AMOUNT_OR_NULL, "cases": COUNT, "found": COUNT})
    return _whole(
        "usage_recall",
        {
            **dict.fromkeys(("set", "change", "background", "measure"), NAME),
            "rise": AMOUNT_OR_NULL
            | {"description": "The least by which the share of the night rises; null: however little."},
            "severity": SEVERITY,
            "drawn": COUNT,
            "too_small": COUNT
            | {"description": "Drawn and left out: nothing changed, or less than the rise."},
            "reached": {
                "type": ["number", "null"],
                "description": "What the change came to, the median: the share of events left, by how much "
                "the share of the night rose, or how many times as long talks are on average.",
            },
            "cases": COUNT,
            "people": COUNT | {"description": "Different people in these cases."},
            "open_before": COUNT | {"description": "Cases left out: a wanted pattern was open already."},
            "found": COUNT,
            "recall": SHARE_OR_NULL,
            "interval": ENDS_OR_NULL,
            "delay_days": AMOUNT_OR_NULL,
            "control_found": COUNT,
            "control": SHARE_OR_NULL | {"description": "Found in the same periods without the change."},
            "control_interval": ENDS_OR_NULL,
            "by_expected": {"type": "array", "items": band},
        },
    )


def usage_silence_body() -> Schema:
    """How many people count as gone quiet after their last event."""
    counts = dict.fromkeys(("days", "people", "quiet"), COUNT)
    return _whole("usage_silence", {"set": NAME, "severity": SEVERITY, **counts})


def usage_fall_body() -> Schema:
    """How often people fell to a fifth by themselves."""
    counts = dict.fromkeys(("days", "periods", "fallen", "falls"), COUNT)
    shares = {"share": SHARE_OR_NULL, "rate": AMOUNT | {"description": "Falls a person-week."}}
    return _whole("usage_fall", {"set": NAME, **counts, **shares})


def usage_summary_body() -> Schema:
    """The last line: how the figures were got, and those that bars are set for."""
    by_severity = {"type": "object", "additionalProperties": {"type": ["number", "object"]}}
    schema = _inner({"rate": by_severity, "recall": by_severity})
    return _whole(
        "usage_summary",
        {
            "seed": COUNT,
            "draws": COUNT,
            "half": HALF_OF_PEOPLE,
            "data": NAME | {"description": "Digest of the files, so that figures can be tied to them."},
            "sets": {"type": "object", "additionalProperties": schema},
        },
    )


def conversation_body() -> Schema:
    """A made-up conversation, as one of the formats that are read."""
    schema = _inner({"speaker": NAME, "role": ROLE, "text": TEXT})
    return _whole("conversation", {"conversation_id": NAME, "turns": {"type": "array", "items": schema}})


def simulated_body() -> Schema:
    """When detection came in a made-up conversation."""
    return _whole(
        "simulated",
        {
            "kind": NAME,
            "seed": COUNT,
            "turns": COUNT,
            "begins": COUNT_OR_NULL,
            "highest_mode": MODE,
            "highest_risk": SHARE,
            "first": _by_mode(COUNT),
            "waits": _by_mode(NUMBER),
            "reason": TEXT,
        },
    )


def simulate_summary_body() -> Schema:
    """What became of the made-up conversations of a kind."""
    counts = {"reached": _by_mode(COUNT), "waits": _by_mode(NUMBER)}
    about: dict[str, Schema] = {"kind": NAME, "conversations": COUNT, "harmful": {"type": "boolean"}}
    return _whole("simulate_summary", {**about, **counts})


def conversation_set_body() -> Schema:
    """The conversations of a set that are looked at."""
    counts = {"conversations": COUNT, "turns": COUNT, "median_user_turns": NUMBER}
    return _whole("conversation_set", {"set": NAME, "kind": KIND, "half": HALF, **counts})


def conversation_mode_body() -> Schema:
    """How many conversations of a set ever reach a mode, and when."""
    return _whole(
        "conversation_mode",
        {
            "set": NAME,
            "kind": KIND,
            "mode": ABOVE,
            "conversations": COUNT,
            "reached": COUNT,
            "per_1000": NUMBER,
            "interval": ENDS,
            "median_turn": NUMBER_OR_NULL,
            "at_first_turn": SHARE_OR_NULL,
        },
    )


def conversation_pattern_body() -> Schema:
    """In how many conversations of a set a pattern is detected."""
    counts = {"conversations": COUNT, "detected": COUNT, "per_1000": NUMBER}
    return _whole("conversation_pattern", {"set": NAME, "kind": KIND, "pattern": NAME, **counts})


def conversation_apart_body() -> Schema:
    """How well a method tells attacks from harmless talk."""
    names = ("auroc", "recall_at_1", "recall_at_5")
    figures = {**dict.fromkeys(names, SHARE), **dict.fromkeys((f"{name}_interval" for name in names), ENDS)}
    about: dict[str, Schema] = {"against": NAME, "method": NAME, "attacks": COUNT, "harmless": COUNT}
    own = dict.fromkeys(("limit", "recall_at_limit", "alarms_at_limit"), SHARE_OR_NULL)
    return _whole("conversation_apart", {**about, **figures, **own})


def conversation_reading_body() -> Schema:
    """What a method tells of a labelled set: a reading of `local`, a bag of words, length."""
    return _whole(
        "conversation_reading",
        {
            "set": NAME,
            "trait": NAME,
            "shape": NAME,
            "method": NAME,
            "auroc": SHARE,
            "interval": ENDS,
            "positive": COUNT,
            "negative": COUNT,
            "bar": SHARE_OR_NULL,
            "former": {"type": "array", "items": SHARE, "minItems": 3, "maxItems": 3},
        },
    )


def conversation_summary_body() -> Schema:
    """How the figures were got, and those that bars are set for."""
    return _whole(
        "conversation_summary",
        {
            "half": HALF,
            "most": COUNT_OR_NULL,
            "embedder": NAME,
            "tuned": TEXT,
            "against": TEXT_OR_NULL,
            "bars": _map(_inner({"value": NUMBER_OR_NULL, "bar": NUMBER})),
            "data": NAME,
        },
    )


def _whole(record: str, properties: dict[str, Schema]) -> Schema:
    return _inner({"record": {"const": record}, **properties})


def _inner(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _map(value: Schema) -> Schema:
    return {"type": "object", "additionalProperties": value}


def _by_mode(value: Schema) -> Schema:
    return {**_map(value), "propertyNames": ABOVE}


SCHEMAS: dict[str, Schema] = {
    "usage_set": usage_set_body(),
    "usage_rate": usage_rate_body(),
    "usage_recall": usage_recall_body(),
    "usage_silence": usage_silence_body(),
    "usage_fall": usage_fall_body(),
    "usage_summary": usage_summary_body(),
    "conversation": conversation_body(),
    "simulated": simulated_body(),
    "simulate_summary": simulate_summary_body(),
    "conversation_set": conversation_set_body(),
    "conversation_mode": conversation_mode_body(),
    "conversation_pattern": conversation_pattern_body(),
    "conversation_apart": conversation_apart_body(),
    "conversation_reading": conversation_reading_body(),
    "conversation_summary": conversation_summary_body(),
}
