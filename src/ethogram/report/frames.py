"""Detections as a table for DataFrame libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import MissingExtra
from ..models import Detection

TEXTS = (
    "id", "pattern", "title", "version", "status", "state", "source", "subject", "target", "thread",
    "severity", "cause", "first_event", "last_event", "explanation", "recommendation",
)  # fmt: skip
TIMES = ("opened_at", "detected_at", "closed_at", "last_at")


def to_arrow(detections: Sequence[Detection]) -> Any:
    """Return detections as an Arrow table: texts, times in UTC, numbers, and the ids of the evidence."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "detections as a DataFrame") from None
    time = pyarrow.timestamp("us", "UTC")
    types = {
        **dict.fromkeys(TEXTS, pyarrow.string()),
        **dict.fromkeys(TIMES, time),
        "confidence": pyarrow.float64(),
        "count": pyarrow.int64(),
        "evidence": pyarrow.list_(pyarrow.string()),
    }
    rows: dict[str, list[Any]] = {name: [getattr(item, name) for item in detections] for name in types}
    rows["evidence"] = [[evidence.event for evidence in item.evidence] for item in detections]
    return pyarrow.table({name: pyarrow.array(values, types[name]) for name, values in rows.items()})
