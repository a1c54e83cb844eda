"""Accumulation: what adds up above a conversation's own baseline, with a memory that fades."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .records import Signal

SLACK = 0.08
BASELINE_AT_MOST = 0.20
"""A conversation cannot make itself at home in risk: its own baseline counts up to here."""
HALF_LIFE_S = 12 * 3600.0
HALF_LIFE_TURNS = 40.0
SEVERE = 0.5
FLOOR_SHARE = 0.45
"""After a severe turn this share of it stays, and halves with the half-life."""
SCALE = 1.6
WEIGHT = 0.6


@dataclass(frozen=True, slots=True)
class Load:
    """`heap` is the sum above baseline and slack.

    `peak` and `floor` fade; `usual` is the conversation's own baseline.
    """

    heap: float = 0.0
    peak: float = 0.0
    floor: float = 0.0
    usual: float = 0.0
    lasting: float = 0.0


def fading(seconds: float | None, half_life_s: float = HALF_LIFE_S) -> float:
    """What is left after one turn: by the time passed where it is known, and at most by turns.

    A day's pause forgets more than a turn; a burst of quick turns forgets by turns.
    """
    by_turn = math.exp2(-1 / HALF_LIFE_TURNS)
    return by_turn if seconds is None else min(by_turn, math.exp2(-max(0.0, seconds) / half_life_s))


def add(load: Load, level: float, seconds: float | None, half_life_s: float = HALF_LIFE_S) -> Load:
    """The load after a turn of this level, so many seconds after the one before (None: not known)."""
    keep = fading(seconds, half_life_s)
    baseline = min(BASELINE_AT_MOST, load.usual)
    heap = max(0.0, load.heap * keep + level - baseline - SLACK)
    floor = max(load.floor * keep, FLOOR_SHARE * level if level >= SEVERE else 0.0)
    # The baseline learns slowly and from low turns: a risky one must not lift the bar for the next.
    usual = load.usual + 0.05 * (min(level, baseline + SLACK) - load.usual)
    lasting = 0.8 * load.lasting + 0.2 * float(level > baseline + SLACK)
    return Load(min(heap, 5.0), max(level, load.peak * keep), floor, usual, lasting)


def accumulated(load: Load) -> float:
    """The accumulated risk, 0..1: what adds up, the peak by how lasting it is, and not under the floor.

    >>> load = Load()
    >>> for _ in range(200):
    ...     load = add(load, 0.05, None)
    >>> accumulated(load)
    0.0
    """
    heaped = load.heap / (load.heap + SCALE)
    lasting = load.peak * load.lasting * 0.6
    return min(1.0, max(load.floor, 1 - (1 - heaped) * (1 - lasting) if load.heap > 0 else 0.0))


def accumulation(load: Load, before: Load) -> Signal:
    """The signal of the load.

    What it adds is that of the turns before: this one is counted by its own signals.
    """
    value = accumulated(load)
    if value < 0.02:
        return Signal("accumulation", value, "nothing adds up")
    said = f"adds up to {load.heap:.2f} above the conversation's own baseline; highest {load.peak:.2f}"
    if load.floor >= value:
        said = f"a severe turn ({load.peak:.2f}) is not yet forgotten"
    return Signal("accumulation", value, said, WEIGHT * min(value, accumulated(before)))
