"""From what was measured of a turn to evidence about intent."""

from __future__ import annotations

from .ladder import Ladder
from .records import Signal
from .request import Request
from .view import View


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
