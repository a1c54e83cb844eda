"""Finds behaviour over time that no single message or action shows.

Events carry readings; a pattern is a form those readings take over time; a detection is a pattern seen
in one subject's history, with the events that prove it.

>>> import ethogram
>>> warm, cold = {"compassion": 0.9, "manipulation": 0.1}, {"compassion": 0.1, "manipulation": 0.8}
>>> events = [
...     {"at": f"2026-01-0{day}T12:00:00Z", "subject": "ann", "target": "bo", "readings": readings}
...     for day, readings in enumerate([warm, warm, warm, warm, cold], start=1)
... ]
>>> [(found.pattern, found.subject) for found in ethogram.analyze(events, patterns=["love_bombing"])]
[('love_bombing', 'ann')]

Names are loaded when first used, so `import ethogram` costs next to nothing.
"""

from __future__ import annotations

import importlib

# The name itself is what type checkers go by; `typing` would take longer to load than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import errors
    from .climb.coherence import context_coherence
    from .climb.query import detect_information_gathering
    from .climb.records import Mode
    from .climb.trajectory import detect_escalation_shape
    from .errors import EthogramError
    from .hook.guard import Advice, RunGuard
    from .ingest import read_events
    from .library.load import load_patterns
    from .modes.analyze import Analysis, analyze
    from .modes.conversation import Conversation
    from .modes.conversation_state import ConversationState
    from .modes.live import Watch
    from .records import Detection, Event, Evidence, Reading, Risk, Verdict
    from .scanner import Scan, ThreadScan, scan, scan_thread
    from .signals import signal
    from .usage.default import get_risk_signals, record_event
    from .usage.fusion import fuse
    from .usage.tracker import UsageTracker

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "Analysis",
    "Conversation",
    "ConversationState",
    "Detection",
    "EthogramError",
    "Event",
    "Evidence",
    "Mode",
    "Reading",
    "Risk",
    "RunGuard",
    "Scan",
    "ThreadScan",
    "UsageTracker",
    "Verdict",
    "Watch",
    "__version__",
    "analyze",
    "context_coherence",
    "detect_escalation_shape",
    "detect_information_gathering",
    "errors",
    "fuse",
    "get_risk_signals",
    "load_patterns",
    "read_events",
    "record_event",
    "scan",
    "scan_thread",
    "signal",
]

_HOMES = {
    "Advice": "hook.guard",
    "Analysis": "modes.analyze",
    "Conversation": "modes.conversation",
    "ConversationState": "modes.conversation_state",
    "Detection": "records",
    "EthogramError": "errors",
    "Event": "records",
    "Evidence": "records",
    "Mode": "climb.records",
    "Reading": "records",
    "Risk": "records",
    "RunGuard": "hook.guard",
    "Scan": "scanner",
    "ThreadScan": "scanner",
    "UsageTracker": "usage.tracker",
    "Verdict": "records",
    "Watch": "modes.live",
    "analyze": "modes.analyze",
    "context_coherence": "climb.coherence",
    "detect_escalation_shape": "climb.trajectory",
    "detect_information_gathering": "climb.query",
    "fuse": "usage.fusion",
    "get_risk_signals": "usage.default",
    "load_patterns": "library.load",
    "read_events": "ingest",
    "record_event": "usage.default",
    "scan": "scanner",
    "scan_thread": "scanner",
    "signal": "signals",
}


def __getattr__(name: str) -> Any:
    """The public name, imported now and remembered."""
    if name == "errors":
        return importlib.import_module(f"{__name__}.errors")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
