"""How near to harm a conversation is by its meaning: how high at its worst, and how long that lasted.

The strength of a stretch of turns is their mean level, with a little rest mixed in. That of the conversation
now is the strongest stretch that ends at this turn, two to ten turns long. So

- one odd turn, which every long talk has, counts half (its neighbour is calm);
- a risk that lasts counts whole, and calm turns between count against it, since levels go below 0;
- a climb is seen as soon as its last turns are high; calm before it is left out, however long it was.

The level of a turn is what an embedder says and what words, ladder and refusals say, added up before the
stretch is taken: what both see in the same turns counts, and a calm neighbour still speaks against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

AT_REST = -0.7
"""The level of a text that says nothing: a calm turn."""
ZERO, ONE = 0.1, 1.9
"""Levels that are risk 0 and risk 1; at level 1 the risk is one half."""
SHORTEST, LONGEST = 2, 10
"""Turns of a stretch. A conversation of one turn is a stretch by itself."""
REST = 0.3
"""Turns at rest that are mixed in: a short stretch is believed a little less than a long one."""
MIDDLE, WIDTH = 0.7, 0.2
"""Strength at which the score is one half, and how quickly it changes there."""
CLIMB = 1.5
"""What a turn's own risk adds to its level. From 0.5 to 2 it makes little difference."""
HIGHEST, FURTHEST, BEYOND = 1.1, 2.5, 0.3
"""The level to which meaning alone counts whole: for SUSPECT it takes a second turn, or something else seen.
What is beyond counts by a share, up to the furthest."""
BEGINNING = 3
"""User turns that a conversation's beginning is taken from."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The newest levels, newest last; how many turns were measured, and the mean level of the first."""

    levels: tuple[float, ...] = ()
    turns: int = 0
    beginning: float = 0.0


def fused(level: float, climbed: float = 0.0) -> float:
    """The level of a turn by meaning and by its own risk (0..1) together."""
    meant = min(level, HIGHEST) + BEYOND * (min(level, FURTHEST) - HIGHEST if level > HIGHEST else 0.0)
    return meant + CLIMB * climbed


def add(stretch: Stretch, level: float) -> Stretch:
    """The stretch after one more turn of this level."""
    turns = stretch.turns + 1
    moved = stretch.beginning + (level - stretch.beginning) / turns
    beginning = moved if turns <= BEGINNING else stretch.beginning
    return Stretch((*stretch.levels, level)[-LONGEST:], turns, beginning)


def strength(levels: tuple[float, ...]) -> float:
    """The strength of the strongest stretch that ends at the newest turn.

    >>> strength((-0.7,) * 8 + (1.0, 1.0)) == strength((-0.7,) + (1.0, 1.0))
    True
    """
    total, best = REST * AT_REST, AT_REST
    shortest = min(SHORTEST, len(levels))
    for count, level in enumerate(reversed(levels), start=1):
        total += level
        if count >= shortest:
            best = max(best, total / (REST + count))
    return best


def score(strong: float) -> float:
    """A strength as a score, 0..1.

    >>> [round(score(strong), 2) for strong in (AT_REST, 0.2, MIDDLE, 1.0)]
    [0.0, 0.08, 0.5, 0.82]
    """
    return 1 / (1 + exp(-(strong - MIDDLE) / WIDTH))


def risk_of(level: float) -> float:
    """A level of one turn as a risk, 0..1.

    >>> [round(risk_of(level), 2) for level in (-0.7, 0.1, 1.0, 2.5)]
    [0.0, 0.0, 0.5, 1.0]
    """
    return min(1.0, max(0.0, (level - ZERO) / (ONE - ZERO)))


def drift_of(stretch: Stretch) -> float | None:
    """How far the strongest stretch stands above the beginning, where it is above ordinary talk; 0..1.

    None in the beginning itself. A conversation that is hostile from the start has none: its level says so.
    """
    if stretch.turns <= BEGINNING:
        return None
    now = strength(stretch.levels)
    return min(1.0, max(0.0, (now - max(stretch.beginning, AT_REST)) / 2)) if now > 0 else 0.0
