"""The readings of one turn from what a conversation makes of it."""

from __future__ import annotations

from collections.abc import Mapping

from ...climb.records import Outcome
from ..define import Unmeasured
from ..talks import STAGES

Values = Mapping[str, float | str | Unmeasured]

NAMES = {
    "keywords": "risky_words",
    "request": "risky_request",
    "vehicle": "vehicle",
    "disguise": "disguised_text",
    "ladder": "danger_ladder",
    "query_pattern": "query_line",
    "after_refusal": "refusal_return",
    "topic_return": "topic_return",
    "resampling": "resampling",
    "split_request": "split_request",
    "meaning": "meaning_closeness",
    "standing": "meaning_standing",
    "drift": "meaning_drift",
    "topic_jump": "topic_jump",
    "trajectory": "risk_trajectory",
    "intent": "harmful_intent",
}
"""The reading that each signal's value is."""
CATEGORIES = {
    "vehicle": "vehicle_kind",
    "intent": "likely_intent",
    "typing_speed": "typing_speed",
    "response_time": "response_time",
    "question_style": "question_style",
    "topic_switching": "topic_switching",
}
"""The reading that each signal's category is."""
FORMS = {
    "again": "again",
    "in other words": "other words",
    "as fiction": "fiction",
    "as a persona": "persona",
    "asking to drop the rules": "no rules",
    "in another language": "language",
    "insisting": "insisting",
    "cleared up": "cleared up",
}


def values_of(outcome: Outcome, was_refused: bool) -> Values:
    """The readings of a user's turn, by name; what could not be measured in this language says so."""
    found: dict[str, float | str | Unmeasured] = {
        "risk": outcome.own,
        "severity": outcome.severity,
        "refused_before": float(was_refused),
        "conversation_risk": outcome.risk,
        "conversation_mode": outcome.mode.name,
        "conversation_load": outcome.accumulated_risk,
        "goal_directed": outcome.goal_directed,
    }
    if outcome.stage is not None and outcome.topic is not None:
        found |= {"query_stage": STAGES[outcome.stage], "topic": outcome.topic}
    for one in outcome.signals:
        if (name := NAMES.get(one.name)) is not None:
            if one.value is not None:
                found[name] = one.value
            elif "language" in one.reason:
                found[name] = Unmeasured(one.reason)
        if one.category is None:
            continue
        if one.name == "after_refusal":
            found["return_form"] = FORMS.get(one.category, "disguise")
        elif one.name in CATEGORIES:
            found[CATEGORIES[one.name]] = one.category
    return found
