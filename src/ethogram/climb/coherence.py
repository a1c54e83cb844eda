"""Context coherence: how far a turn has moved towards harm from where the session began.

A jump away from the talk is no sign by itself (people change the subject), and an attack by small steps is
coherent. So what is measured is the drift, by a jump or step by step.
"""

from __future__ import annotations

from collections.abc import Sequence

from .state import State
from .turn import turn

STARTED = 3
"""Turns that say where a session began."""
NEWEST = 30


def context_coherence(current: str, history: Sequence[str]) -> float:
    """0 where a turn is no nearer to harm than the session's start, up to 1.

    >>> context_coherence("Should I bring an umbrella?", ["What's the weather?"])
    0.0
    """
    levels: list[float] = []
    state = State()
    for text in (*history[:STARTED], *history[STARTED:][-NEWEST:], current):
        state, _ = turn(state, text, "user", None)
        levels.append(state.levels[-1])
    *before, now = levels
    began = min(before[:STARTED], default=0.0)
    return max(0.0, now - began) / (1 - began) if began < 1 else 0.0
