"""The scanner: finds phrases of the lexicon in messages, to select those worth evaluating.

Names are imported when first used, so that commands that scan nothing do not load them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .records import TIERS, Flag, Scan
    from .scanner import scan, scan_many
    from .thread_scan import MessageScan, SubjectScan, ThreadScan, ThreadSignal, scan_thread


__all__ = [
    "TIERS",
    "Flag",
    "MessageScan",
    "Scan",
    "SubjectScan",
    "ThreadScan",
    "ThreadSignal",
    "scan",
    "scan_many",
    "scan_thread",
]

_HOMES = {"TIERS": "records", "Flag": "records", "Scan": "records", "scan": "scanner", "scan_many": "scanner"}


def __getattr__(name: str) -> Any:
    """Import a public name."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'thread_scan')}"), name)
