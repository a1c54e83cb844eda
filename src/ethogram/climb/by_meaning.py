"""Signals of what an embedder measured: this turn, the stretch of turns up to it, drift, and a jump."""

from __future__ import annotations

from dataclasses import replace
from math import exp

from .records import Readings, Signal, quiet, unmeasured
from .request import Request
from .stretch import AT_REST, Stretch, drift_of, risk_of, score, strength
from .view import View

LEAST_FRAME = 0.5
"""An innocent setting leaves at least so much: it is easily claimed."""
ALONE = 0.29
"""The most that a first turn comes to by meaning alone, just below ELEVATED."""
FIRST_MIDDLE, FIRST_WIDTH = 0.6, 0.4
"""Level at which a first turn comes to half of that, and how quickly it changes there."""
SEEN, FACT = 0.3, 0.3
"""What the words of a first turn must ask for by themselves (an act, and something harmful it is done with or
to, and no question of fact) for meaning to say more: an embedder hears the alarm in a word, and one turn is
no stretch yet."""

TELLS = 0.6
"""Share of the distance from rest that is left of a turn that only tells of something."""
GRAVE = 0.4
"""Severity of a word from which a turn that tells is more than that."""
CALM, NEAR = -0.3, 0.1
"""Levels of a turn that is calm by its meaning, and of one that is near to harm."""
DOUBTED = 0.55
"""What words alone are worth where the meaning is calm: many an alarming word has an innocent sense."""
BY_WORDS = ("keywords", "request")
"""The signals that meaning can cast doubt on; no embedder sees the form of a conversation."""


def measured(given: Readings, view: View) -> float | None:
    """The level of this turn, where the embedder knows its language.

    Who asks for nothing and names no grave harm tells of something: an embedder hears people, children and
    loss in it, and little of that is near to harm.
    """
    if given.level is None or not (view.is_english or given.any_language):
        return None
    tells = not view.wants and all((hit.term.severity or 0.0) < GRAVE for hit in view.hits)
    return AT_REST + TELLS * (given.level - AT_REST) if tells else given.level


def doubted(signals: tuple[Signal, ...], level: float | None) -> tuple[Signal, ...]:
    """The signals of a turn, those by words alone adding less where its meaning is calm."""
    if level is None or level >= NEAR:
        return signals
    left = DOUBTED + (1 - DOUBTED) * max(0.0, (level - CALM) / (NEAR - CALM))
    return tuple(replace(one, adds=left * one.adds) if one.name in BY_WORDS else one for one in signals)


def by_meaning(given: Readings, view: View, stretch: Stretch, asked: Request) -> tuple[Signal, ...]:
    """`meaning`, `standing`, `drift` and `topic_jump`; only `standing` adds to the risk.

    `stretch` holds this turn already. How far a single turn is from what was said before is no sign of
    anything: people change the subject.
    """
    level = measured(given, view)
    if level is None:
        strange = f"the embedder does not know this language ({view.language})"
        why = "no embedder" if given.level is None else strange
        return tuple(unmeasured(name, why) for name in ("meaning", "standing", "drift", "topic_jump"))
    close = Signal("meaning", risk_of(level), f"closeness to harm {risk_of(level):.2f}")
    return (close, _standing(stretch, asked, level), _drift(stretch), _jump(given.jump))


def _standing(stretch: Stretch, asked: Request, level: float) -> Signal:
    value = score(strength(stretch.levels))
    if stretch.turns > 1:
        return Signal("standing", value, f"the last turns together are near to harm ({value:.2f})", value)
    frame = max(asked.frame, LEAST_FRAME)
    alone = ALONE * frame / (1 + exp(-(level - FIRST_MIDDLE) / FIRST_WIDTH))
    seen = asked.direct >= SEEN and asked.asks > FACT
    adds = max(alone, value * frame) if seen else alone
    return Signal("standing", value, f"a first turn that is near to harm ({value:.2f})", adds)


def _drift(stretch: Stretch) -> Signal:
    value = drift_of(stretch)
    if value is None:
        return unmeasured("drift", "the conversation has only begun")
    return Signal("drift", value, f"{value:.2f} nearer to harm than at its beginning")


def _jump(value: float | None) -> Signal:
    if value is None:
        return quiet("topic_jump", "nothing to compare with")
    return Signal("topic_jump", value, f"{1 - value:.0%} of what was talked about")
