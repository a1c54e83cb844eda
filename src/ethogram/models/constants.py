"""Names and defaults shared by the settings and the code they configure.

A hook's process uses them without loading the settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

STATUSES = ("experimental", "shadow", "stable", "retired")
"""Statuses of a pattern."""
EVIDENCE = ("unproven",)
"""What real data say about a pattern, where its file says so."""
ACTIVE_STATUSES = ("stable", "shadow")
"""Statuses of patterns that run by default."""
RUNGS = ("nudge", "remind", "ask", "stop")
"""What a hook may do about a run, from the mildest; agents/interventions.py describes each."""
RESOURCES = ("memory_mb", "file_operations", "calls", "tokens", "seconds")
"""What a run may use up, each a signal of that name."""
USAGE_KINDS = ("usage", "message", "event")
"""Kinds of events that may count as a person's use of a service."""
SEVERITY_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"low": 0.1, "medium": 0.3, "high": 0.6, "critical": 0.9}
)
"""Risk that a new and certain detection of each severity makes."""
FUSION_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"text": 0.40, "voice": 0.25, "behaviour": 0.20, "image": 0.15}
)
"""Weights of the scores that `usage.fuse` combines."""
NORMALIZATION = ("low", "medium", "high")
"""How much volatile text is removed from errors and steps."""
NOT_PLACES = frozenset({"localtime", "Factory"})
"""Names in the zone database that are not time zones of places."""
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
"""The name of an environment variable, in capitals."""
MAX_RESULT = 20_000
"""Maximum characters of a tool's result, a thought and each text in the arguments."""
MAX_ERROR = 2_000
"""Maximum characters of a tool's error."""
GRAPH_LABELS = ("Subject", "Message", "Pattern", "Indicator", "Trait", "Dimension")
GRAPH_TYPES = ("SENT", "PRECEDES", "EXHIBITS_PATTERN", "SHOWS", "OF", "CONFIRMS")
"""Labels and relationship types of a graph that may have other names; the rest is the store's own."""
