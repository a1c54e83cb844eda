"""The risk of one turn: signals to evidence, risk and mode."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..stats import either
from . import accumulation, escalation, memory, refusals, repetition
from .accumulation import PLAIN, Tuning, by_meaning, doubted, fused, measured, score, strength
from .accumulation import stretch_add as further
from .escalation import Ladder, trajectory
from .records import Change, Mode, Outcome, Readings, Signal, quiet
from .refusals import read_reply
from .repetition import resampling
from .request import Request, disguise, keywords, request, request_signal, vehicle
from .state import LEVELS, State
from .turn_features import View, look

# From what was measured of a turn to evidence about intent.


def evidence_of(view: View, asked: Request, level: float, signals: dict[str, Signal]) -> tuple[str, ...]:
    """Names of the evidence in a turn, as `intent.RATIOS` lists them."""
    here = {
        "calm": level < 0.05,
        "learns": view.has("learn") and asked.frame < 1,
        "at work": view.has("profession"),
        "explores": view.is_question and not view.has("doing", "exact") and 0.05 <= level < 0.25,
        "touches danger": level >= 0.15,
        "asks for harm": asked.direct >= 0.42,
        "avoids notice": asked.evades > 0,
        "comes back after refusal": signals["after_refusal"].adds >= 0.2,
        "drops the rules": view.has("override"),
        "hides words": bool(view.disguise.kinds) and asked.hazard > 0.1,
        "climbs": signals["ladder"].adds >= 0.2 or signals["query_pattern"].adds >= 0.2,
    }
    return tuple(name for name, holds in here.items() if holds)


def step_of(before: Ladder, after: Ladder, view: View, changed: bool, returned: bool) -> str:
    """What a turn says about there being one goal, as `intent.GOAL_RATIOS` lists it."""
    if returned:
        return "returns"
    if after.rank > before.rank >= 1 and after.idle == 0 and not changed:
        return "deeper"
    if changed:
        return "another thing"
    return "same thing" if view.own or view.has("exact", "doing") else "chat"


# From risk to mode, and how the parts of a risk are put together.

FLOORS = (0.0, 0.15, 0.30, 0.50, 0.70, 0.85)  # the risk at which each mode begins

HYSTERESIS = 0.05  # A mode is left only when the risk is so much under its floor

CORROBORATION = 0.5  # what the second strongest sign counts for; the third its square, and so on


def mode_of(risk: float, before: Mode = Mode.SAFE) -> Mode:
    """The mode for a risk, given the mode before. More risk never gives a lower mode.

    >>> mode_of(0.47), mode_of(0.47, Mode.SUSPECT).name, mode_of(0.44, Mode.SUSPECT).name
    (<Mode.ELEVATED: 2>, 'SUSPECT', 'ELEVATED')
    """
    reached = max(mode for mode in Mode if risk >= FLOORS[mode])
    held = max(
        (mode for mode in Mode if mode <= before and risk >= FLOORS[mode] - HYSTERESIS), default=Mode.SAFE
    )
    return max(reached, held)


def together(parts: Iterable[float]) -> float:
    """Signs put together, 0..1: the strongest counts whole, each further one half of the one before.

    Signs overlap (a risky word makes several of them), so treating them as independent would count one
    cause thrice.

    >>> round(together([0.4, 0.2]), 3), together([])
    (0.46, 0.0)
    """
    counted, weight = [], 1.0
    for part in sorted(parts, reverse=True):
        if part <= 0 or weight < 0.05:
            break
        counted.append(min(1.0, part) * weight)
        weight *= CORROBORATION
    return either(counted)


# Risk and mode from the signals of a turn, and what changed since the turn before.

LEARNS = 0.2  # how fast each signal's own baseline follows it
SAME = 1e-9
NOT_FORGOTTEN = 0.6  # share of the accumulated risk below which the risk does not fall
WORTH_TELLING = 0.01


def settle(
    state: State,
    role: str,
    at: float | None,
    signals: tuple[Signal, ...],
    holds: float,
    tuning: Tuning,
    least: float = 0.0,
) -> tuple[State, Outcome]:
    """Risk and mode from the signals; `holds` is what is left of the risk before, `least` its lower end."""
    usual = dict(state.baselines)
    # Written out, since there are twenty of them in every turn and `replace` takes four times as long.
    signals = tuple(
        Signal(
            signal.name,
            signal.value,
            signal.reason,
            signal.adds,
            signal.category,
            usual.get(signal.name, 0.0),
        )
        for signal in signals
    )
    total = accumulation.accumulated(state.load)
    risk = _risk(state, signals, holds * _pause(state, at, tuning.half_life_s), least, total)
    mode = mode_of(risk, state.mode)
    profile = memory.moded(state.memory.profile, risk, state.mode, mode)
    changes = _changes(state, signals, risk, role)
    after = replace(
        state,
        last_at=at if at is not None else state.last_at,
        risk=risk,
        mode=mode,
        adds=_adds(signals) if role not in ("assistant", "system", "tool") else state.adds,
        baselines=tuple(sorted((usual | _followed(signals)).items())),
        memory=replace(state.memory, profile=profile),
    )
    shares = tuple(zip(accumulation.INTENTS, after.belief.shares, strict=True))
    return after, Outcome(after.turns, role, risk, total, mode, signals, changes, shares, after.belief.goal)


def _risk(state: State, signals: tuple[Signal, ...], holds: float, least: float, total: float) -> float:
    """The strongest of what is new, what is left, and what is not forgotten.

    Where no signal is above its own baseline nothing is new, so the risk cannot rise.
    """
    # What stands by meaning holds what the words say already: added to them it would count twice.
    standing = max((signal.adds for signal in signals if signal.name == "standing"), default=0.0)
    fresh = max(standing, together(signal.adds for signal in signals if signal.name != "standing"))
    left = state.risk * holds if signals else state.risk
    risk = max(fresh, least, left, min(state.risk, NOT_FORGOTTEN * total))
    is_new = any(signal.value is not None and signal.value > signal.usual + SAME for signal in signals)
    return risk if is_new else min(risk, state.risk)


def _pause(state: State, at: float | None, half_life_s: float) -> float:
    """What a pause leaves of the risk: half of it after the half-life of what adds up."""
    if at is None or state.last_at is None:
        return 1.0
    return math.exp2(-max(0.0, at - state.last_at) / half_life_s)


def _adds(signals: tuple[Signal, ...]) -> tuple[tuple[str, float], ...]:
    return tuple((signal.name, signal.adds) for signal in signals if signal.adds > 0)


def _followed(signals: tuple[Signal, ...]) -> dict[str, float]:
    """The baselines a little nearer to this turn's values."""
    return {
        signal.name: signal.usual + LEARNS * (signal.value - signal.usual)
        for signal in signals
        if signal.value is not None
    }


def _changes(state: State, signals: tuple[Signal, ...], risk: float, role: str) -> tuple[Change, ...]:
    """What adds more or less than a turn before, the greatest first; or that time has passed."""
    were = dict(state.adds) if role not in ("assistant", "system", "tool") else {}
    here = {signal.name: signal for signal in signals}
    found = [
        Change(name, by, here[name].reason if name in here else "no longer")
        for name in sorted(set(were) | set(here))
        if abs(by := (here[name].adds if name in here else 0.0) - were.get(name, 0.0)) >= WORTH_TELLING
    ]
    if risk - state.risk <= -WORTH_TELLING and all(change.by > 0 for change in found):
        found.append(Change("calm", risk - state.risk, "nothing new, and what was fades"))
    return tuple(sorted(found, key=lambda change: (-abs(change.by), change.name)))


# One turn of a conversation: state and text in, state and outcome out. Nothing else is read or kept.

HOLDS = 0.8  # what is left of the risk a turn later when nothing new is said
RISKY = 0.15


def turn(
    state: State,
    text: str,
    role: str,
    at: float | None,
    readings: Readings | None = None,
    tuning: Tuning = PLAIN,
) -> tuple[State, Outcome]:
    """The state after a turn, and where the conversation stands. `at` is in seconds, None where not known."""
    if role in ("system", "tool"):
        return settle(replace(state, turns=state.turns + 1), role, at, (), 0.0, tuning)
    if role == "assistant":
        return _assistant(state, text, at, tuning)
    return _user(state, text, role, at, readings or Readings(), tuning)


def _user(
    state: State, text: str, role: str, at: float | None, readings: Readings, tuning: Tuning
) -> tuple[State, Outcome]:
    view = look(text)
    asked = request(view, escalation.carried(state.ladder, view))
    changed = memory.is_change(state.memory, view)
    number = state.user_turns + 1
    climbed = escalation.climb(state.ladder, view, asked)
    chains, chain = escalation.follow(state.chains, view, number)
    refused, returned = refusals.come_back(state.refused, view, asked, readings.refused)
    direct: tuple[Signal, ...] = (
        keywords(view, asked),
        request_signal(view, asked),
        vehicle(view, asked),
        disguise(view, asked),
        escalation.ladder_signal(climbed, asked),
        escalation.query_signal(chain, asked.frame),
        returned,
        memory.recall(state.memory, view, number),
        resampling(view.about, (item.words for item in state.memory.recent), asked.direct, returned.adds > 0),
        repetition.split_request(state.pieces, view, asked.direct),
    )
    near = measured(readings, view)
    direct = doubted(tuning.weighed(direct), near)
    level = together(item.adds for item in direct)
    seen = evidence_of(view, asked, level, {item.name: item for item in direct})
    has_returned = returned.adds > 0
    step = step_of(state.ladder, climbed, view, changed, has_returned)
    belief = accumulation.update(state.belief, seen, step)
    gap = None if at is None or state.last_at is None else max(0.0, at - state.last_at)
    since = None if at is None or state.last_user_at is None else max(0.0, at - state.last_user_at)
    strategic = changed and any(item.name == "topic_return" and item.adds > 0 for item in direct)
    manner = accumulation.observe(state.manner, view, len(text), gap, changed, strategic)
    stretch = state.stretch if near is None else further(state.stretch, fused(near, level))
    meant = tuning.weighed(by_meaning(readings, view, stretch, asked))
    load = accumulation.add(state.load, level, since, tuning.half_life_s)
    levels = (*state.levels, level)[-LEVELS:]
    remembered = memory.remember(state.memory, view, role, level, number, changed)
    remembered = replace(
        remembered, profile=memory.profiled(remembered.profile, view, asked, changed, has_returned)
    )
    after = replace(
        state,
        turns=state.turns + 1,
        user_turns=number,
        last_user_at=at if at is not None else state.last_user_at,
        levels=levels,
        load=load,
        ladder=climbed,
        chains=chains,
        refused=refused,
        asked=refusals.asked_of(view, climbed, max(asked.direct, level)),
        pieces=repetition.keep(state.pieces, view, asked.direct),
        belief=belief,
        manner=manner,
        memory=remembered,
        stretch=stretch,
    )
    over_time = (
        trajectory(levels),
        accumulation.accumulation(load, state.load),
        accumulation.intent(belief, seen),
        *accumulation.behaviour(manner),
    )
    signals = (*direct, *meant, *tuning.weighed(over_time))
    # A turn as risky as the one before is no reason to be calmer.
    as_risky = level >= RISKY and bool(state.levels) and level >= state.levels[-1] - SAME
    least = escalation.lifted(climbed, state.ladder, state.risk)
    settled, outcome = settle(after, role, at, signals, 1.0 if as_risky else HOLDS, tuning, least)
    return settled, replace(
        outcome,
        own=level if near is None else max(level, score(strength(stretch.levels[-1:]))),
        severity=asked.hazard,
        topic=chain.topic[0] if chain is not None and chain.topic else None,
        stage=None if chain is None else escalation.stage_of(view.text),
    )


def _assistant(state: State, text: str, at: float | None, tuning: Tuning) -> tuple[State, Outcome]:
    reply = read_reply(text)
    refused = refusals.refuse(state.refused, state.asked, reply)
    profile = replace(state.memory.profile, refusals=state.memory.profile.refusals + (reply.refuses >= 0.4))
    after = replace(
        state, turns=state.turns + 1, refused=refused, memory=replace(state.memory, profile=profile)
    )
    said = (
        "refuses"
        if reply.refuses >= 0.8
        else "advises against it"
        if reply.refuses >= 0.4
        else "does not refuse"
    )
    refusal = Signal("refusal", reply.refuses, said, refusals.weight_of(reply, profile.refusals))
    gave = reply.gives * min(1.0, 2 * state.asked.direct) * (1.0 if reply.refuses < 0.8 else 0.5)
    words = (
        "refuses and gives steps all the same"
        if reply.is_partial
        else "gives steps or amounts for a risky request"
    )
    compliance = (
        Signal("compliance", gave, words, 0.4 * gave)
        if gave >= 0.1
        else quiet("compliance", "gives nothing risky away")
    )
    return settle(after, "assistant", at, tuning.weighed((refusal, compliance)), HOLDS**0.25, tuning)


# Context coherence: how far a turn has moved towards harm from where the session began.
#
# A jump away from the talk is no sign by itself (people change the subject), and an attack by small steps is
# coherent. So what is measured is the drift, by a jump or step by step.

STARTED = 3  # turns that say where a session began
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
