"""Records: event, reading, detection, verdict, risk.

What is not needed to read an event is imported at first use: a hook starts a process for every event.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .event import (
    INPUT_SCORER,
    TRAITS,
    Event,
    Reading,
    Value,
    content_hash,
    default_id,
    is_evaluated,
    is_indicator_name,
    stable_hash,
)
from .severity import SEVERITIES, highest, rank
from .timestamps import EPOCH, format_duration, format_time, micros, moment, parse_duration, parse_time

if TYPE_CHECKING:
    from .detection import STATES, Detection, Evidence, detection_id
    from .risk import Risk
    from .verdict import VERDICTS, Verdict


__all__ = [
    "EPOCH",
    "INPUT_SCORER",
    "SEVERITIES",
    "STATES",
    "TRAITS",
    "VERDICTS",
    "Detection",
    "Event",
    "Evidence",
    "Reading",
    "Risk",
    "Value",
    "Verdict",
    "content_hash",
    "default_id",
    "detection_id",
    "format_duration",
    "format_time",
    "highest",
    "is_evaluated",
    "is_indicator_name",
    "micros",
    "moment",
    "parse_duration",
    "parse_time",
    "rank",
    "stable_hash",
]

_HOMES = {
    **dict.fromkeys(("STATES", "Detection", "Evidence", "detection_id"), "detection"),
    **dict.fromkeys(("VERDICTS", "Verdict"), "verdict"),
    "Risk": "risk",
}


def __getattr__(name: str) -> Any:
    """Import a name at first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
