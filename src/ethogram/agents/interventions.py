"""Advising: whether something is to be said at a step, about what, and what came of what was said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..models.severity import rank
from ..models.slotted import replace
from .messages import FEWEST, About, said, to_person
from .rules import Given, climb, is_same
from .status import Advice, Plan, Settled, Standing, State

SCOPE = "scope"
"""The cause of patterns about paths, which are gone to step by step, whether or not that gets anywhere."""
SETTLES = 5
"""Steps after which a thing that has not come again is taken to have stopped."""
MOST_PENDING = 16


def advise(plan: Plan, state: State, standings: Sequence[Standing]) -> tuple[State, Advice | None]:
    """What to say at this step, about the gravest of what goes on; None where there is nothing to say."""
    loud = [standing for standing in standings if _is_due(plan, state, standing)]
    for item in sorted(loud, key=lambda item: -rank(item.severity)):
        keys = keys_of(plan, item.pattern, state["recent"])
        if keys is None:
            continue
        cause = plan.program(item.pattern).cause or item.pattern
        given, rung = climb(state["given"], cause, keys, state["steps"], plan.rules)
        if rung is None:
            continue
        about = replace(about_of(plan, state, item.pattern, keys), is_first=_is_first(given, cause, keys))
        person = to_person(about) if rung in ("ask", "stop") else ""
        advice = Advice(rung, item.pattern, item.severity, said(rung, about), state["steps"], person, keys)
        pending = [*state["pending"], _pending(advice, is_scope=about.is_scope)][-MOST_PENDING:]
        return {**state, "given": given, "pending": pending}, advice
    return state, None


def _is_first(givens: Sequence[Given], cause: str, keys: Sequence[str]) -> bool:
    """Whether what was just added is the first word about a thing."""
    return all(item["times"] == 1 for item in givens if is_same(item, cause, keys))


def _is_due(plan: Plan, state: State, standing: Standing) -> bool:
    """Whether a thing goes on at this very step, gravely enough, and is somebody's to hear of."""
    now = state["recent"][-1]
    if standing.change == "closed" or not standing.holds or rank(standing.severity) < rank(plan.rules.lowest):
        return False
    if plan.program(standing.pattern).cause == SCOPE:
        return now["outside"] and now["path_key"] not in state["approved"]
    return not now["progress"]


def about_of(plan: Plan, state: State, pattern: str, keys: tuple[str, ...]) -> About:
    """What there is to say about a pattern as things stand."""
    program, options = plan.program(pattern), plan.options
    return About(
        pattern=pattern,
        title=program.title,
        recommendation=program.recommendation,
        keys=keys,
        recent=state["recent"],
        goal=state["goal"],
        allow=options.allow,
        deny=options.deny,
        used=tuple(state["used"]),
        is_scope=program.cause == SCOPE,
    )


def keys_of(plan: Plan, pattern: str, recent: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """What a thing is known by: the error met now and the steps of the circle that this step closes.

    Empty where the pattern is about something else; None where this step does not repeat anything, so that
    there is nothing to say at it.
    """
    names, now = plan.program(pattern).signals, recent[-1]
    if not {"error_key", "step_key", "talk_key"} & set(names):
        return ()
    if "error_key" in names and not now["error_key"]:
        return None
    steps = Counter(item["key"] for item in recent)
    circle = [key for key in dict.fromkeys(_round(recent)) if steps[key] > 1]
    # A long circle is one the second time round.
    repeats = steps[now["key"]] >= (FEWEST if len(circle) < FEWEST else 2)
    errors = [item["error_key"] for item in recent if item["error_key"] and item["key"] in circle]
    keys = [*_repeated_error(recent), *([*circle, *errors] if repeats else [])]
    return tuple(dict.fromkeys(keys))[:8] if keys else None


def _repeated_error(recent: Sequence[Mapping[str, Any]]) -> list[str]:
    """The error met now, if it came often enough: once more where it was another call each time."""
    now = recent[-1]["error_key"]
    own = [item["key"] for item in recent if now and item["error_key"] == now]
    return [now] if len(own) >= FEWEST + (len(set(own)) == len(own)) else []


def _round(recent: Sequence[Mapping[str, Any]]) -> list[str]:
    """The steps from the newest back to the one before that is the same; none where there is none."""
    now = recent[-1]["key"]
    before = next((n for n in range(len(recent) - 2, -1, -1) if recent[n]["key"] == now), None)
    return [] if before is None else [item["key"] for item in reversed(recent[before:])]


def _pending(advice: Advice, *, is_scope: bool) -> dict[str, Any]:
    """What was said, until it is known what comes of it."""
    told = {"pattern": advice.pattern, "keys": list(advice.keys), "step": advice.step}
    return {**told, "scope": is_scope}


def settle(state: State, standings: Sequence[Standing]) -> tuple[State, tuple[Settled, ...]]:
    """What became of what was said before this step."""
    holding = {standing.pattern for standing in standings if standing.holds}
    now, waiting, settled = state["recent"][-1], [], []
    for item in state["pending"]:
        after = state["steps"] - item["step"]
        if _comes_again(item, now, item["pattern"] in holding):
            settled.append(Settled(item["pattern"], item["step"], "went_on", after))
        elif after >= SETTLES:
            settled.append(Settled(item["pattern"], item["step"], "stopped", after))
        else:
            waiting.append(item)
    return {**state, "pending": waiting}, tuple(settled)


def _comes_again(record: Mapping[str, Any], now: Mapping[str, Any], holds: bool) -> bool:
    if record["keys"]:
        return now["error_key"] in record["keys"] or (now["key"] in record["keys"] and not now["progress"])
    # A path outside was gone to once and for all; what matters is whether another is.
    return holds and (not record["scope"] or bool(now["outside"]))
