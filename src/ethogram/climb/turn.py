"""One turn of a conversation: state and text in, state and outcome out. Nothing else is read or kept."""

from __future__ import annotations

from dataclasses import replace

from . import accumulation, after_refusal, behaviour, evidence, intent, ladder, memory, query, split
from .by_meaning import by_meaning, doubted, measured
from .direct import disguise, request_signal
from .keywords import keywords
from .modes import together
from .records import Outcome, Readings, Signal, quiet
from .refusal import read_reply
from .repeats import resampling
from .request import request
from .settle import SAME, settle
from .state import LEVELS, State
from .stretch import add as further
from .stretch import fused, score, strength
from .trajectory import trajectory
from .tuning import PLAIN, Tuning
from .vehicle import vehicle
from .view import look

HOLDS = 0.8
"""What is left of the risk a turn later when nothing new is said."""
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
    state: State, text: str, role: str, at: float | None, given: Readings, tuning: Tuning
) -> tuple[State, Outcome]:
    view = look(text)
    asked = request(view, ladder.carried(state.ladder, view))
    changed = memory.is_change(state.memory, view)
    number = state.user_turns + 1
    climbed = ladder.climb(state.ladder, view, asked)
    chains, chain = query.follow(state.chains, view, number)
    refused, returned = after_refusal.come_back(state.refused, view, asked, given.refused)
    direct: tuple[Signal, ...] = (
        keywords(view, asked),
        request_signal(view, asked),
        vehicle(view, asked),
        disguise(view, asked),
        ladder.ladder_signal(climbed, asked),
        query.query_signal(chain, asked.frame),
        returned,
        memory.recall(state.memory, view, number),
        resampling(view.about, (one.words for one in state.memory.recent), asked.direct, returned.adds > 0),
        split.split_request(state.pieces, view, asked.direct),
    )
    near = measured(given, view)
    direct = doubted(tuning.weighed(direct), near)
    level = together(one.adds for one in direct)
    seen = evidence.evidence_of(view, asked, level, {one.name: one for one in direct})
    has_returned = returned.adds > 0
    step = evidence.step_of(state.ladder, climbed, view, changed, has_returned)
    belief = intent.update(state.belief, seen, step)
    gap = None if at is None or state.last_at is None else max(0.0, at - state.last_at)
    since = None if at is None or state.last_user_at is None else max(0.0, at - state.last_user_at)
    strategic = changed and any(one.name == "topic_return" and one.adds > 0 for one in direct)
    manner = behaviour.observe(state.manner, view, len(text), gap, changed, strategic)
    stretch = state.stretch if near is None else further(state.stretch, fused(near, level))
    meant = tuning.weighed(by_meaning(given, view, stretch, asked))
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
        asked=after_refusal.asked_of(view, climbed, max(asked.direct, level)),
        pieces=split.keep(state.pieces, view, asked.direct),
        belief=belief,
        manner=manner,
        memory=remembered,
        stretch=stretch,
    )
    over_time = (
        trajectory(levels),
        accumulation.accumulation(load, state.load),
        intent.intent(belief, seen),
        *behaviour.behaviour(manner),
    )
    signals = (*direct, *meant, *tuning.weighed(over_time))
    # A turn as risky as the one before is no reason to be calmer.
    as_risky = level >= RISKY and bool(state.levels) and level >= state.levels[-1] - SAME
    least = ladder.lifted(climbed, state.ladder, state.risk)
    settled, outcome = settle(after, role, at, signals, 1.0 if as_risky else HOLDS, tuning, least)
    return settled, replace(
        outcome,
        own=level if near is None else max(level, score(strength(stretch.levels[-1:]))),
        severity=asked.hazard,
        topic=chain.topic[0] if chain is not None and chain.topic else None,
        stage=None if chain is None else query.stage_of(view.text),
    )


def _assistant(state: State, text: str, at: float | None, tuning: Tuning) -> tuple[State, Outcome]:
    reply = read_reply(text)
    refused = after_refusal.refuse(state.refused, state.asked, reply)
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
    refusal = Signal("refusal", reply.refuses, said, after_refusal.weight_of(reply, profile.refusals))
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
