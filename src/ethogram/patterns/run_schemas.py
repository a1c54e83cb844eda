"""JSON Schema of what is said of one run of an agent."""

from __future__ import annotations

from typing import Any

from ..models import SEVERITIES

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
COUNT_OR_NULL: Schema = {"type": ["integer", "null"], "minimum": 0}
STEP: Schema = {"type": "integer", "minimum": 1}
STEP_OR_NULL: Schema = {"type": ["integer", "null"], "minimum": 1}
AMOUNT: Schema = {"type": ["number", "null"], "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
NAME: Schema = {"type": "string", "minLength": 1}
SEVERITY: Schema = {"enum": list(SEVERITIES)}
ENDS = ("progress", "stopped", "run_ended")


def run_body() -> Schema:
    """What `Run.to_dict` gives."""
    return _whole(
        {
            "record": {"const": "run"},
            "source": TEXT,
            "thread": TEXT,
            "task": TEXT_OR_NULL | {"description": "What it is about, masked and cut; null: not told."},
            "agents": _listed({"name": NAME, "parent": TEXT_OR_NULL, "steps": COUNT}),
            "severity": {"enum": [*SEVERITIES, None]},
            "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "steps": COUNT,
            "lost_steps": COUNT | {"description": "Inside an episode in which something repeated."},
            "lost_share": SHARE,
            "results": COUNT,
            "errors": COUNT,
            "changed_files": COUNT,
            "condensations": COUNT,
            "tokens": COUNT_OR_NULL,
            "cost": AMOUNT | {"description": "Dollars; null where nothing tells them."},
            "seconds": AMOUNT,
            "first_at": TEXT_OR_NULL,
            "last_at": TEXT_OR_NULL,
            "episodes": {"type": "array", "items": _episode()},
            "lanes": {"type": "array", "items": _lane()},
        }
    )


def _episode() -> Schema:
    return _whole(
        {
            "detection": NAME,
            "pattern": NAME,
            "title": TEXT,
            "subject": NAME,
            "severity": SEVERITY,
            "confidence": SHARE,
            "from_step": STEP,
            "to_step": STEP,
            "detected_step": STEP | {"description": "The first at which it could have been known."},
            "steps": STEP,
            "tokens": COUNT_OR_NULL,
            "seconds": AMOUNT,
            "cost": AMOUNT,
            "repeated": _listed({"what": TEXT, "times": STEP, "error": TEXT_OR_NULL}),
            "tried": {"type": "array", "items": TEXT},
            "ended": {"enum": list(ENDS)},
            "ended_step": STEP_OR_NULL,
            "recommendation": TEXT,
        }
    )


def _lane() -> Schema:
    rows = _listed({"name": TEXT, "marks": TEXT})
    return _whole({"subject": NAME, "under": TEXT, "steps_per_mark": STEP, "rows": rows})


def _whole(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _listed(properties: dict[str, Schema]) -> Schema:
    return {"type": "array", "items": _whole(properties)}
