"""JSON Schemas of what the commands of the hook say."""

from __future__ import annotations

from typing import Any

from ..models import SEVERITIES

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
STEP: Schema = {"type": "integer", "minimum": 1}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
NAME: Schema = {"type": "string", "minLength": 1}
YES_OR_NO: Schema = {"type": "boolean"}
AMOUNT: Schema = {"type": ["number", "null"], "minimum": 0}
SHARE: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
RUNG: Schema = {"enum": ["nudge", "remind", "ask", "stop"]}
EFFECTS = ("stopped", "went_on", "allowed", "declined", "ended", "open")


def hook_said_body() -> Schema:
    """What `effects.said_record` gives."""
    return _whole(
        {
            "record": {"const": "hook_said"},
            "at": TEXT,
            "session": TEXT,
            "agent": TEXT,
            "step": STEP,
            "pattern": NAME,
            "severity": {"enum": list(SEVERITIES)},
            "rung": RUNG,
            "text": TEXT | {"description": "What was said; secrets are masked."},
            "effect": {"enum": list(EFFECTS)},
            "effect_after_steps": {"type": ["integer", "null"], "minimum": 0},
        }
    )


def hook_replayed_body() -> Schema:
    """What `replay` gives for each intervention."""
    return _whole(
        {
            "record": {"const": "hook_replayed"},
            "run": TEXT,
            "agent": TEXT,
            "step": STEP,
            "pattern": NAME,
            "severity": {"enum": list(SEVERITIES)},
            "rung": RUNG,
            "effect": {"enum": list(EFFECTS)},
            "text": TEXT,
        }
    )


def hook_replay_body() -> Schema:
    """What `replay` gives at the end."""
    names = ("runs", "runs_spoken_to", "said", "detections", "detections_by_analyze", "detections_in_both")
    return _whole(
        {
            "record": {"const": "hook_replay"},
            **dict.fromkeys(names, COUNT),
            "steps_saved_median": AMOUNT,
            "steps_saved": {"type": "array", "items": COUNT},
        }
    )


def hook_report_body() -> Schema:
    """What `effects.report_record` gives."""
    counts = dict.fromkeys(("given", *EFFECTS), COUNT)
    shares = dict.fromkeys(("share_stopped", "low", "high"), SHARE)
    medians = dict.fromkeys(("median_steps_to_stop", "median_steps_to_return"), AMOUNT)
    effects = _listed({"pattern": NAME, "rung": RUNG, **counts, **shares, **medians})
    return _whole({"record": {"const": "hook_report"}, "runs": COUNT, "given": COUNT, "effects": effects})


def hook_status_body() -> Schema:
    """What `status.status` gives."""
    rungs = _listed({"rung": RUNG, "on": YES_OR_NO})
    names: Schema = {"type": "array", "items": TEXT}
    ladder = _whole(
        {
            "rungs": rungs,
            "off": names,
            "cool_down": COUNT,
            "most": COUNT,
            "lowest": {"enum": list(SEVERITIES)},
            "critical": {"enum": ["ask", "off"]},
        }
    )
    return _whole(
        {
            "record": {"const": "hook_status"},
            "folder": TEXT,
            "installed": {"type": "array", "items": _place()},
            "watched": {"type": ["array", "null"], "items": NAME, "description": "null: settings of no use."},
            "left_out": _listed({"pattern": NAME, "reason": TEXT}),
            "ladder": {"anyOf": [ladder, {"type": "null"}]},
            "settings": _whole(
                {
                    "path": TEXT_OR_NULL,
                    "faults": {"type": "array", "items": _fault()},
                    "warnings": {"type": "array", "items": TEXT},
                }
            ),
            "state": _state(),
            "plan": _whole({"path": TEXT, "state": {"enum": ["current", "old", "none"]}}),
            "faults": _whole({"path": TEXT, "count": COUNT, "newest": TEXT_OR_NULL}),
        }
    )


def _place() -> Schema:
    return _whole(
        {
            "scope": {"enum": ["project", "user"]},
            "path": TEXT,
            "installed": {"enum": ["yes", "partly", "no", "unknown"]},
            "command": TEXT_OR_NULL,
            "executable": {"type": ["boolean", "null"], "description": "Whether it can be started."},
            "missing": {"type": "array", "items": NAME},
            "disabled": YES_OR_NO | {"description": "The file turns all hooks off."},
            "fault": {"anyOf": [_fault(), {"type": "null"}]},
        }
    )


def _state() -> Schema:
    return _whole(
        {
            "path": TEXT,
            "bytes": COUNT,
            "runs": COUNT,
            "said": COUNT,
            "last_event": TEXT_OR_NULL,
            "set_aside": YES_OR_NO | {"description": "An older file could not be read."},
            "fault": TEXT_OR_NULL,
            "folder_fault": TEXT_OR_NULL | {"description": "Why nothing can be kept there."},
        }
    )


def _fault() -> Schema:
    place: Schema = {"type": ["integer", "null"], "minimum": 1}
    return _whole(
        {"record": {"const": "fault"}, "path": TEXT, "line": place, "column": place, "message": TEXT}
    )


def _whole(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": dict(properties)}


def _listed(properties: dict[str, Schema]) -> Schema:
    return {"type": "array", "items": _whole(properties)}
