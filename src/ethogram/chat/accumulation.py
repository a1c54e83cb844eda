"""Evidence that accumulates over turns: risk, intent, semantic closeness, behaviour."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from math import exp

from ..models.slotted import dataclass, field, replace
from .records import INTENTS, Readings, Signal, quiet, unmeasured
from .turn_features import View

# Risk that adds up above the conversation's own baseline
SLACK = 0.08
BASELINE_AT_MOST = 0.20  # a conversation that is always risky has no higher baseline
HALF_LIFE_S = 12 * 3600.0
HALF_LIFE_TURNS = 40.0
SEVERE = 0.5
FLOOR_SHARE = 0.45  # share of a severe turn that stays, and halves with the half-life
SCALE = 1.6
ACCUMULATION_WEIGHT = 0.6

# Intent: how likely each kind of evidence is under each intent, up to a factor (judgements, not fitted)
PRIORS = (0.60, 0.15, 0.10, 0.10, 0.04, 0.01)
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
GOAL_RATIOS = {"deeper": 2.0, "same thing": 1.3, "another thing": 0.65, "chat": 0.8, "returns": 2.5}
GOAL_PRIOR = 0.25
FORGETS = 0.06  # share by which each turn moves back towards the priors
LEAST = 0.002
STALE = 0.75  # how fast evidence of one kind counts as new again
WEIGHT = 0.45

# Semantic closeness: the level of a turn by its meaning, and of the strongest stretch of turns up to it
AT_REST = -0.7  # level of a text that says nothing
NO_RISK, FULL_RISK = 0.1, 1.9  # levels of risk 0 and 1
SHORTEST, LONGEST = 2, 6  # turns of a stretch
SHARPNESS = 2.0  # how far the worst turn of a stretch counts beside the others
MIDDLE, WIDTH = 1.0, 0.236  # strength at which the score is one half, and how quickly it changes there
BEGINNING = 3  # user turns that make up a conversation's beginning
NOTICED = 0.02  # a score of less is none
STATEMENT_SHARE = 0.6  # share of the distance from rest that is left of a statement
GRAVE = 0.4  # severity of a word above which a turn is more than a statement

# Behaviour
NEWEST = 20
ENOUGH_GAPS = 8
ENOUGH_TURNS = 4
FASTEST_TYPIST = 15.0  # characters a second that no person keeps up
EVEN = 0.1  # spread of the gaps over their mean below which a person is unlikely


@dataclass(frozen=True, slots=True)
class Load:
    """`heap` is the sum above baseline and slack; `peak` and `floor` fade; `usual` is the own baseline."""

    heap: float = 0.0
    peak: float = 0.0
    floor: float = 0.0
    usual: float = 0.0
    lasting: float = 0.0


def fading(seconds: float | None, half_life_s: float = HALF_LIFE_S) -> float:
    """The share left after one turn: by the time passed where that is known, and at most by turns."""
    by_turn = math.exp2(-1 / HALF_LIFE_TURNS)
    return by_turn if seconds is None else min(by_turn, math.exp2(-max(0.0, seconds) / half_life_s))


def add(load: Load, level: float, seconds: float | None, half_life_s: float = HALF_LIFE_S) -> Load:
    """The load after a turn of this level, so many seconds after the one before (None: not known)."""
    keep = fading(seconds, half_life_s)
    baseline = min(BASELINE_AT_MOST, load.usual)
    heap = max(0.0, load.heap * keep + level - baseline - SLACK)
    floor = max(load.floor * keep, FLOOR_SHARE * level if level >= SEVERE else 0.0)
    # The baseline learns slowly and from low turns: a risky one must not raise the bar for the next.
    usual = load.usual + 0.05 * (min(level, baseline + SLACK) - load.usual)
    lasting = 0.8 * load.lasting + 0.2 * float(level > baseline + SLACK)
    return Load(min(heap, 5.0), max(level, load.peak * keep), floor, usual, lasting)


def accumulated(load: Load) -> float:
    """The accumulated risk, 0..1: the sum, the peak by how lasting it is, and at least the floor.

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
    """The signal of the load; it adds that of the turns before, since this one has its own signals."""
    value = accumulated(load)
    if value < 0.02:
        return Signal("accumulation", value, "nothing adds up")
    text = f"adds up to {load.heap:.2f} above the conversation's own baseline; highest {load.peak:.2f}"
    if load.floor >= value:
        text = f"a severe turn ({load.peak:.2f}) is not yet forgotten"
    return Signal("accumulation", value, text, ACCUMULATION_WEIGHT * min(value, accumulated(before)))


@dataclass(frozen=True, slots=True)
class Belief:
    """`shares` of INTENTS, `goal` the probability of one goal behind the turns, `met` stale evidence."""

    shares: tuple[float, ...] = PRIORS
    goal: float = GOAL_PRIOR
    met: tuple[tuple[str, float], ...] = ()

    @property
    def harm(self) -> float:
        """Probability that harm is meant; suspicious counts half."""
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
        # Evidence of the turns just before is hardly new.
        freshness = 1 / (1 + seen.get(name, 0.0))
        shares = [share * ratio**freshness for share, ratio in zip(shares, RATIOS[name], strict=True)]
    total = sum(shares)
    raised = [max(LEAST, share / total) for share in shares]
    goal = (1 - FORGETS) * belief.goal + FORGETS * GOAL_PRIOR
    odds = goal / (1 - goal) * GOAL_RATIOS[step]
    met = {name: STALE * count for name, count in seen.items() if count > 0.05}
    for name in here:
        met[name] = met.get(name, 0.0) + 1
    return Belief(
        tuple(share / sum(raised) for share in raised),
        min(0.98, max(0.02, odds / (1 + odds))),
        tuple(sorted(met.items())),
    )


def intent(belief: Belief, evidence: Iterable[str]) -> Signal:
    """The signal of the belief: how much more likely harm is meant than by anybody."""
    most = max(range(len(INTENTS)), key=lambda k: belief.shares[k])
    reasons = ", ".join(sorted(evidence)) or "nothing new"
    text = f"most likely {INTENTS[most]} ({belief.shares[most]:.2f}); {reasons}"
    adds = WEIGHT * max(0.0, belief.harm - Belief().harm)
    return Signal("intent", belief.harm, text, adds, INTENTS[most])


@dataclass(frozen=True, slots=True)
class Stretch:
    """The newest levels, newest last; how many turns were measured, and the mean level of the first."""

    levels: tuple[float, ...] = ()
    turns: int = 0
    beginning: float = 0.0


def stretch_add(stretch: Stretch, level: float) -> Stretch:
    """The stretch after one more turn of this level."""
    turns = stretch.turns + 1
    moved = stretch.beginning + (level - stretch.beginning) / turns
    beginning = moved if turns <= BEGINNING else stretch.beginning
    return Stretch((*stretch.levels, level)[-LONGEST:], turns, beginning)


def strength(levels: tuple[float, ...]) -> float:
    """The level of the worst stretch of turns that ends with the newest; the worst turns count most.

    So a single odd turn counts less than two, and calm turns before a climb do not count.

    >>> strength((1.0, 1.0)) > strength((-0.7, 1.0)) == strength((-0.7, -0.7, -0.7, 1.0)) > 0
    True
    """
    best, total = -math.inf, 0.0
    for count, level in enumerate(reversed(levels), start=1):
        total += exp(SHARPNESS * level)
        if count >= min(SHORTEST, len(levels)):
            best = max(best, math.log(total / count) / SHARPNESS)
    return best if levels else AT_REST


def score(strong: float) -> float:
    """A strength as a score, 0..1.

    >>> [round(score(strong), 2) for strong in (AT_REST, 0.6, MIDDLE, 1.4)]
    [0.0, 0.16, 0.5, 0.84]
    """
    return 1 / (1 + exp(-(strong - MIDDLE) / WIDTH))


def risk_of(level: float) -> float:
    """The level of one turn as a risk, 0..1.

    >>> [round(risk_of(level), 2) for level in (-0.7, 0.1, 1.0, 2.5)]
    [0.0, 0.0, 0.5, 1.0]
    """
    return min(1.0, max(0.0, (level - NO_RISK) / (FULL_RISK - NO_RISK)))


def measured(readings: Readings, view: View) -> float | None:
    """The level of this turn, None where the embedder does not know its language.

    A turn that requests nothing and names no grave harm is a statement, and counts less.
    """
    if readings.level is None or not (view.is_english or readings.any_language):
        return None
    is_statement = not view.wants and all((hit.term.severity or 0.0) < GRAVE for hit in view.hits)
    return AT_REST + STATEMENT_SHARE * (readings.level - AT_REST) if is_statement else readings.level


def by_meaning(readings: Readings, view: View, stretch: Stretch) -> tuple[Signal, ...]:
    """`meaning`, `standing`, `drift` and `topic_jump`; only `standing` adds to the risk.

    `stretch` includes this turn.
    """
    level = measured(readings, view)
    if level is None:
        strange = f"the embedder does not know this language ({view.language})"
        why = "no embedder" if readings.level is None else strange
        return tuple(unmeasured(name, why) for name in ("meaning", "standing", "drift", "topic_jump"))
    close = Signal("meaning", risk_of(level), f"closeness to harm {risk_of(level):.2f}")
    jump = quiet("topic_jump", "nothing to compare with")
    if readings.jump is not None:
        jump = Signal("topic_jump", readings.jump, f"{1 - readings.jump:.0%} of what was talked about")
    return (close, _standing(stretch), _drift(stretch), jump)


def _standing(stretch: Stretch) -> Signal:
    value = score(strength(stretch.levels))
    if value < NOTICED:
        return Signal("standing", value, "nothing asks for harm", value)
    what = "the last turns together ask" if stretch.turns > 1 else "a turn asks"
    return Signal("standing", value, f"{what} for harm ({value:.2f})", value)


def _drift(stretch: Stretch) -> Signal:
    """How far the strongest stretch stands above the beginning, where it is above ordinary talk."""
    if stretch.turns <= BEGINNING:
        return unmeasured("drift", "the conversation has only begun")
    now = strength(stretch.levels)
    value = min(1.0, max(0.0, (now - max(stretch.beginning, AT_REST)) / 2)) if now > 0 else 0.0
    return Signal("drift", value, f"{value:.2f} nearer to harm than at its beginning")


@dataclass(frozen=True, slots=True)
class Manner:
    """The newest gaps in seconds, lengths in characters, and whether each question was directed."""

    gaps: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    directed: tuple[bool, ...] = ()
    returns: int = 0
    switches: int = 0


def observe(
    manner: Manner, view: View, length: int, gap: float | None, changed: bool, risky_return: bool
) -> Manner:
    """The manner after a user's turn; `gap` since the turn before, `changed` where the topic did."""
    gaps = manner.gaps if gap is None else (*manner.gaps, gap)[-NEWEST:]
    lengths = manner.lengths if gap is None else (*manner.lengths, length)[-NEWEST:]
    directed = manner.directed
    if view.is_question or view.has("doing"):
        directed = (*directed, view.has("doing", "exact", "evade"))[-NEWEST:]
    return Manner(gaps, lengths, directed, manner.returns + risky_return, manner.switches + changed)


def behaviour(manner: Manner) -> tuple[Signal, ...]:
    """Four signals, each with a category; only an automated pace adds a little to the risk."""
    return (_typing(manner), _pace(manner), _style(manner), _switching(manner))


def _typing(manner: Manner) -> Signal:
    if len(manner.gaps) < ENOUGH_TURNS:
        return unmeasured("typing_speed", "unknown: too few turns with times")
    pairs = zip(manner.gaps, manner.lengths, strict=True)
    paces = [length / max(gap, 0.05) for gap, length in pairs if length >= 30]
    if len(paces) < ENOUGH_TURNS:
        return unmeasured("typing_speed", "unknown: too few turns long enough")
    pace = statistics.median(paces)
    value = min(1.0, pace / (2 * FASTEST_TYPIST))
    if pace > FASTEST_TYPIST:
        text = f"{pace:.0f} characters a second, faster than anybody types"
        return Signal("typing_speed", value, text, 0.03, "automated")
    return Signal("typing_speed", value, f"{pace:.1f} characters a second", 0.0, "normal")


def _pace(manner: Manner) -> Signal:
    if len(manner.gaps) < ENOUGH_GAPS:
        return unmeasured("response_time", "unknown: too few turns with times")
    mean = math.fsum(manner.gaps) / len(manner.gaps)
    # `statistics.pstdev` works in fractions, which takes longer than the rest of a turn's behaviour.
    deviation = math.sqrt(math.fsum((gap - mean) ** 2 for gap in manner.gaps) / len(manner.gaps))
    spread = deviation / mean if mean > 0 else 0.0
    text = f"turns {mean:.1f} s apart with a spread of {spread:.0%}"
    value = max(0.0, 1 - spread)
    if spread < EVEN or statistics.median(manner.gaps) < 1.0:
        return Signal("response_time", value, text, 0.03, "scripted")
    return Signal("response_time", value, text, 0.0, "human")


def _style(manner: Manner) -> Signal:
    if len(manner.directed) < ENOUGH_TURNS:
        return unmeasured("question_style", "unknown: too few questions")
    share = sum(manner.directed) / len(manner.directed)
    text = f"{share:.0%} of the newest questions ask how to do something or how exactly"
    return Signal("question_style", share, text, 0.0, "directed" if share > 0.6 else "exploratory")


def _switching(manner: Manner) -> Signal:
    if manner.switches < 2:
        return unmeasured("topic_switching", "unknown: too few changes of topic")
    text = f"{manner.returns} of {manner.switches} changes of topic went back to a risky one"
    kind = "strategic" if manner.returns >= 2 else "organic"
    return Signal("topic_switching", min(1.0, manner.returns / 3), text, 0.0, kind)


@dataclass(frozen=True, slots=True)
class Tuning:
    """`weights` multiply what signals add to the risk (default 1); `half_life_s` is that of the load."""

    weights: Mapping[str, float] = field(default_factory=dict)
    half_life_s: float = HALF_LIFE_S

    def weighed(self, signals: tuple[Signal, ...]) -> tuple[Signal, ...]:
        """The signals with their weights applied."""
        if not self.weights:
            return signals
        return tuple(
            replace(signal, adds=min(1.0, signal.adds * self.weights.get(signal.name, 1.0)))
            for signal in signals
        )


PLAIN = Tuning()
