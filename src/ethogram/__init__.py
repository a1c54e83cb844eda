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

    from . import errors, verdicts
    from .climb.coherence import context_coherence
    from .climb.query import detect_information_gathering
    from .climb.records import Mode
    from .climb.trajectory import detect_escalation_shape
    from .errors import EthogramError
    from .hook.guard import Advice, RunGuard
    from .in_code.register import pattern, register
    from .ingest import read_events
    from .library.in_code import Match
    from .library.load import load_patterns
    from .modes.analyze import Analysis, analyze
    from .modes.assess import assess, assess_each
    from .modes.conversation import Conversation
    from .modes.conversation_state import ConversationState
    from .modes.live import Watch
    from .modes.risk import SubjectRisk, subject_risk, subject_risks
    from .records import Detection, Event, Evidence, Reading, Risk, Verdict
    from .risk.assess import Assessment, Recommendation
    from .scanner import Scan, ThreadScan, scan, scan_thread
    from .signals import signal
    from .usage.default import get_risk_signals, record_event
    from .usage.fusion import fuse
    from .usage.tracker import UsageTracker

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "Analysis",
    "Assessment",
    "Conversation",
    "ConversationState",
    "Detection",
    "EthogramError",
    "Event",
    "Evidence",
    "Match",
    "Mode",
    "Reading",
    "Recommendation",
    "Risk",
    "RunGuard",
    "Scan",
    "SubjectRisk",
    "ThreadScan",
    "UsageTracker",
    "Verdict",
    "Watch",
    "__version__",
    "analyze",
    "assess",
    "assess_each",
    "context_coherence",
    "detect_escalation_shape",
    "detect_information_gathering",
    "errors",
    "fuse",
    "get_risk_signals",
    "load_patterns",
    "pattern",
    "read_events",
    "record_event",
    "register",
    "scan",
    "scan_thread",
    "signal",
    "subject_risk",
    "subject_risks",
    "verdicts",
]

_HOMES = {
    "Advice": "hook.guard",
    "Analysis": "modes.analyze",
    "Assessment": "risk.assess",
    "Conversation": "modes.conversation",
    "ConversationState": "modes.conversation_state",
    "Detection": "records",
    "EthogramError": "errors",
    "Event": "records",
    "Evidence": "records",
    "Match": "library.in_code",
    "Mode": "climb.records",
    "Reading": "records",
    "Recommendation": "risk.assess",
    "Risk": "records",
    "RunGuard": "hook.guard",
    "Scan": "scanner",
    "SubjectRisk": "modes.risk",
    "ThreadScan": "scanner",
    "UsageTracker": "usage.tracker",
    "Verdict": "records",
    "Watch": "modes.live",
    "analyze": "modes.analyze",
    "assess": "modes.assess",
    "assess_each": "modes.assess",
    "context_coherence": "climb.coherence",
    "detect_escalation_shape": "climb.trajectory",
    "detect_information_gathering": "climb.query",
    "fuse": "usage.fusion",
    "get_risk_signals": "usage.default",
    "load_patterns": "library.load",
    "pattern": "in_code.register",
    "read_events": "ingest",
    "record_event": "usage.default",
    "register": "in_code.register",
    "scan": "scanner",
    "scan_thread": "scanner",
    "signal": "signals",
    "subject_risk": "modes.risk",
    "subject_risks": "modes.risk",
}

_MODULES = ("errors", "verdicts")


def __getattr__(name: str) -> Any:
    """The public name, imported now and remembered."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
