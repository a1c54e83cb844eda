"""JSON Schemas of what is told of a store and of the settings: subjects, purges, single settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
COUNTS: Schema = {"type": "object", "additionalProperties": COUNT}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
TRUTH: Schema = {"type": "boolean"}
VALUE: Schema = {"type": ["number", "string"]}
AT: Schema = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?Z$"}
AT_OR_NULL: Schema = {"anyOf": [AT, {"type": "null"}]}


def subject_body() -> Schema:
    """What `ethogram subject` writes: `SubjectContext.to_dict` and the risk, which contexts do not have."""
    from .schemas import detection_body

    signal = _whole({"signal": NAME, "count": COUNT, "latest": VALUE})
    numbers = {"mean": NUMBER_OR_NULL, "rise": NUMBER_OR_NULL, "tau": NUMBER_OR_NULL}
    trend: Schema = {"enum": ["rising", "falling", "steady", ""]}
    signal["properties"] |= {"values": COUNTS, **numbers, "trend": trend}
    body = _whole(
        {
            "record": {"const": "subject"},
            "source": TEXT,
            "subject": NAME,
            "as_of": AT,
            "events": COUNT,
            "timed": TRUTH,
            "first_at": AT_OR_NULL,
            "last_at": AT_OR_NULL,
            "kinds": COUNTS,
            "targets": COUNTS,
            "threads": COUNT,
            "signals": _list(signal),
            "detections": _list(detection_body()),
            "stages": _list(_stage()),
        }
    )
    body["properties"]["risk"] = {"type": "number", "minimum": 0, "maximum": 1}
    return body


def _stage() -> Schema:
    """What `Stage.to_dict` gives."""
    names = dict.fromkeys(("pattern", "step", "next", "event"), TEXT)
    moments = {"since": AT, "at": AT}
    history: Schema = {"type": "object", "additionalProperties": VALUE}
    return _whole({"title": TEXT, "history": history, "reached": COUNT, "steps": COUNT, **names, **moments})


def subject_row_body() -> Schema:
    """What `ethogram subjects` writes for each."""
    return _whole(
        {
            "record": {"const": "subject_row"},
            "source": TEXT,
            "subject": NAME,
            "events": COUNT,
            "timed": TRUTH,
            "first_at": AT,
            "last_at": AT,
            "detections": COUNT,
        }
    )


def purge_body() -> Schema:
    """What `ethogram purge` writes of a store of events."""
    clean = TRUTH | {"description": "False: another program keeps copies in its files still."}
    counts = {"events": COUNT, "detections": COUNT, "states": COUNT}
    mentions: Schema = {
        "type": "object",
        "additionalProperties": COUNT,
        "description": "Rows of others that have the id of the subject, or had it before, by kind.",
    }
    placeholder: Schema = {"type": ["string", "null"], "description": "What --redact put in place of the id."}
    more = {"mentions": mentions, "placeholder": placeholder}
    return _whole({"record": {"const": "purge"}, **counts, "clean": clean, **more})


def setting_body() -> Schema:
    """What `ethogram config show` writes for each setting."""
    origin = TEXT | {"description": "What set it: a file with its line, the environment, or the default."}
    return _whole({"record": {"const": "setting"}, "key": NAME, "value": {}, "origin": origin})


def refused_body() -> Schema:
    """What `ethogram config show` writes for each value that is not applied."""
    origin = TEXT | {"description": "The file with line and column."}
    why = NAME | {"description": "Why it does not count: nobody reviewed the file, or it changed since."}
    return _whole({"record": {"const": "refused"}, "name": NAME, "value": {}, "origin": origin, "why": why})


def trust_body() -> Schema:
    """What `ethogram trust` writes for each file."""
    text_or_null = {"type": ["string", "null"]}
    status = {"enum": ["trusted", "changed", "revoked"]}
    names = {"path": NAME, "status": status, "at": text_or_null, "digest": text_or_null}
    return _whole({"record": {"const": "trust"}, **names})


def _whole(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


STORE_SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "subject": ("What a subject did, where its readings go, what was detected.", subject_body),
    "subject_row": ("A subject of a store, in a line.", subject_row_body),
    "purge": ("What was removed of a store for good.", purge_body),
    "setting": ("A setting, its value and what set it.", setting_body),
    "refused": ("A setting that was found and not applied, and why.", refused_body),
    "trust": ("A trusted file, and whether it is still as it was reviewed.", trust_body),
}
