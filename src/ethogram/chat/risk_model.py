"""One turn of a conversation: state and text in, state and outcome out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..models.slotted import replace
from ..stats import either
from . import accumulation, escalation, memory, refusals, repetition
from .accumulation import NOTICED, PLAIN, Tuning, by_meaning, measured, score, stretch_add
from .escalation import Ladder, trajectory
from .records import INTENTS, Change, Mode, Outcome, Readings, Signal, quiet
from .refusals import read_reply
from .repetition import resampling
from .request import Request, disguise, keywords, request, request_signal, vehicle
from .state import LEVELS, State
from .turn_features import View, look
from .words import UNKNOWN

FLOORS = (0.0, 0.15, 0.30, 0.50, 0.70, 0.85)  # the risk at which each mode begins
HYSTERESIS = 0.05  # a mode is left only when the risk is so far below its floor
CORROBORATION = 0.5  # weight of the second strongest signal; the third has its square, and so on
LEARNS = 0.2  # how fast each signal's own baseline follows it
SAME = 1e-9
NOT_FORGOTTEN = 0.6  # share of the accumulated risk below which the risk does not fall
REPORTED = 0.01  # least change that is reported
HOLDS = 0.8  # share of the risk left a turn later when nothing is new
RISKY = 0.15
# What counts where the meaning is measured: peak and persistence, rise, return after a refusal or a while.
# What words say otherwise explains; it counts only where the meaning is not measured.
COUNTS = frozenset((
    "standing", "trajectory", "ladder", "query_pattern", "topic_return", "after_refusal", "refusal",
    "compliance",
))  # fmt: skip
ASKS = ("standing", "ladder", "request", "split_request", "disguise")  # signals that harm is asked for
WITHOUT_ASK = 0.49  # the most that a conversation reaches, below SUSPECT, where no turn asks for harm
STARTED, NEWEST = 3, 30  # turns of a session's start, and those after it that count


def evidence_of(view: View, request: Request, level: float, signals: dict[str, Signal]) -> tuple[str, ...]:
    """The names in `accumulation.RATIOS` of the evidence in a turn."""
    here = {
        "calm": level < 0.05,
        "learns": view.has("learn") and request.frame < 1,
        "at work": view.has("profession"),
        "explores": view.is_question and not view.has("doing", "exact") and 0.05 <= level < 0.25,
        "touches danger": level >= 0.15,
        "asks for harm": request.direct >= 0.42,
        "avoids notice": request.evades > 0,
        "comes back after refusal": signals["after_refusal"].adds >= 0.2,
        "drops the rules": view.has("override"),
        "hides words": bool(view.disguise.kinds) and request.hazard > 0.1,
        "climbs": signals["ladder"].adds >= 0.2 or signals["query_pattern"].adds >= 0.2,
    }
    return tuple(name for name, holds in here.items() if holds)


def step_of(before: Ladder, after: Ladder, view: View, changed: bool, returned: bool) -> str:
    """The name in `accumulation.GOAL_RATIOS` of what a turn says about a single goal."""
    if returned:
        return "returns"
    if after.rank > before.rank >= 1 and after.idle == 0 and not changed:
        return "deeper"
    if changed:
        return "another thing"
    return "same thing" if view.own or view.has("exact", "doing") else "chat"


def mode_of(risk: float, before: Mode = Mode.SAFE) -> Mode:
    """The mode for a risk after another mode; more risk never gives a lower mode.

    >>> mode_of(0.47), mode_of(0.47, Mode.SUSPECT).name, mode_of(0.44, Mode.SUSPECT).name
    (<Mode.ELEVATED: 2>, 'SUSPECT', 'ELEVATED')
    """
    reached = max(mode for mode in Mode if risk >= FLOORS[mode])
    held = max(
        (mode for mode in Mode if mode <= before and risk >= FLOORS[mode] - HYSTERESIS), default=Mode.SAFE
    )
    return max(reached, held)


def together(parts: Iterable[float]) -> float:
    """Signals combined, 0..1: the strongest counts whole, each further one half of the one before.

    Signals overlap (a risky word makes several of them), so they are not independent.

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


def settle(
    state: State,
    role: str,
    at: float | None,
    signals: tuple[Signal, ...],
    holds: float,
    tuning: Tuning,
    least: float = 0.0,
) -> tuple[State, Outcome]:
    """Risk and mode from the signals; `holds` is the share left of the risk before, `least` a lower bound."""
    usual, every = dict(state.baselines), not state.stretch.turns
    # `replace` takes four times as long, and there are twenty signals in every turn.
    signals = tuple(
        Signal(
            each.name, each.value, each.reason, each.adds if every or each.name in COUNTS else 0.0,
            each.category, usual.get(each.name, 0.0),
        )
        for each in signals
    )  # fmt: skip
    total = accumulation.accumulated(state.load)
    risk = _risk(state, signals, holds * _pause(state, at, tuning.half_life_s), least, total)
    if all(signal.adds < RISKY for signal in signals if signal.name in ASKS):
        risk = min(risk, max(state.risk, WITHOUT_ASK))
    mode = mode_of(risk, state.mode)
    profile = memory.moded(state.memory.profile, risk, state.mode, mode)
    is_user = role not in ("assistant", "system", "tool")
    adds = tuple((signal.name, signal.adds) for signal in signals if signal.adds > 0)
    changes = _changes(state, signals, risk, dict(state.adds) if is_user else {})
    nearer = {
        signal.name: signal.usual + LEARNS * (signal.value - signal.usual)
        for signal in signals
        if signal.value is not None
    }
    after = replace(
        state,
        last_at=at if at is not None else state.last_at,
        risk=risk,
        mode=mode,
        adds=adds if is_user else state.adds,
        baselines=tuple(sorted((usual | nearer).items())),
        memory=replace(state.memory, profile=profile),
    )
    shares = tuple(zip(INTENTS, after.belief.shares, strict=True))
    return after, Outcome(after.turns, role, risk, total, mode, signals, changes, shares, after.belief.goal)


def _risk(state: State, signals: tuple[Signal, ...], holds: float, least: float, total: float) -> float:
    """The strongest of what is new, what is left, and what is not forgotten.

    Without a signal above its own baseline nothing is new, and the risk cannot rise.
    """
    fresh = together(signal.adds for signal in signals)
    left = state.risk * holds if signals else state.risk
    risk = max(fresh, least, left, min(state.risk, NOT_FORGOTTEN * total))
    is_new = any(signal.value is not None and signal.value > signal.usual + SAME for signal in signals)
    return risk if is_new else min(risk, state.risk)


def _pause(state: State, at: float | None, half_life_s: float) -> float:
    """The share of the risk that a pause leaves."""
    seconds = _seconds(state.last_at, at)
    return 1.0 if seconds is None else math.exp2(-seconds / half_life_s)


def _seconds(before: float | None, at: float | None) -> float | None:
    return None if at is None or before is None else max(0.0, at - before)


def _changes(
    state: State, signals: tuple[Signal, ...], risk: float, before: dict[str, float]
) -> tuple[Change, ...]:
    """What adds more or less than a turn before, largest first; or that the risk fades."""
    here = {signal.name: signal for signal in signals}
    changes = [
        Change(name, by, here[name].reason if name in here else "no longer")
        for name in sorted(set(before) | set(here))
        if abs(by := (here[name].adds if name in here else 0.0) - before.get(name, 0.0)) >= REPORTED
    ]
    if risk - state.risk <= -REPORTED and all(change.by > 0 for change in changes):
        changes.append(Change("calm", risk - state.risk, "nothing new, and what was fades"))
    return tuple(sorted(changes, key=lambda change: (-abs(change.by), change.name)))


def turn(
    state: State,
    text: str,
    role: str,
    at: float | None,
    readings: Readings | None = None,
    tuning: Tuning = PLAIN,
) -> tuple[State, Outcome]:
    """The state after a turn, and its outcome; `at` is in seconds, None where not known."""
    if role in ("system", "tool"):
        return settle(replace(state, turns=state.turns + 1), role, at, (), 0.0, tuning)
    if role == "assistant":
        return _assistant(state, text, at, tuning)
    return _user(state, text, role, at, readings or Readings(), tuning)


def _user(
    state: State, text: str, role: str, at: float | None, readings: Readings, tuning: Tuning
) -> tuple[State, Outcome]:
    view = look(text)
    wish = request(view, escalation.carried(state.ladder, view))
    changed = memory.is_change(state.memory, view)
    number = state.user_turns + 1
    climbed = escalation.climb(state.ladder, view, wish)
    chains, chain = escalation.follow(state.chains, view, number)
    refused, returned = refusals.reask(state.refused, view, wish, readings.refused)
    direct: tuple[Signal, ...] = (
        keywords(view, wish),
        request_signal(view, wish),
        vehicle(view, wish),
        disguise(view, wish),
        escalation.ladder_signal(climbed, wish),
        escalation.query_signal(chain, wish.frame),
        returned,
        memory.recall(state.memory, view, number),
        resampling(view.about, (item.words for item in state.memory.recent), wish.direct, returned.adds > 0),
        repetition.split_request(state.pieces, view, wish.direct),
    )
    near = measured(readings, view)
    direct = tuning.weighed(direct)
    own = together(item.adds for item in direct)
    level = own
    if near is not None:
        own = max(own, score(near))
        level = max(score(near), together(item.adds for item in direct if item.name in COUNTS))
    seen = evidence_of(view, wish, level, {item.name: item for item in direct})
    has_returned = returned.adds > 0
    step = step_of(state.ladder, climbed, view, changed, has_returned)
    belief = accumulation.update(state.belief, seen, step)
    gap, since = _seconds(state.last_at, at), _seconds(state.last_user_at, at)
    strategic = changed and any(item.name == "topic_return" and item.adds > 0 for item in direct)
    manner = accumulation.observe(state.manner, view, len(text), gap, changed, strategic)
    # A greeting or a word of thanks is no turn to set against what is asked.
    idle = near is not None and near < 0 and not view.about
    stretch = state.stretch if near is None or idle else stretch_add(state.stretch, near)
    meant = tuning.weighed(by_meaning(readings, view, stretch))
    load = accumulation.add(state.load, level, since, tuning.half_life_s)
    levels = (*state.levels, level)[-LEVELS:]
    profile = memory.profiled(state.memory.profile, view, wish, changed, has_returned)
    # A climb before does not make small talk after it a risky topic.
    climbs = escalation.takes_part(state.ladder, climbed, view)
    asked = together(item.adds for item in direct if climbs or item.name != "ladder")
    asked = asked if near is None else max(asked, score(near))
    remembered = memory.remember(state.memory, view, role, own, number, changed, asked)
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
        asked=refusals.last_request(view, climbed, max(wish.direct, level)),
        pieces=repetition.keep(state.pieces, view, wish.direct),
        belief=belief,
        manner=manner,
        memory=replace(remembered, profile=profile),
        stretch=stretch,
    )
    over_time = (
        trajectory(levels),
        accumulation.accumulation(load, state.load),
        accumulation.intent(belief, seen),
        *accumulation.behaviour(manner),
    )
    signals = (*direct, *meant, *tuning.weighed(over_time))
    # The risk does not fall after a turn as risky as the one before.
    as_risky = level >= RISKY and bool(state.levels) and level >= state.levels[-1] - SAME
    least = escalation.lifted(climbed, state.ladder, state.risk)
    settled, outcome = settle(after, role, at, signals, 1.0 if as_risky else HOLDS, tuning, least)
    return settled, replace(
        outcome,
        # The differences between calm turns say nothing.
        own=own if own >= NOTICED else 0.0,
        severity=wish.hazard,
        topic=chain.topic[0] if chain is not None and chain.topic else None,
        stage=None if chain is None else escalation.stage_of(view.text),
        not_measured=None if view.is_english or near is not None else not_understood(view.language),
    )


def not_understood(language: str | None) -> str:
    """Why a turn in another language is not measured.

    >>> not_understood("fr"), not_understood("unknown")
    ('its language (fr) is not understood', 'its language is not understood')
    """
    return f"its language{'' if language == UNKNOWN else f' ({language})'} is not understood"


def _assistant(state: State, text: str, at: float | None, tuning: Tuning) -> tuple[State, Outcome]:
    reply = read_reply(text)
    refused = refusals.refuse(state.refused, state.asked, reply)
    profile = replace(state.memory.profile, refusals=state.memory.profile.refusals + (reply.refuses >= 0.4))
    after = replace(
        state, turns=state.turns + 1, refused=refused, memory=replace(state.memory, profile=profile)
    )
    text = "does not refuse"
    if reply.refuses >= 0.4:
        text = "refuses" if reply.refuses >= 0.8 else "advises against it"
    refusal = Signal("refusal", reply.refuses, text, refusals.weight_of(reply, profile.refusals))
    gave = reply.gives * min(1.0, 2 * state.asked.direct) * (1.0 if reply.refuses < 0.8 else 0.5)
    compliance = quiet("compliance", "gives nothing risky away")
    if gave >= 0.1:
        partial = "refuses and gives steps all the same"
        text = partial if reply.is_partial else "gives steps or amounts for a risky request"
        compliance = Signal("compliance", gave, text, 0.4 * gave)
    return settle(after, "assistant", at, tuning.weighed((refusal, compliance)), HOLDS**0.25, tuning)


def context_coherence(current: str, history: Sequence[str]) -> float:
    """How far a turn has drifted towards harm since the session's start, 0..1, at once or step by step.

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
