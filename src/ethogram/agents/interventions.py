"""Interventions: whether to say something at a step, about what, and what came of earlier messages.

nudge    a sentence for the agent: what repeats, how often, what has not been tried
remind   the goal and the scope, in the user's words
ask      the user is told, and asked before the agent does it again
stop     the run ends; only if the settings include it
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..models.severity import rank
from .messages import MIN_ERRORS, Situation, agent_message, user_message
from .status import Advice, Plan, Rules, Settled, Standing, State

SCOPE = "scope"
"""The cause of patterns about paths: every such step counts, whether or not it makes progress."""
CRITICAL_PATH = "critical path"
"""The cause of interventions about critical paths, each of which is a thing of its own."""
SETTLE_STEPS = 5
"""Steps after which something that has not recurred counts as stopped."""
MAX_PENDING = 16
MAX_KEYS = 12
MAX_SITUATION_KEYS = 8
MAX_CRITICAL = 64
"""Interventions about critical paths that are remembered."""

REJECTED = "rejected"
"""The key of interventions about outputs that were rejected for their form."""

Intervention = dict[str, Any]
"""What was said about one thing: its cause and keys, its rung (a number), the step and how many times."""


def next_rung(
    interventions: Sequence[Intervention],
    cause: str,
    keys: Sequence[str],
    step: int,
    rules: Rules,
    *,
    is_critical: bool = False,
) -> tuple[list[Intervention], str | None]:
    """Return the interventions by now, and the rung to take at this step about something; or None.

    The same cause with a common key is the same thing, also for two patterns. It is mentioned again only
    after the cool-down, one rung higher; above the top rung nothing is said. Nothing is said within half
    the cool-down of anything else unless it is critical; the number allowed does not hold for critical paths.
    """
    rungs, pause = rules.active_rungs, (rules.cool_down + 1) // 2
    interventions = list(interventions)
    is_soon = not is_critical and any(step - item["step"] < pause for item in interventions)
    is_over = cause != CRITICAL_PATH and is_exhausted(interventions, rules)
    if not rungs or is_soon or is_over:
        return interventions, None
    # What looked like two things before may turn out to be one.
    same = [item for item in interventions if is_same(item, cause, keys)]
    rung = 1 + max((item["rung"] for item in same), default=-1)
    if rung >= len(rungs) or any(step - item["step"] < rules.cool_down for item in same):
        return interventions, None
    all_keys = dict.fromkeys([*keys, *(key for item in same for key in item["keys"])])
    times = 1 + sum(item["times"] for item in same)
    own = {"cause": cause, "keys": list(all_keys)[:MAX_KEYS], "rung": rung, "step": step, "times": times}
    return [*(item for item in interventions if item not in same), own], rungs[rung]


def is_exhausted(interventions: Sequence[Intervention], rules: Rules) -> bool:
    """Return whether a run has been interrupted as often as allowed, critical paths apart."""
    return sum(int(item["times"]) for item in interventions if item["cause"] != CRITICAL_PATH) >= rules.most


def is_same(item: Intervention, cause: str, keys: Sequence[str]) -> bool:
    """Return whether an intervention was about this; without keys on either side the cause decides."""
    if item["cause"] != cause:
        return False
    return not keys or not item["keys"] or not set(keys).isdisjoint(item["keys"])


def advise(plan: Plan, state: State, standings: Sequence[Standing]) -> tuple[State, Advice | None]:
    """Return what to say at this step about the most severe pattern; None where nothing is due."""
    due = [standing for standing in standings if _is_due(plan, state, standing)]
    for item in sorted(due, key=lambda standing: -rank(standing.severity)):
        keys = keys_of(plan, item.pattern, state["recent"])
        if keys is None:
            continue
        cause, about = plan.program(item.pattern).cause or item.pattern, keys
        paths = _new_critical_paths(state) if cause == SCOPE else {}
        if paths:
            cause, about = CRITICAL_PATH, tuple(paths)
        is_critical = bool(paths) or (cause != SCOPE and item.severity_now == "critical")
        interventions, rung = next_rung(
            state["interventions"], cause, about, state["steps"], plan.rules, is_critical=is_critical
        )
        if rung is None:
            continue
        is_first = all(other["times"] == 1 for other in interventions if is_same(other, cause, about))
        situation = situation_of(
            plan, state, item.pattern, keys, critical=tuple(paths.values()), is_first=is_first
        )
        person = user_message(situation) if rung in ("ask", "stop") else ""
        text = agent_message(rung, situation)
        advice = Advice(rung, item.pattern, item.severity, text, state["steps"], person, keys)
        own = {"pattern": item.pattern, "keys": list(keys), "step": advice.step, "scope": situation.is_scope}
        pending = [*state["pending"], own][-MAX_PENDING:]
        return {**state, "interventions": _trimmed(interventions), "pending": pending}, advice
    return state, None


def _unapproved_critical_paths(state: State) -> dict[str, str]:
    """The critical paths of this step that nobody has allowed, by digest."""
    paths: dict[str, str] = state["recent"][-1].get("critical", {})
    return {key: path for key, path in paths.items() if key not in state["approved"]}


def _new_critical_paths(state: State) -> dict[str, str]:
    """Those of this step that nothing was said about yet; all of them where something was about each."""
    paths = _unapproved_critical_paths(state)
    known = {key for item in state["interventions"] if item["cause"] == CRITICAL_PATH for key in item["keys"]}
    return {key: path for key, path in paths.items() if key not in known} or paths


def _trimmed(interventions: Sequence[Intervention]) -> list[Intervention]:
    """Interventions without the oldest ones about critical paths: there is no other limit to their number."""
    critical = [item for item in interventions if item["cause"] == CRITICAL_PATH]
    old = critical[:-MAX_CRITICAL]
    return [item for item in interventions if item not in old]


def _is_due(plan: Plan, state: State, standing: Standing) -> bool:
    """Whether a pattern holds at this very step, is severe enough, and something can be said about it."""
    now = state["recent"][-1]
    if standing.change == "closed" or not standing.holds or rank(standing.severity) < rank(plan.rules.lowest):
        return False
    if plan.program(standing.pattern).cause == SCOPE:
        if now.get("critical"):
            return bool(_unapproved_critical_paths(state))
        return now["outside"] and now["path_key"] not in state["approved"]
    return not now["progress"]


def situation_of(
    plan: Plan,
    state: State,
    pattern: str,
    keys: tuple[str, ...],
    *,
    critical: tuple[str, ...] = (),
    is_first: bool = False,
) -> Situation:
    """Return what a message about a pattern is made from."""
    program, options = plan.program(pattern), plan.options
    return Situation(
        title=program.title,
        recommendation=program.recommendation,
        keys=keys,
        recent=state["recent"],
        goal=state["goal"],
        allow=options.allow,
        deny=options.deny,
        used=tuple(state["used"]),
        is_scope=program.cause == SCOPE,
        critical=critical,
        is_first=is_first,
    )


def keys_of(plan: Plan, pattern: str, recent: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """Return the error met now and the steps of the loop that this step closes.

    () where the pattern is about something else; None where this step does not repeat anything.
    """
    names, now = plan.program(pattern).signals, recent[-1]
    if not {"error_key", "step_key", "talk_key"} & set(names):
        return ()
    if now.get("complaint"):
        # Rejected outputs need not be equal, and nothing need have been called.
        return (REJECTED,) if "complaint_key" in names else None
    if "error_key" in names and not now["error_key"]:
        return None
    counts = Counter(item["key"] for item in recent)
    loop = [key for key in dict.fromkeys(_loop(recent)) if counts[key] > 1]
    # A long loop is one already the second time round.
    repeats = counts[now["key"]] >= (MIN_ERRORS if len(loop) < MIN_ERRORS else 2)
    errors = [item["error_key"] for item in recent if item["error_key"] and item["key"] in loop]
    keys = [*_repeated_error(recent), *([*loop, *errors] if repeats else [])]
    return tuple(dict.fromkeys(keys))[:MAX_SITUATION_KEYS] if keys else None


def _repeated_error(recent: Sequence[Mapping[str, Any]]) -> list[str]:
    """The error met now, if it came often enough: once more where each call was different."""
    now = recent[-1]["error_key"]
    keys = [item["key"] for item in recent if now and item["error_key"] == now]
    return [now] if len(keys) >= MIN_ERRORS + (len(set(keys)) == len(keys)) else []


def _loop(recent: Sequence[Mapping[str, Any]]) -> list[str]:
    """The steps from the newest back to the previous equal one; [] where there is none."""
    now = recent[-1]["key"]
    before = next((n for n in range(len(recent) - 2, -1, -1) if recent[n]["key"] == now), None)
    return [] if before is None else [item["key"] for item in reversed(recent[before:])]


def settle(state: State, standings: Sequence[Standing]) -> tuple[State, tuple[Settled, ...]]:
    """Return what became of earlier messages by this step."""
    holding = {standing.pattern for standing in standings if standing.holds}
    now, waiting, settled = state["recent"][-1], [], []
    for item in state["pending"]:
        after = state["steps"] - item["step"]
        recurs = _recurs(item, now, item["pattern"] in holding)
        if recurs or after >= SETTLE_STEPS:
            settled.append(Settled(item["pattern"], item["step"], "went_on" if recurs else "stopped", after))
        else:
            waiting.append(item)
    return {**state, "pending": waiting}, tuple(settled)


def _recurs(item: Mapping[str, Any], now: Mapping[str, Any], holds: bool) -> bool:
    if REJECTED in item["keys"]:
        return bool(now.get("complaint"))
    if item["keys"]:
        return now["error_key"] in item["keys"] or (now["key"] in item["keys"] and not now["progress"])
    # A path outside cannot be taken back; what counts is whether another one follows.
    return holds and (not item["scope"] or bool(now["outside"]))
