"""Evidence that accumulates over turns: risk, intent, behaviour, semantic closeness."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import exp

from .records import Readings, Signal, quiet, unmeasured
from .request import Request
from .turn_features import View

# Accumulation: what adds up above a conversation's own baseline, with a memory that fades.

SLACK = 0.08
BASELINE_AT_MOST = 0.20
"""A conversation cannot make itself at home in risk: its own baseline counts up to here."""
HALF_LIFE_S = 12 * 3600.0
HALF_LIFE_TURNS = 40.0
SEVERE = 0.5
FLOOR_SHARE = 0.45  # after a severe turn this share of it stays, and halves with the half-life
SCALE = 1.6
ACCUMULATION_WEIGHT = 0.6


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
    text = f"adds up to {load.heap:.2f} above the conversation's own baseline; highest {load.peak:.2f}"
    if load.floor >= value:
        text = f"a severe turn ({load.peak:.2f}) is not yet forgotten"
    return Signal("accumulation", value, text, ACCUMULATION_WEIGHT * min(value, accumulated(before)))


# Intent: a filter over six intents, moved by what is new in a turn and never certain.

INTENTS = ("safe", "educational", "professional", "curious", "suspicious", "malicious")
PRIORS = (0.60, 0.15, 0.10, 0.10, 0.04, 0.01)
FORGETS = 0.06
"""Share by which each turn moves back towards the priors: nobody is judged for ever by one turn."""
LEAST = 0.002
STALE = 0.75  # how fast evidence of one kind counts as new again
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


# How near to harm a conversation is by its meaning: how high at its worst, and how long that lasted.
#
# The strength of a stretch of turns is their mean level, with a little rest mixed in. That of the
# conversation
# now is the strongest stretch that ends at this turn, two to ten turns long. So
#
# - one odd turn, which every long talk has, counts half (its neighbour is calm);
# - a risk that lasts counts whole, and calm turns between count against it, since levels go below 0;
# - a climb is seen as soon as its last turns are high; calm before it is left out, however long it was.
#
# The level of a turn is what an embedder says and what words, ladder and refusals say, added up before the
# stretch is taken: what both see in the same turns counts, and a calm neighbour still speaks against it.

AT_REST = -0.7  # the level of a text that says nothing: a calm turn
ZERO, ONE = 0.1, 1.9  # levels that are risk 0 and risk 1; at level 1 the risk is one half
SHORTEST, LONGEST = 2, 10  # turns of a stretch. A conversation of one turn is a stretch by itself
REST = 0.3  # turns at rest that are mixed in: a short stretch is believed a little less than a long one
MIDDLE, WIDTH = 0.7, 0.2  # strength at which the score is one half, and how quickly it changes there
CLIMB = 1.5  # what a turn's own risk adds to its level. From 0.5 to 2 it makes little difference
HIGHEST, FURTHEST, BEYOND = 1.1, 2.5, 0.3
"""The level to which meaning alone counts whole: for SUSPECT it takes a second turn, or something else seen.
What is beyond counts by a share, up to the furthest."""
BEGINNING = 3  # user turns that a conversation's beginning is taken from


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


def stretch_add(stretch: Stretch, level: float) -> Stretch:
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


# Interaction behaviour.
#
# Pace, regularity, style of questions, switching of topics. Unknown where it cannot be told.

KEPT = 20
ENOUGH_GAPS = 8
ENOUGH_TURNS = 4
FASTEST_TYPIST = 15.0  # characters a second that no person keeps up
EVEN = 0.1  # spread of the gaps over their mean under which a person is unlikely


@dataclass(frozen=True, slots=True)
class Manner:
    """The newest gaps in seconds, lengths in characters, and whether each question was directed.

    Each at most KEPT.
    """

    gaps: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    directed: tuple[bool, ...] = ()
    returns: int = 0
    switches: int = 0


def observe(
    manner: Manner, view: View, length: int, gap: float | None, changed: bool, risky_return: bool
) -> Manner:
    """The manner after a user's turn; `gap` since the turn before, `changed` where the topic did."""
    gaps = manner.gaps if gap is None else (*manner.gaps, gap)[-KEPT:]
    lengths = manner.lengths if gap is None else (*manner.lengths, length)[-KEPT:]
    directed = manner.directed
    if view.is_question or view.has("doing"):
        directed = (*directed, view.has("doing", "exact", "evade"))[-KEPT:]
    return Manner(gaps, lengths, directed, manner.returns + risky_return, manner.switches + changed)


def behaviour(manner: Manner) -> tuple[Signal, ...]:
    """Four signals, each with a category. They describe; only scripted pace adds a little to the risk."""
    return (_typing(manner), _pace(manner), _style(manner), _switching(manner))


def _typing(manner: Manner) -> Signal:
    if len(manner.gaps) < ENOUGH_TURNS:
        return unmeasured("typing_speed", "unknown: too few turns with times")
    paces = [
        length / max(gap, 0.05)
        for gap, length in zip(manner.gaps, manner.lengths, strict=True)
        if length >= 30
    ]
    if len(paces) < ENOUGH_TURNS:
        return unmeasured("typing_speed", "unknown: too few turns long enough")
    pace = statistics.median(paces)
    value = min(1.0, pace / (2 * FASTEST_TYPIST))
    if pace > FASTEST_TYPIST:
        return Signal(
            "typing_speed",
            value,
            f"{pace:.0f} characters a second, faster than anybody types",
            0.03,
            "automated",
        )
    return Signal("typing_speed", value, f"{pace:.1f} characters a second", 0.0, "normal")


def _pace(manner: Manner) -> Signal:
    if len(manner.gaps) < ENOUGH_GAPS:
        return unmeasured("response_time", "unknown: too few turns with times")
    mean = math.fsum(manner.gaps) / len(manner.gaps)
    # `statistics.pstdev` works in fractions, which takes longer than all the rest of a turn's manner.
    deviation = math.sqrt(math.fsum((gap - mean) ** 2 for gap in manner.gaps) / len(manner.gaps))
    spread = deviation / mean if mean > 0 else 0.0
    scripted = spread < EVEN or statistics.median(manner.gaps) < 1.0
    text = f"turns {mean:.1f} s apart with a spread of {spread:.0%}"
    return Signal(
        "response_time",
        max(0.0, 1 - spread),
        text,
        0.03 if scripted else 0.0,
        "scripted" if scripted else "human",
    )


def _style(manner: Manner) -> Signal:
    if len(manner.directed) < ENOUGH_TURNS:
        return unmeasured("question_style", "unknown: too few questions")
    share = sum(manner.directed) / len(manner.directed)
    kind = "directed" if share > 0.6 else "exploratory"
    return Signal(
        "question_style",
        share,
        f"{share:.0%} of the newest questions ask how to do something or how exactly",
        0.0,
        kind,
    )


def _switching(manner: Manner) -> Signal:
    if manner.switches < 2:
        return unmeasured("topic_switching", "unknown: too few changes of topic")
    value = min(1.0, manner.returns / 3)
    kind = "strategic" if manner.returns >= 2 else "organic"
    return Signal(
        "topic_switching",
        value,
        f"{manner.returns} returns to a risky topic in {manner.switches} changes of topic",
        0.0,
        kind,
    )


# What a service may set: how much each signal counts, and how quickly risk is forgotten.


@dataclass(frozen=True, slots=True)
class Tuning:
    """`weights` multiply what signals add to the risk, 1 where nothing is said; `half_life_s` is the time
    after which half of what adds up is forgotten."""

    weights: Mapping[str, float] = field(default_factory=dict)
    half_life_s: float = HALF_LIFE_S

    def weighed(self, signals: tuple[Signal, ...]) -> tuple[Signal, ...]:
        """The signals, each adding as much as it is to."""
        if not self.weights:
            return signals
        return tuple(
            replace(signal, adds=min(1.0, signal.adds * self.weights.get(signal.name, 1.0)))
            for signal in signals
        )


PLAIN = Tuning()


# Signals of what an embedder measured: this turn, the stretch of turns up to it, drift, and a jump.

LEAST_FRAME = 0.5  # an innocent setting leaves at least so much: it is easily claimed
ALONE = 0.29  # the most that a first turn comes to by meaning alone, just below ELEVATED
FIRST_MIDDLE, FIRST_WIDTH = 0.6, 0.4
"""Severity at which a first turn comes to half of that, and how quickly it changes there."""
SEEN, FACT = 0.3, 0.3
"""What the words of a first turn must ask for by themselves (an act, and something harmful it is done with or
to, and no question of fact) for meaning to say more: an embedder hears the alarm in a word, and one turn is
no stretch yet."""

TELLS = 0.6  # share of the distance from rest that is left of a turn that only tells of something
GRAVE = 0.4  # severity of a word from which a turn that tells is more than that
CALM, NEAR = -0.3, 0.1  # levels of a turn that is calm by its meaning, and of one that is near to harm
DOUBTED = 0.55
"""What words alone are worth where the meaning is calm: many an alarming word has an innocent sense."""
BY_WORDS = ("keywords", "request")
"""The signals that meaning can cast doubt on; no embedder sees the form of a conversation."""


def measured(readings: Readings, view: View) -> float | None:
    """The level of this turn, where the embedder knows its language.

    Who asks for nothing and names no grave harm tells of something: an embedder hears people, children and
    loss in it, and little of that is near to harm.
    """
    if readings.level is None or not (view.is_english or readings.any_language):
        return None
    tells = not view.wants and all((hit.term.severity or 0.0) < GRAVE for hit in view.hits)
    return AT_REST + TELLS * (readings.level - AT_REST) if tells else readings.level


def doubted(signals: tuple[Signal, ...], level: float | None) -> tuple[Signal, ...]:
    """The signals of a turn, those by words alone adding less where its meaning is calm."""
    if level is None or level >= NEAR:
        return signals
    left = DOUBTED + (1 - DOUBTED) * max(0.0, (level - CALM) / (NEAR - CALM))
    return tuple(
        replace(signal, adds=left * signal.adds) if signal.name in BY_WORDS else signal for signal in signals
    )


def by_meaning(readings: Readings, view: View, stretch: Stretch, request: Request) -> tuple[Signal, ...]:
    """`meaning`, `standing`, `drift` and `topic_jump`; only `standing` adds to the risk.

    `stretch` holds this turn already. How far a single turn is from what was said before is no sign of
    anything: people change the subject.
    """
    level = measured(readings, view)
    if level is None:
        strange = f"the embedder does not know this language ({view.language})"
        why = "no embedder" if readings.level is None else strange
        return tuple(unmeasured(name, why) for name in ("meaning", "standing", "drift", "topic_jump"))
    close = Signal("meaning", risk_of(level), f"closeness to harm {risk_of(level):.2f}")
    return (close, _standing(stretch, request, level), _drift(stretch), _jump(readings.jump))


def _standing(stretch: Stretch, request: Request, level: float) -> Signal:
    value = score(strength(stretch.levels))
    if stretch.turns > 1:
        return Signal("standing", value, f"the last turns together are near to harm ({value:.2f})", value)
    frame = max(request.frame, LEAST_FRAME)
    alone = ALONE * frame / (1 + exp(-(level - FIRST_MIDDLE) / FIRST_WIDTH))
    seen = request.direct >= SEEN and request.asks > FACT
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
