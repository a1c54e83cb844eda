"""The scanner: which phrases of the lexicon stand in a message, and what that says about where to look.

Free, deterministic and quick: every message is scanned before any is evaluated. Names are loaded when first
used: a command that scans nothing does not wait for it.
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
    """The public name, imported now."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'thread_scan')}"), name)
