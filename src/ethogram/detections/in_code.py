"""Detections of patterns in code: what the code told takes the place of what an expression would say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..library.in_code import TOLD
from ..records import Detection, Evidence, moment


def spoken(made: Detection) -> Detection:
    """The detection with the details, evidence and explanation that its code told; itself for all others."""
    if TOLD not in made.details:
        return made
    said = _said(made.details[TOLD])
    known = {one.event for one in made.evidence}
    counted = [one for one in _evidence(said.get("evidence")) if one.event not in known]
    details, explanation = said.get("details"), said.get("explanation")
    return replace(
        made,
        details=details if isinstance(details, dict) else {},
        evidence=tuple(sorted((*counted, *made.evidence), key=lambda one: one.at)),
        explanation=explanation if isinstance(explanation, str) and explanation else made.explanation,
    )


def _said(text: object) -> Mapping[str, Any]:
    """What a text of JSON says; nothing where it is none: a supplied reading may be anything."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _evidence(given: object) -> Iterator[Evidence]:
    for one in given if isinstance(given, list) else ():
        match one:
            case [str(event), int(us), dict(readings)] if abs(us) < 2**56:
                yield Evidence("counted", event, moment(us), readings)
