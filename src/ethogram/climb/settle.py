"""Risk and mode from the signals of a turn, and what changed since the turn before."""

from __future__ import annotations

import math
from dataclasses import replace

from . import accumulation, intent, memory
from .modes import mode_of, together
from .records import Change, Outcome, Signal
from .state import State
from .tuning import Tuning

LEARNS = 0.2
"""How fast each signal's own baseline follows it."""
SAME = 1e-9
NOT_FORGOTTEN = 0.6
"""Share of the accumulated risk below which the risk does not fall."""
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
        Signal(one.name, one.value, one.reason, one.adds, one.category, usual.get(one.name, 0.0))
        for one in signals
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
    shares = tuple(zip(intent.INTENTS, after.belief.shares, strict=True))
    return after, Outcome(after.turns, role, risk, total, mode, signals, changes, shares, after.belief.goal)


def _risk(state: State, signals: tuple[Signal, ...], holds: float, least: float, total: float) -> float:
    """The strongest of what is new, what is left, and what is not forgotten.

    Where no signal is above its own baseline nothing is new, so the risk cannot rise.
    """
    # What stands by meaning holds what the words say already: added to them it would count twice.
    standing = max((one.adds for one in signals if one.name == "standing"), default=0.0)
    fresh = max(standing, together(one.adds for one in signals if one.name != "standing"))
    left = state.risk * holds if signals else state.risk
    risk = max(fresh, least, left, min(state.risk, NOT_FORGOTTEN * total))
    is_new = any(one.value is not None and one.value > one.usual + SAME for one in signals)
    return risk if is_new else min(risk, state.risk)


def _pause(state: State, at: float | None, half_life_s: float) -> float:
    """What a pause leaves of the risk: half of it after the half-life of what adds up."""
    if at is None or state.last_at is None:
        return 1.0
    return math.exp2(-max(0.0, at - state.last_at) / half_life_s)


def _adds(signals: tuple[Signal, ...]) -> tuple[tuple[str, float], ...]:
    return tuple((one.name, one.adds) for one in signals if one.adds > 0)


def _followed(signals: tuple[Signal, ...]) -> dict[str, float]:
    """The baselines a little nearer to this turn's values."""
    return {
        one.name: one.usual + LEARNS * (one.value - one.usual) for one in signals if one.value is not None
    }


def _changes(state: State, signals: tuple[Signal, ...], risk: float, role: str) -> tuple[Change, ...]:
    """What adds more or less than a turn before, the greatest first; or that time has passed."""
    were = dict(state.adds) if role not in ("assistant", "system", "tool") else {}
    here = {one.name: one for one in signals}
    found = [
        Change(name, by, here[name].reason if name in here else "no longer")
        for name in sorted(set(were) | set(here))
        if abs(by := (here[name].adds if name in here else 0.0) - were.get(name, 0.0)) >= WORTH_TELLING
    ]
    if risk - state.risk <= -WORTH_TELLING and all(change.by > 0 for change in found):
        found.append(Change("calm", risk - state.risk, "nothing new, and what was fades"))
    return tuple(sorted(found, key=lambda change: (-abs(change.by), change.name)))
