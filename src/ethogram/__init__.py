"""Detects behaviour patterns over time in agent runs, chats and user activity.

Events carry readings; patterns are matched over the readings of a history; a detection is a match with the
events that prove it.

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
    from .agents.guard import Advice, RunGuard
    from .app.analyze import analyze
    from .app.chat.controller import RiskController, TurnResult
    from .app.chat.conversation import Conversation, ConversationState
    from .app.findings import detections
    from .app.judging.assess import assess, assess_each
    from .app.judging.risk import SubjectRisk, subject_risk, subject_risks
    from .app.live.watch import Watch
    from .app.result import Analysis
    from .chat.escalation import detect_escalation_shape, detect_information_gathering
    from .chat.memory import ConversationMemory
    from .chat.records import Mode
    from .chat.risk_model import context_coherence
    from .errors import EthogramError
    from .ingest import read_events
    from .lexicon import Scan, ThreadScan, scan, scan_thread
    from .models import Detection, Event, Evidence, Reading, Risk, Verdict
    from .patterns.code_patterns import Match
    from .patterns.library import load_patterns
    from .patterns.register import pattern, register
    from .risk.assessment import Assessment, Recommendation
    from .signals import signal
    from .usage.behavioral import (
        BehavioralSignals,
        BehavioralTracker,
        SessionEvent,
        get_risk_signals,
        record_event,
    )
    from .usage.fusion import fuse
    from .usage.tracker import UsageTracker

__version__ = "0.2.0"

__all__ = [
    "Advice",
    "Analysis",
    "Assessment",
    "BehavioralSignals",
    "BehavioralTracker",
    "Conversation",
    "ConversationMemory",
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
    "RiskController",
    "RunGuard",
    "Scan",
    "SessionEvent",
    "SubjectRisk",
    "ThreadScan",
    "TurnResult",
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
    "detections",
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
    name: home
    for home, names in {
        "agents.guard": "Advice RunGuard",
        "app.analyze": "Analysis analyze",
        "app.chat.controller": "RiskController TurnResult",
        "app.chat.conversation": "Conversation ConversationState",
        "app.findings": "detections",
        "app.judging.assess": "assess assess_each",
        "app.judging.risk": "SubjectRisk subject_risk subject_risks",
        "app.live.watch": "Watch",
        "chat.escalation": "detect_escalation_shape detect_information_gathering",
        "chat.memory": "ConversationMemory",
        "chat.records": "Mode",
        "chat.risk_model": "context_coherence",
        "errors": "EthogramError",
        "ingest": "read_events",
        "lexicon": "Scan ThreadScan scan scan_thread",
        "models": "Detection Event Evidence Reading Risk Verdict",
        "patterns.code_patterns": "Match",
        "patterns.library": "load_patterns",
        "patterns.register": "pattern register",
        "risk.assessment": "Assessment Recommendation",
        "signals": "signal",
        "usage.behavioral": "BehavioralSignals BehavioralTracker SessionEvent get_risk_signals record_event",
        "usage.fusion": "fuse",
        "usage.tracker": "UsageTracker",
    }.items()
    for name in names.split()
}

_MODULES = ("errors", "verdicts")

# Names of other designs, as docs/names.md lists them, and where they lead.
_OTHER_NAMES = {
    "KeywordScanResult": "lexicon:Scan",
    "ThreadScanResult": "lexicon:ThreadScan",
    "build_evaluation_prompt": "evaluators.prompt:build_evaluation_prompt",
    "detect_patterns": "app.analyze:analyze",
    "scan_keywords": "lexicon:scan",
}


def __getattr__(name: str) -> Any:
    """The public name, imported now and remembered."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _OTHER_NAMES:
        home, _, ours = _OTHER_NAMES[name].partition(":")
        return getattr(importlib.import_module(f"{__name__}.{home}"), ours)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
