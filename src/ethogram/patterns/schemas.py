"""JSON Schemas (draft 2020-12) of everything that goes in or comes out as JSON or YAML.

The promise that goes with them is in docs/records.md: within a major version, fields are only added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..models import SEVERITIES, STATES
from ..models.constants import STATUSES
from .config_schema import config_body
from .conversation_schemas import CONVERSATION_SCHEMAS
from .evaluation_schemas import evaluate_summary_body, evaluation_body, not_measured_body
from .hook_schemas import (
    hook_replay_body,
    hook_replayed_body,
    hook_report_body,
    hook_said_body,
    hook_status_body,
)
from .labelled_schemas import LABELLED_SCHEMAS
from .outcome_schemas import mute_body, summary_body
from .pattern_schema import pattern_body
from .risk_schemas import RISK_SCHEMAS
from .run_schemas import run_body
from .scan_schemas import scan_body
from .store_schemas import STORE_SCHEMAS
from .usage_schemas import USAGE_SCHEMAS
from .verdict_schemas import VERDICT_SCHEMAS

Schema = dict[str, Any]

VERSION = "1.0"
"""Of the forms described here. The first number changes when a field goes or changes its meaning."""

DRAFT = "https://json-schema.org/draft/2020-12/schema"

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
POSITION: Schema = {"type": "integer", "minimum": 0}
PLACE: Schema = {"type": ["integer", "null"], "minimum": 1}
VALUE: Schema = {"type": ["number", "string"]}
MOMENT: Schema = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?Z$",
    "description": "UTC, with microseconds only where there are any.",
}
MOMENT_WITH_ZONE: Schema = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2}[T ]\d{2}(:\d{2}){1,2}([.,]\d+)?(Z|[+-]\d{2}(:?\d{2})?)$",
    "description": "ISO 8601 with a zone. Left out: the source has no times, and order is all there is.",
}


def schema_names() -> tuple[str, ...]:
    """What `schema` can be asked for."""
    return tuple(_SCHEMAS)


def schema_summary(name: str) -> str:
    """One line on what the schema describes."""
    return _SCHEMAS[name][0]


def schema(name: str) -> Schema:
    """The JSON Schema of that name; KeyError where there is none.

    >>> schema("fault")["$id"]
    'urn:ethogram:schema:fault:1.0'
    """
    summary, body = _SCHEMAS[name]
    heading = {
        "$schema": DRAFT,
        "$id": f"urn:ethogram:schema:{name}:{VERSION}",
        "title": name,
        "description": summary,
    }
    return heading | body()


def event_body() -> Schema:
    """One event line. A key that is not named here is kept as an attribute, unless it looks like a slip."""
    fields: dict[str, Schema] = {
        "id": _or_null("string", "integer", says="Stable. Left out: made from source, position, content."),
        "at": {"anyOf": [MOMENT_WITH_ZONE, {"type": "null"}]},
        "seq": _or_null("integer", says="Position in the source; breaks ties of `at`.") | {"minimum": 0},
        "source": _or_null("string", says="Where it comes from."),
        "subject": {"type": "string", "pattern": r"\S", "description": "Who did or met it."},
        "target": _or_null("string", says="To whom, if anyone."),
        "reply_to": _or_null("string", says="The id of the event this one answers."),
        "thread": _or_null("string", says="Conversation, run or task."),
        "session": _or_null("string", says="One sitting."),
        "kind": _or_null("string", says="message, action, result, usage, ..."),
        "text": _or_null("string", says="What was said."),
        "attributes": _or_null("object", says="Facts about the event: tool, path, ..."),
        "readings": _or_null("object", says="Values by signal or indicator. Absent is not 0.")
        | {"additionalProperties": _reading()},
    }
    return _object(fields, required=["subject"]) | {"additionalProperties": True}


def _reading() -> Schema:
    """A value, or a value with who measured it and how many events of context they saw."""
    value = _or_null("number", "string", "boolean", says="Null: not measured.")
    measured = _object(
        {
            "value": value,
            "scorer": _or_null("string", says="Who measured it."),
            "width": _or_null("integer", says="How many events of context the scorer saw.") | {"minimum": 0},
        },
        required=["value"],
    )
    return {"anyOf": [value, measured | {"additionalProperties": False}]}


def detection_body() -> Schema:
    """What `Detection.to_dict` gives."""
    always: dict[str, Schema] = {"step": TEXT, "event": TEXT, "at": MOMENT, "readings": _mapping(VALUE)}
    text: Schema = TEXT | {"description": "What the event says, masked; only where it was asked for."}
    evidence = _object({**always, "excerpt": text}, required=list(always))
    body = _object(
        {
            "record": {"const": "detection"},
            "id": NAME | {"description": "The same behaviour found again has the same id."},
            "pattern": NAME,
            "title": TEXT,
            "version": TEXT | {"description": "A hash of what the pattern means."},
            "status": {"enum": list(STATUSES)},
            "state": {"enum": list(STATES)},
            "source": TEXT,
            "subject": NAME,
            "target": TEXT_OR_NULL,
            "thread": TEXT_OR_NULL,
            "history": _mapping(VALUE) | {"description": "Whose history it is, field by field."},
            "severity": {"enum": list(SEVERITIES)},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "cause": TEXT | {"description": "Detections of one cause count once in risk."},
            "opened_at": MOMENT,
            "detected_at": MOMENT,
            "closed_at": {"anyOf": [MOMENT, {"type": "null"}]},
            "first_event": TEXT,
            "last_event": TEXT,
            "last_at": {"anyOf": [MOMENT, {"type": "null"}]},
            "count": POSITION,
            "evidence": {"type": "array", "items": evidence},
            "details": {"type": "object"},
            "confirms": {"type": "array", "items": NAME},
            "parts": {"type": "array", "items": NAME, "description": "Ids of combined detections."},
            "scorer": TEXT,
            "explanation": TEXT,
            "recommendation": TEXT,
        }
    )
    share = {"type": "number", "minimum": 0, "maximum": 1}
    body["properties"]["probability"] = share | {
        "description": "What the confidence stands for by verdicts; only where there are any."
    }
    body["properties"]["muted"] = NAME | {"description": "The entry that mutes it; only where asked for."}
    body["properties"]["muted_by_untrusted"] = {
        "const": True,
        "description": "That entry is from a file nobody has reviewed, so --fail-on counts the detection.",
    }
    return body


def insufficient_body() -> Schema:
    """A pattern that could not answer for one history."""
    amount: Schema = {"type": ["number", "string", "null"]}
    return _object(
        {
            "record": {"const": "insufficient"},
            "pattern": NAME,
            "source": TEXT,
            "subject": NAME,
            "history": _mapping(VALUE),
            "have": amount | {"description": "What there was."},
            "need": amount | {"description": "What the pattern needs before it can answer."},
            "reason": TEXT,
        }
    )


def fault_body() -> Schema:
    """One thing wrong in one place; lines and columns count from 1."""
    return _object(
        {"record": {"const": "fault"}, "path": TEXT, "line": PLACE, "column": PLACE, "message": NAME}
    )


def _object(properties: dict[str, Schema], required: list[str] | None = None) -> Schema:
    """An object that may hold more than is named, since readers ignore what they do not know."""
    needed = list(properties) if required is None else required
    return {"type": "object", "required": needed, "properties": properties}


def _or_null(*types: str, says: str) -> Schema:
    return {"type": [*types, "null"], "description": says}


def _mapping(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


_SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "event": ("One event as a line of JSON: what goes in.", event_body),
    "detection": ("A pattern seen in a history, with its evidence: what comes out.", detection_body),
    "pattern": ("A pattern file, read as YAML 1.2.", pattern_body),
    "config": ("ethogram.yaml: every setting, what it may be, and its default.", config_body),
    "run": ("A run of an agent in which something was found, step by step.", run_body),
    "insufficient": ("A pattern that had too little to answer for a history.", insufficient_body),
    "fault": ("One thing that is wrong in a file or a command.", fault_body),
    "summary": ("What was read, checked and left out: the last line of an analysis.", summary_body),
    "mute": ("An entry that says what need not be told.", mute_body),
    "scan": ("What the scanner finds in one message.", scan_body),
    "evaluation": ("What an evaluator says of one message.", evaluation_body),
    "not_measured": ("A message that an evaluator gave no answer for.", not_measured_body),
    "evaluate_summary": ("What was scored, left out and spent: the last line.", evaluate_summary_body),
    "hook_status": ("Where the hook is installed, what it watches, how it fares.", hook_status_body),
    "hook_said": ("One thing a hook said to an agent, and what came of it.", hook_said_body),
    "hook_replayed": ("One thing a hook would have said in a run that is over.", hook_replayed_body),
    "hook_replay": ("What a hook would have done in runs that are over.", hook_replay_body),
    "hook_report": ("What came of all that hooks said, by pattern and rung.", hook_report_body),
    **USAGE_SCHEMAS,
    **CONVERSATION_SCHEMAS,
    **LABELLED_SCHEMAS,
    **RISK_SCHEMAS,
    **VERDICT_SCHEMAS,
    **STORE_SCHEMAS,
}
