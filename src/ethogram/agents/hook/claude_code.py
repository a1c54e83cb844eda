"""Claude Code's hook protocol: one payload in, the answer out."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ... import registry
from ...language.program import Program
from ...models.event import Event
from ...models.slotted import replace
from ...signals.agent.step import argument_text, read_step
from ...signals.options import Options
from ..interventions import SETTLES, about_of
from ..messages import PREFIX, QUOTES, call_mark, quoted, shorten, to_person
from ..monitor import measurer_of, observe, start
from ..payload import call_event, condensed_event, result_event, said_event, subject_of, text_at
from ..protected_paths import change_of_watching, paths_to_ask
from ..rules import Rules, is_enough, with_tuples
from ..status import SIGNALS, Advice, Observed, Plan, Settled, State, Watched, digest
from . import state_db
from .location import EVENTS

# The contract: an advice as the coding agent's hook protocol wants it said.
#
# Nothing to say is no output at all. Nothing here can make an agent loop: a Stop is never blocked.

SPEAKS = ("PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreToolUse")
"""Events whose answer may carry context for the agent."""


def answer(event: str, advice: Advice | None) -> dict[str, Any]:
    """What to write to standard output for an event of this name; empty: go on."""
    if advice is None or event not in SPEAKS:
        return {}
    if event == "PreToolUse":
        return _permission(advice)
    record: dict[str, Any] = {
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": advice.text}
    }
    if advice.person:
        record["systemMessage"] = advice.person
    if advice.rung == "stop":
        record |= {"continue": False, "stopReason": advice.person or advice.text}
    return record


def _permission(advice: Advice) -> dict[str, Any]:
    reason = advice.person or advice.text
    if advice.rung != "stop":
        return {"hookSpecificOutput": _decided("ask", reason)}
    return {"continue": False, "stopReason": reason, "hookSpecificOutput": _decided("deny", reason)}


def _decided(decision: str, reason: str) -> dict[str, str]:
    told = {"permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookEventName": "PreToolUse", **told}


# Answering: one payload of a hook in, the answer out, everything remembered in between.

DENIED = ("is denied by the settings", "are denied by the settings")
CRITICAL = (
    "is a path that nobody should touch unasked (secrets, keys, settings, system files)",
    "are paths that nobody should touch unasked (secrets, keys, settings, system files)",
)
MOST_ASKED = 3
MOST_CALLS = 64
MOST_PATHS = 64

Handled = tuple[State, list[Observed], Advice | None]


def plan_of(data: Mapping[str, Any]) -> Plan:
    """The plan that plain data describes. Only our own signals can be named in it."""
    for name in data["modules"]:
        if not name.startswith(SIGNALS):
            raise ValueError(f"{name!r:.60} is no module of signals")
        importlib.import_module(name)
    signals = tuple(registry.signals.known(name) for name in data["signals"])
    watched = tuple(
        Watched(Program.from_json(program), rows, tuple(names), tuple(hashed))
        for program, rows, names, hashed in data["watched"]
    )
    return Plan(
        signals, watched, Options(**with_tuples(data["options"])), Rules(**with_tuples(data["rules"]))
    )


def handle(record: Mapping[str, Any], plan: Plan, db: sqlite3.Connection, now: float) -> dict[str, Any]:
    """What to answer to a payload; what it brings about is kept."""
    name = text_at(record, "hook_event_name")
    if name not in EVENTS or not plan.rules.has(text_at(record, "tool_name")):
        return {}
    session = state_db.storable(text_at(record, "session_id")[:200]) or "session"
    agent = state_db.storable(subject_of(record))
    at = datetime.fromtimestamp(now, UTC)
    with state_db.turn(db):
        state = {**begin(), **(state_db.load(db, session, agent) or {})}
        state, observed, advice = HANDLERS[name](record, plan, state, at)
        for item in observed:
            for standing in item.standings:
                state_db.find(db, session, agent, now, standing, item.state["n"], item.state["steps"])
            for settled in item.settled:
                state_db.settle(db, session, agent, settled)
        if name == "SessionEnd":
            state_db.end(db, session)
        if advice is not None:
            state_db.note(db, session, agent, now, advice)
        state_db.save(db, session, agent, now, state)
    return answer(name, advice)


def begin() -> State:
    """What is known of a run before its first event: also which calls wait, and what was asked about."""
    return {**start(), "calls": [], "asks": [], "asked": {}, "stopping": None}


def _observe(plan: Plan, state: State, event: Event | None) -> Observed:
    return Observed(state) if event is None else observe(plan, state, event)


def before(record: Mapping[str, Any], plan: Plan, state: State, at: datetime) -> Handled:
    """A call is about to be made: ask where it touches what nobody should touch unasked, or repeats."""
    event = call_event(record, state["n"] + 1, at)
    advice = _stopped(state) or _critical(plan, state, event) or _asked(plan, state, event)
    seen = observe(plan, state, event)
    state = {**seen.state, "calls": [*state["calls"], _call(record)][-MOST_CALLS:]}
    if advice is not None and advice.rung == "stop":
        state["stopping"] = None
    elif advice is not None:
        asked = list(advice.keys), advice.pattern, advice.step
        state["asked"] = dict([*state["asked"].items(), (_call(record), asked)][-MOST_PATHS:])
        if not advice.keys:
            # Once is enough: whoever allowed it need not be asked about the next of the same.
            state["asks"] = [item for item in state["asks"] if item[1] != advice.pattern]
            own = {"cause": "asked", "keys": [advice.pattern], "rung": 0, "step": state["steps"], "times": 1}
            state["given"] = [*state["given"], own]
    return state, [seen], advice


def after(record: Mapping[str, Any], plan: Plan, state: State, at: datetime) -> Handled:
    """A call has ended."""
    name, observed = text_at(record, "hook_event_name"), []
    state, settled = _answered(state, _call(record))
    if _call(record) not in state["calls"]:
        observed.append(observe(plan, state, call_event(record, state["n"] + 1, at)))
        state = observed[-1].state
    seen = observe(plan, state, result_event(record, state["n"] + 1, at))
    observed.append(replace(seen, settled=(*seen.settled, *settled)))
    state, advice = dict(seen.state), seen.advice
    state["calls"] = [item for item in state["calls"] if item != _call(record)]
    if advice is not None and advice.rung == "stop" and name == "PostToolUseFailure":
        # After a call that failed, not every agent heeds it; so it is said again before the next.
        state["stopping"] = [advice.pattern, advice.severity, advice.person]
    if advice is not None and advice.rung == "ask":
        own = {
            item["call"] for item in state["recent"] if {item["key"], item["error_key"]} & set(advice.keys)
        }
        new = [[item, advice.pattern, list(advice.keys), advice.step] for item in sorted(own) if item]
        state["asks"] = [*state["asks"], *new][-20:]
    elif state["recent"] and state["recent"][-1]["progress"]:
        # It has found another way.
        state["asks"] = []
    return state, observed, advice


def _answered(state: State, call: str) -> tuple[State, list[Settled]]:
    """What became of questions, now that a call has ended: it was allowed if it was asked about, and what was
    asked about and not done for a while was not."""
    asked, approved, settled = {}, list(state["approved"]), []
    for name, (keys, pattern, step) in state["asked"].items():
        if name == call:
            approved += keys
            settled.append(Settled(pattern, step, "allowed", 1))
        elif state["steps"] - step >= SETTLES:
            settled.append(Settled(pattern, step, "declined", state["steps"] - step))
        else:
            asked[name] = (keys, pattern, step)
    return {**state, "asked": asked, "approved": approved[-MOST_PATHS:]}, settled


def prompted(record: Mapping[str, Any], plan: Plan, state: State, at: datetime) -> Handled:
    """The person says something."""
    seen = _observe(plan, state, said_event(record, state["n"] + 1, at, "user", text_at(record, "prompt")))
    return seen.state, [seen], None


def condensed(record: Mapping[str, Any], plan: Plan, state: State, at: datetime) -> Handled:
    """The agent's memory is condensed."""
    seen = observe(plan, state, condensed_event(record, state["n"] + 1, at))
    return seen.state, [seen], None


def stopped(record: Mapping[str, Any], plan: Plan, state: State, at: datetime) -> Handled:
    """The agent has said what it had to say. That is never answered, so it cannot go round in circles."""
    words = text_at(record, "last_assistant_message")
    seen = _observe(plan, state, said_event(record, state["n"] + 1, at, "assistant", words))
    return seen.state, [seen], None


def ended(record: Mapping[str, Any], plan: Plan, state: State, at: datetime) -> Handled:
    """The session is over."""
    return state, [], None


HANDLERS: dict[str, Callable[[Mapping[str, Any], Plan, State, datetime], Handled]] = {
    "PreToolUse": before,
    "PostToolUse": after,
    "PostToolUseFailure": after,
    "UserPromptSubmit": prompted,
    "PreCompact": condensed,
    "Stop": stopped,
    "SubagentStop": stopped,
    "SessionEnd": ended,
}


def _call(record: Mapping[str, Any]) -> str:
    return digest(text_at(record, "tool_use_id")) if text_at(record, "tool_use_id") else ""


def _critical(plan: Plan, state: State, event: Event) -> Advice | None:
    """What to ask about a call that touches a critical path, or one that is not allowed; once for each."""
    if plan.rules.critical != "ask" or not (plan.rules.has("scope_creep") and plan.rules.has("ask")):
        return None
    done = {**event.attributes, "result": ""}
    tried = Event(event.id, event.at, event.subject, event.seq, event.source, thread=event.thread,
                  kind="action", attributes=done)  # fmt: skip
    readings = measurer_of(plan, state).measure(tried).readings
    step, cwd = read_step(tried), str(event.attributes.get("cwd") or plan.options.cwd or "")
    is_critical = readings.get("critical_path") == 1
    if step is None:
        return None
    found = [
        (path, denied)
        for path, denied in paths_to_ask(step, plan.options, cwd, is_critical_step=is_critical)
        if digest(path) not in state["approved"]
    ][:MOST_ASKED]
    parts, keys = [], [digest(path) for path, _ in found]
    if found:
        paths = ", ".join(quoted(shorten(path, 120)) for path, _ in found)
        why = DENIED if all(denied for _, denied in found) else CRITICAL
        parts.append(f"{paths} {why[len(found) > 1]}.")
    changed = change_of_watching(step)
    # Not the command alone is allowed but the whole call, with all it is given.
    call = digest(f"{step.tool} {argument_text(step.arguments, frozenset())}")
    if changed is not None and call not in state["approved"]:
        parts.append(f"{quoted(shorten(changed, 120))} changes what watches this run.")
        keys.append(call)
    if not parts:
        return None
    text = f"{PREFIX}{' '.join(parts)} Allow it? {QUOTES}"
    return Advice("ask", "scope_creep", "critical", text, state["steps"] + 1, text, tuple(keys))


def _stopped(state: State) -> Advice | None:
    """What to say before a call of a run that was to stop."""
    if not state["stopping"]:
        return None
    pattern, severity, text = state["stopping"]
    return Advice("stop", pattern, severity, text, state["steps"] + 1, text)


def _asked(plan: Plan, state: State, event: Event) -> Advice | None:
    """What to ask about a call that was to be asked about if it came again soon."""
    mark = call_mark(event)
    for call, pattern, keys, step in state["asks"]:
        is_late = state["steps"] - step > plan.rules.cool_down or is_enough(state["given"], plan.rules)
        if call == mark and not is_late:
            text = to_person(about_of(plan, state, pattern, tuple(keys)))
            return Advice("ask", pattern, "high", text, state["steps"] + 1, text)
    return None
