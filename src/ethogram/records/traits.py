"""The twelve traits an evaluator scores, and how indicators are named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

TRAITS: tuple[str, ...] = (
    "virtue",
    "goodwill",
    "manipulation",
    "deception",
    "accuracy",
    "reasoning",
    "fabrication",
    "broken_logic",
    "recognition",
    "compassion",
    "dismissal",
    "exploitation",
)
_TRAITS = frozenset(TRAITS)
_INDICATOR = re.compile(r"[A-Z]{3}_[A-Z0-9_]+")


def is_indicator_name(name: str) -> bool:
    """Whether a reading's name has the form of an indicator's.

    >>> is_indicator_name("MAN_LOVEBOMB"), is_indicator_name("manipulation")
    (True, False)
    """
    return _INDICATOR.fullmatch(name) is not None


def is_evaluated(readings: Mapping[str, Any]) -> bool:
    """Whether an evaluator looked at this event: it carries a trait or an indicator.

    >>> is_evaluated({"compassion": 0.2}), is_evaluated({"error_key": "ENOENT"})
    (True, False)
    """
    return any(name in _TRAITS or is_indicator_name(name) for name in readings)
