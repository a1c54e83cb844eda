"""Detections as rows and back, whole: combinations must be able to go on from what was kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..models import Detection, Evidence, micros, parse_time
from ..models.detection import TIMES
from .rows import encode

MORE = ("fired_event", "fired_confidence")
"""What a combination reads of its parts and the JSON record does not tell."""


def record_of(one: Detection) -> str:
    """The whole detection as JSON."""
    return encode({**one.to_dict(), **{name: getattr(one, name) for name in MORE}})


def detection_of(record: str, **changed: Any) -> Detection:
    """The detection that gave a record, with some fields changed.

    What a newer version added to the record is left out.
    """
    data: dict[str, Any] = {**json.loads(record), **changed}
    known = {one.name for one in fields(Detection)}
    given = {name: value for name, value in data.items() if name in known}
    for name in TIMES:
        if isinstance(given.get(name), str):
            given[name] = parse_time(given[name])
    given["evidence"] = tuple(_evidence(one) for one in given["evidence"])
    given["confirms"] = tuple(given["confirms"])
    given["parts"] = tuple(given["parts"])
    return Detection(**given)


def _evidence(one: Mapping[str, Any]) -> Evidence:
    return Evidence(one["step"], one["event"], parse_time(one["at"]), one["readings"], one.get("excerpt"))


def detection_values(one: Detection, *, part: bool) -> dict[str, Any]:
    """The row of a detection, by column."""
    return {
        "id": one.id,
        "pattern": one.pattern,
        "version": one.version,
        "state": one.state,
        "status": one.status,
        "part": int(part),
        "source": one.source,
        "subject": one.subject,
        "target": one.target,
        "thread": one.thread,
        "severity": one.severity,
        "confidence": one.confidence,
        "opened_us": micros(one.opened_at),
        "detected_us": micros(one.detected_at),
        "closed_us": None if one.closed_at is None else micros(one.closed_at),
        "record": record_of(one),
    }
