"""Intent: a filter over six intents, moved by what is new in a turn and never certain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .records import Signal

INTENTS = ("safe", "educational", "professional", "curious", "suspicious", "malicious")
PRIORS = (0.60, 0.15, 0.10, 0.10, 0.04, 0.01)
FORGETS = 0.06
"""Share by which each turn moves back towards the priors: nobody is judged for ever by one turn."""
LEAST = 0.002
STALE = 0.75
"""How fast evidence of one kind counts as new again."""
WEIGHT = 0.45
RATIOS: dict[str, tuple[float, ...]] = {
    "calm": (1.10, 1.00, 1.00, 1.00, 0.85, 0.80),
    "learns": (1.00, 2.00, 1.00, 1.30, 0.80, 0.70),
    "at work": (0.90, 1.00, 2.50, 0.80, 1.00, 0.80),
    "explores": (0.80, 1.00, 0.90, 1.60, 1.00, 0.90),
    "touches danger": (0.50, 1.00, 1.00, 1.00, 1.80, 1.80),
    "asks for harm": (0.10, 0.30, 0.40, 0.40, 2.50, 4.00),
    "avoids notice": (0.30, 0.40, 0.50, 0.60, 2.00, 3.00),
    "comes back after refusal": (0.40, 0.50, 0.60, 0.70, 2.00, 3.00),
    "drops the rules": (0.40, 0.50, 0.60, 0.80, 2.00, 2.50),
    "hides words": (0.60, 0.60, 0.60, 0.80, 1.80, 2.00),
    "climbs": (0.50, 0.70, 0.80, 0.80, 2.00, 2.50),
}
"""How likely each kind of evidence is under each intent, up to a factor.

Judgements, to be calibrated on verdicts.
"""

GOAL_RATIOS = {"deeper": 2.0, "same thing": 1.3, "another thing": 0.65, "chat": 0.8, "returns": 2.5}
GOAL_PRIOR = 0.25


@dataclass(frozen=True, slots=True)
class Belief:
    """`shares` of INTENTS, `goal` the probability of one goal behind the turns.

    `met` how stale each evidence is.
    """

    shares: tuple[float, ...] = PRIORS
    goal: float = GOAL_PRIOR
    met: tuple[tuple[str, float], ...] = ()

    @property
    def harm(self) -> float:
        """Probability of harm meant, a suspicious turn of mind counting half."""
        return self.shares[5] + 0.5 * self.shares[4]


def update(belief: Belief, evidence: Iterable[str], step: str) -> Belief:
    """The belief after a turn with this evidence (names of RATIOS) and this step (a name of GOAL_RATIOS).

    >>> update(Belief(), ["calm"], "chat").harm < Belief().harm
    True
    """
    seen = dict(belief.met)
    shares = [(1 - FORGETS) * now + FORGETS * prior for now, prior in zip(belief.shares, PRIORS, strict=True)]
    here = sorted(set(evidence))
    for name in here:
        # What was met on the turns just before says little that is new.
        freshness = 1 / (1 + seen.get(name, 0.0))
        shares = [share * ratio**freshness for share, ratio in zip(shares, RATIOS[name], strict=True)]
    shares = _bounded(shares)
    goal = (1 - FORGETS) * belief.goal + FORGETS * GOAL_PRIOR
    odds = goal / (1 - goal) * GOAL_RATIOS[step]
    met = {name: STALE * count for name, count in seen.items() if count > 0.05}
    for name in here:
        met[name] = met.get(name, 0.0) + 1
    return Belief(tuple(shares), min(0.98, max(0.02, odds / (1 + odds))), tuple(sorted(met.items())))


def _bounded(shares: list[float]) -> list[float]:
    total = sum(shares)
    raised = [max(LEAST, share / total) for share in shares]
    return [share / sum(raised) for share in raised]


def intent(belief: Belief, evidence: Iterable[str]) -> Signal:
    """The signal of the belief: how much more likely harm is meant than of anybody."""
    prior = PRIORS[5] + 0.5 * PRIORS[4]
    value = belief.harm
    most = max(range(len(INTENTS)), key=lambda k: belief.shares[k])
    said = ", ".join(sorted(evidence)) or "nothing new"
    return Signal(
        "intent",
        value,
        f"most likely {INTENTS[most]} ({belief.shares[most]:.2f}); {said}",
        WEIGHT * max(0.0, value - prior),
        INTENTS[most],
    )
