"""JSON Schemas of figures about people: what `ethogram validate usage` and `usage cohort` tell."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number", "minimum": 0}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"], "minimum": 0}
SHARE: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
NAME: Schema = {"type": "string", "minLength": 1}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
LEVEL: Schema = {"enum": ["low", "medium"]}
HALF: Schema = {"enum": ["tune", "report", "all"]}
ENDS: Schema = {"type": ["array", "null"], "items": NUMBER, "minItems": 2, "maxItems": 2}


def usage_set_body() -> Schema:
    """The people of a set that are looked at."""
    return _whole(
        {
            "record": {"const": "usage_set"},
            "set": NAME,
            "half": HALF,
            "seed": COUNT,
            "zone": TEXT_OR_NULL,
            "cohort": COUNT,
            "people": COUNT,
            "events": COUNT,
            "person_weeks": NUMBER,
            "observed_days": COUNT | {"description": "Days on which a person was there, added up."},
        }
    )


def usage_rate_body() -> Schema:
    """How often something opened for a group of people."""
    names = dict.fromkeys(("set", "background", "method", "group", "pattern"), NAME)
    return _whole(
        {
            "record": {"const": "usage_rate"},
            **names,
            "level": LEVEL,
            "people": COUNT,
            "person_weeks": NUMBER,
            "active_weeks": COUNT | {"description": "Calendar weeks in which a person was there, added up."},
            "openings": COUNT,
            "rate": NUMBER | {"description": "Openings a person-week."},
            "interval": ENDS,
            "active_rate": NUMBER | {"description": "Openings an active week."},
            "active_interval": ENDS,
            "with_any": SHARE,
        }
    )


def usage_recall_body() -> Schema:
    """How many planted changes were found."""
    band = _whole({"from": NUMBER, "below": NUMBER_OR_NULL, "cases": COUNT, "found": COUNT})
    return _whole(
        {
            "record": {"const": "usage_recall"},
            **dict.fromkeys(("set", "change", "background", "measure"), NAME),
            "rise": NUMBER_OR_NULL
            | {"description": "The least by which the share of the night rises; null: however little."},
            "level": LEVEL,
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
            "recall": SHARE,
            "interval": ENDS,
            "delay_days": NUMBER_OR_NULL,
            "control_found": COUNT,
            "control": SHARE | {"description": "Found in the same periods without the change."},
            "control_interval": ENDS,
            "by_expected": {"type": "array", "items": band},
        }
    )


def usage_silence_body() -> Schema:
    """How many people count as gone quiet after their last event."""
    counts = dict.fromkeys(("days", "people", "quiet"), COUNT)
    return _whole({"record": {"const": "usage_silence"}, "set": NAME, "level": LEVEL, **counts})


def usage_fall_body() -> Schema:
    """How often people fell to a fifth by themselves."""
    counts = dict.fromkeys(("days", "periods", "fallen", "falls"), COUNT)
    shares = {"share": SHARE, "rate": NUMBER | {"description": "Falls a person-week."}}
    return _whole({"record": {"const": "usage_fall"}, "set": NAME, **counts, **shares})


def usage_summary_body() -> Schema:
    """The last line: how the figures were got, and those that bars are set for."""
    by_level = {"type": "object", "additionalProperties": {"type": ["number", "object"]}}
    one = _whole({"rate": by_level, "recall": by_level})
    return _whole(
        {
            "record": {"const": "usage_summary"},
            "seed": COUNT,
            "draws": COUNT,
            "half": HALF,
            "data": NAME | {"description": "Digest of the files, so that figures can be tied to them."},
            "sets": {"type": "object", "additionalProperties": one},
        }
    )


def usage_cohort_body() -> Schema:
    """A version of the cohort's table."""
    figures = (
        "events_a_day active_a_day days events_spread active_spread spread_days week_spread night_share "
        "night_weight log_pause log_pause_spread pauses session_minutes message_length"
    )
    return _whole(
        {
            "record": {"const": "usage_cohort"},
            "version": COUNT,
            "source": NAME,
            **dict.fromkeys(figures.split(), NUMBER),
            "date": TEXT,
            "people": COUNT,
            "file": TEXT_OR_NULL,
        }
    )


def _whole(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}
