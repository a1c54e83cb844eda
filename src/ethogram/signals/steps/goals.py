"""Goals: what a run is for, as the settings, its attributes or a person say."""

from __future__ import annotations

from ...records import Event
from ..options import Options

LONGEST = 8_000


def goal_of(event: Event, options: Options) -> str:
    """The goal that the settings or this event tell; '' where they tell none."""
    for told in (options.goal, event.attributes.get("goal"), event.attributes.get("task")):
        if isinstance(told, str) and told.strip():
            return told[:LONGEST]
    if event.kind == "message" and event.attributes.get("role") == "user" and event.text:
        return event.text[:LONGEST] if event.text.strip() else ""
    return ""
