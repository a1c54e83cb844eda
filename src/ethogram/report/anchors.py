"""Anchors: the names by which the chart refers to the list, the same for the same detection."""

from __future__ import annotations

import re

from ..models import Detection, Evidence, stable_hash

MANY = 300
"""Detections above which each is told more shortly, so that the page stays small."""
_PLAIN = re.compile(r"[0-9a-zA-Z]{1,40}")


def detection_anchor(one: Detection) -> str:
    """The name of a detection in the page."""
    return f"d-{one.id if _PLAIN.fullmatch(one.id) else stable_hash(one.id)[:20]}"


def evidence_anchor(one: Detection, index: int) -> str:
    """The name of one row of its evidence."""
    return f"{detection_anchor(one)}-{index}"


def rows_for(detections: int) -> int:
    """Evidence rows of one detection, at most, in a page of so many. All of it is in the JSON."""
    return 24 if detections <= MANY else 10


def shown_evidence(one: Detection, rows: int) -> list[tuple[int, Evidence]]:
    """The evidence that is listed, with its position: of more than `rows`, the first and the last."""
    every = list(enumerate(one.evidence))
    return every if len(every) <= rows else every[: rows // 2] + every[-rows // 2 :]
