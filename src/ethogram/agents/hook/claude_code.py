"""Claude Code's hook protocol: one payload in, the response out."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ... import registry
from ...files import sqlite
from ...language.program import Program
from ...models.event import Event
from ...models.slotted import replace
from ...signals.agent.step import argument_text, read_step
from ...signals.options import Options
from ..interventions import SETTLE_STEPS, is_exhausted, situation_of
from ..messages import KINDS, PREFIX, QUOTES, call_digest, quote, shorten, user_message
from ..monitor import measurer_of, observe, start
from ..payload import call_event, condensation_event, message_event, result_event, subject_of, text_at
from ..protected_paths import monitoring_change, paths_to_ask
from ..status import SIGNALS, Advice, Observed, Plan, Rules, Settled, State, Watched, digest
from . import state_db
from .location import EVENTS

CONTEXT_EVENTS = ("PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PreToolUse")
"""Events whose response may carry context for the agent. A Stop is never blocked, so no agent can loop."""
MAX_NAMED = 3
MAX_CALLS = 64
MAX_QUESTIONS = 64
MAX_REPEATS = 20

Payload = Mapping[str, Any]
Handled = tuple[State, list[Observed], Advice | None]


def load_plan(data: Mapping[str, Any]) -> Plan:
    """Return the plan in plain data. Only signals of ethogram can be named in it."""
    for name in data["modules"]:
        if not name.startswith(SIGNALS):
            raise ValueError(f"{name!r:.60} is not a signal module")
        importlib.import_module(name)
    signals = tuple(registry.signals.known(name) for name in data["signals"])
    watched = tuple(
        Watched(Program.from_json(program), rows, tuple(names), tuple(hashed))
        for program, rows, names, hashed in data["watched"]
    )
    options, rules = Options(**_with_tuples(data["options"])), Rules(**_with_tuples(data["rules"]))
    return Plan(signals, watched, options, rules)


def without_rungs(plan: Plan) -> Plan:
    """Return the plan for a run that another guard advises: only protected paths are asked about."""
    return replace(plan, rules=replace(plan.rules, rungs=()))


def without_folder(plan: Plan) -> Plan:
    """Return the plan for a run of which nobody knows where it was: its paths may lie in another folder."""
    return replace(plan, options=replace(plan.options, cwd=None))


def _with_tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}


def handle(payload: Payload, plan: Plan, db: sqlite3.Connection, now: float) -> dict[str, Any]:
    """Return the response to a payload, and save its effects."""
    name = text_at(payload, "hook_event_name")
    if name not in EVENTS or not plan.rules.has(text_at(payload, "tool_name")):
        return {}
    session = state_db.storable(text_at(payload, "session_id")[:200]) or "session"
    agent = state_db.storable(subject_of(payload))
    at = datetime.fromtimestamp(now, UTC)
    with sqlite.transaction(db):
        state = {**initial_state(), **(state_db.load(db, session, agent) or {})}
        if (call := _call_id(payload)) and state["newest"].get(call) == name:
            return {}  # From a hook that is installed twice, as in the settings and in a plugin.
        state["newest"] = dict([*state["newest"].items(), *([(call, name)] if call else [])][-MAX_CALLS:])
        state, observations, advice = HANDLERS[name](payload, plan, state, at)
        for item in observations:
            for standing in item.standings:
                state_db.save_detection(db, session, agent, now, standing, item.state)
            for settled in item.settled:
                state_db.settle(db, session, agent, settled)
        if name == "SessionEnd":
            state_db.end(db, session)
        if advice is not None:
            state_db.save_advice(db, session, agent, now, advice)
        state_db.save(db, session, agent, now, state)
    return response(name, advice)


def response(event: str, advice: Advice | None) -> dict[str, Any]:
    """Return what to write to standard output for an event; {}: continue."""
    if advice is None or event not in CONTEXT_EVENTS:
        return {}
    reason = advice.person or advice.text
    stop = {"continue": False, "stopReason": reason} if advice.rung == "stop" else {}
    if event == "PreToolUse":
        decision = {"permissionDecision": "deny" if stop else "ask", "permissionDecisionReason": reason}
        return {**stop, "hookSpecificOutput": {"hookEventName": event, **decision}}
    output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": advice.text}}
    return {**output, **({"systemMessage": advice.person} if advice.person else {}), **stop}


def initial_state() -> State:
    """Return the state of a run without events: the monitor's, pending calls, and questions.

    `repeats` are calls to ask about if they recur, `questions` those that were asked and are open, `newest`
    the newest event about each of the newest calls.
    """
    return {**start(), "calls": [], "repeats": [], "questions": {}, "stopping": None, "newest": {}}


def _before(payload: Payload, plan: Plan, state: State, at: datetime) -> Handled:
    """A call is about to run: ask if it touches a protected path or repeats."""
    event, call = call_event(payload, state["n"] + 1, at), _call_id(payload)
    advice = _stop_again(state) or _ask_protected(plan, state, event) or _ask_repeated(plan, state, event)
    observed = observe(plan, state, event)
    state = {**observed.state, "calls": [*state["calls"], call][-MAX_CALLS:]}
    if advice is not None and advice.rung == "stop":
        state["stopping"] = None
    elif advice is not None:
        question = list(advice.keys), advice.pattern, advice.step
        state["questions"] = dict([*state["questions"].items(), (call, question)][-MAX_QUESTIONS:])
        if not advice.keys:
            # One question is enough: if allowed, the next of the same calls is not asked about.
            state["repeats"] = [item for item in state["repeats"] if item[1] != advice.pattern]
            own = {"cause": "asked", "keys": [advice.pattern], "rung": 0, "step": state["steps"], "times": 1}
            state["interventions"] = [*state["interventions"], own]
    return state, [observed], advice


def _after(payload: Payload, plan: Plan, state: State, at: datetime) -> Handled:
    """A call has ended."""
    observations, call = [], _call_id(payload)
    state, settled = _settle_questions(state, call)
    if call not in state["calls"]:
        observations.append(observe(plan, state, call_event(payload, state["n"] + 1, at)))
        state = observations[-1].state
    observed = observe(plan, state, result_event(payload, state["n"] + 1, at))
    observations.append(replace(observed, settled=(*observed.settled, *settled)))
    state, advice = dict(observed.state), observed.advice
    state["calls"] = [item for item in state["calls"] if item != call]
    failed = text_at(payload, "hook_event_name") == "PostToolUseFailure"
    if advice is not None and advice.rung == "stop" and failed:
        # Not every agent obeys it after a failed call, so it is repeated before the next.
        state["stopping"] = [advice.pattern, advice.severity, advice.person]
    if advice is not None and advice.rung == "ask":
        keys = set(advice.keys)
        calls = {item["call"] for item in state["recent"] if {item["key"], item["error_key"]} & keys}
        new = [[item, advice.pattern, list(advice.keys), advice.step] for item in sorted(calls) if item]
        state["repeats"] = [*state["repeats"], *new][-MAX_REPEATS:]
    elif state["recent"] and state["recent"][-1]["progress"]:
        state["repeats"] = []
    return state, observations, advice


def _settle_questions(state: State, call: str) -> tuple[State, list[Settled]]:
    """Settle open questions when a call has ended: its own was allowed, old ones were declined."""
    questions, approved, settled = {}, list(state["approved"]), []
    for name, (keys, pattern, step) in state["questions"].items():
        after = state["steps"] - step
        if name == call:
            approved += keys
            settled.append(Settled(pattern, step, "allowed", 1))
        elif after >= SETTLE_STEPS:
            settled.append(Settled(pattern, step, "declined", after))
        else:
            questions[name] = (keys, pattern, step)
    return {**state, "questions": questions, "approved": approved[-MAX_QUESTIONS:]}, settled


def _message(role: str, field: str) -> Callable[[Payload, Plan, State, datetime], Handled]:
    """A handler of a message. It is never answered, so a message cannot cause a loop."""

    def handler(payload: Payload, plan: Plan, state: State, at: datetime) -> Handled:
        event = message_event(payload, state["n"] + 1, at, role, text_at(payload, field))
        observed = Observed(state) if event is None else observe(plan, state, event)
        return observed.state, [observed], None

    return handler


def _condensation(payload: Payload, plan: Plan, state: State, at: datetime) -> Handled:
    observed = observe(plan, state, condensation_event(payload, state["n"] + 1, at))
    return observed.state, [observed], None


HANDLERS: dict[str, Callable[[Payload, Plan, State, datetime], Handled]] = {
    "PreToolUse": _before,
    "PostToolUse": _after,
    "PostToolUseFailure": _after,
    "UserPromptSubmit": _message("user", "prompt"),
    "PreCompact": _condensation,
    "Stop": _message("assistant", "last_assistant_message"),
    "SubagentStop": _message("assistant", "last_assistant_message"),
    "SessionEnd": lambda payload, plan, state, at: (state, [], None),
}


def _call_id(payload: Payload) -> str:
    return digest(text_at(payload, "tool_use_id")) if text_at(payload, "tool_use_id") else ""


def _stop_again(state: State) -> Advice | None:
    """Stop before a call of a run that was to stop."""
    if not state["stopping"]:
        return None
    pattern, severity, text = state["stopping"]
    return Advice("stop", pattern, severity, text, state["steps"] + 1, text)


def _ask_protected(plan: Plan, state: State, event: Event) -> Advice | None:
    """Ask about a call on a critical or denied path, or on the monitoring; once for each."""
    if plan.rules.critical != "ask" or not (plan.rules.has("scope_creep") and plan.rules.has("ask")):
        return None
    # With a result, the signals measure the call as if it had run.
    tried = Event(event.id, event.at, event.subject, event.seq, event.source, thread=event.thread,
                  kind="action", attributes={**event.attributes, "result": ""})  # fmt: skip
    is_critical = measurer_of(plan, state).measure(tried).readings.get("critical_path") == 1
    step, cwd = read_step(tried), str(event.attributes.get("cwd") or plan.options.cwd or "")
    if step is None:
        return None
    touched = paths_to_ask(step, plan.options, cwd, is_critical_step=is_critical)
    paths = [(path, denied) for path, denied in touched if digest(path) not in state["approved"]][:MAX_NAMED]
    parts, keys = [], [digest(path) for path, _ in paths]
    if paths:
        named = ", ".join(quote(shorten(path, 120)) for path, _ in paths)
        is_single, denied = len(paths) == 1, all(denied for _, denied in paths)
        why = (
            "denied by the settings"
            if denied
            else f"{'a protected path' if is_single else 'protected paths'} {KINDS}"
        )
        parts.append(f"{named} {'is' if is_single else 'are'} {why}.")
    changed = monitoring_change(step)
    # An approval covers the whole call with all its arguments, not the command alone.
    call = digest(f"{step.tool} {argument_text(step.arguments)}")
    if changed is not None and call not in state["approved"]:
        parts.append(f"{quote(shorten(changed, 120))} changes the monitoring of this run.")
        keys.append(call)
    if not parts:
        return None
    text = f"{PREFIX}{' '.join(parts)} Allow it? {QUOTES}"
    return Advice("ask", "scope_creep", "critical", text, state["steps"] + 1, text, tuple(keys))


def _ask_repeated(plan: Plan, state: State, event: Event) -> Advice | None:
    """Ask about a call that was to be asked about if it recurred soon."""
    own = call_digest(event)
    for call, pattern, keys, step in state["repeats"]:
        is_late = state["steps"] - step > plan.rules.cool_down
        if call == own and not is_late and not is_exhausted(state["interventions"], plan.rules):
            text = user_message(situation_of(plan, state, pattern, tuple(keys)))
            return Advice("ask", pattern, "high", text, state["steps"] + 1, text)
    return None
