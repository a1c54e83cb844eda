"""A kit for testing patterns, signals, evaluators and stores: histories in a line, and what is said of them.

>>> from ethogram.testing import action, assert_fires, assert_quiet, history
>>> detection = assert_fires("repetitive_errors", history("repetitive_errors"), severity="high")
>>> detection.details["repetition_count"]
4.0
>>> assert_quiet("repetitive_errors", [action("file_read", error="not_found")] * 2)
"""

from __future__ import annotations

from ..patterns.register import forget
from .check import assert_fires, assert_quiet, confidence, detections
from .events import action, numbered, says
from .samples import measure, score
from .scenarios import SCENARIOS, history
from .store_check import check_store

__all__ = [
    "SCENARIOS",
    "action",
    "assert_fires",
    "assert_quiet",
    "check_store",
    "confidence",
    "detections",
    "forget",
    "history",
    "measure",
    "numbered",
    "says",
    "score",
]
