"""Monitor: one event of a run in, the new state of the run and advice out.

Shared by the hook's process and by RunGuard.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..models.event import Event, Value
from ..models.timestamps import micros
from ..signals.agent.errors import CANCELLED
from ..signals.agent.keys import is_complaint
from ..signals.agent.step import read_step
from ..signals.measurer import Measurer
from .interventions import advise, settle
from .messages import goal_of, recent_steps, without_secrets
from .status import Observed, Plan, State, stand


def start() -> State:
    """Return the state of a run without events."""
    return {"n": 0, "steps": 0, "signals": None, "programs": {}, "recent": [], "interventions": [],
            "pending": [], "goal": "", "used": [], "approved": []}  # fmt: skip


def observe(plan: Plan, state: State, event: Event, measurer: Measurer | None = None) -> Observed:
    """Return the state after an event, and what to say about it.

    A measurer that is reused from event to event need not be rebuilt from the state and saved each time.
    """
    number, us = state["n"] + 1, micros(event.at)
    own = measurer or measurer_of(plan, state)
    readings = own.measure(event).readings
    programs, standings = dict(state["programs"]), []
    for item in plan.watched:
        name = item.program.name
        saved, standing = stand(item, programs.get(name), readings, us, number)
        if saved is not None:
            programs[name] = saved
        if standing is not None:
            standings.append(standing)
    state = {**state, "n": number, "programs": programs}
    if measurer is None:
        state["signals"] = without_secrets(own.save(), state["signals"])
    state["goal"] = state["goal"] or goal_of(plan, event)
    is_user = event.kind == "message" and event.attributes.get("role") == "user"
    if is_user and not is_complaint(event.text or ""):
        # What the user asks for is no repetition of what was done before.
        state["recent"] = []
    is_step = _is_step(event, readings)
    if not is_step and "talk_key" not in readings:
        return Observed(state, tuple(standings))
    state["steps"] += is_step
    state["recent"] = recent_steps(state, event, readings, state["steps"], plan.options)
    state["used"] = sorted({*state["used"], *state["recent"][-1]["operations"]})
    state, settled = settle(state, standings)
    state, advice = advise(plan, state, standings)
    return Observed(state, tuple(standings), advice, settled)


def _is_step(event: Event, readings: Mapping[str, Value]) -> bool:
    """Whether something was done: neither a call without a result yet nor a cancelled one."""
    step = read_step(event)
    if step is None or not step.is_outcome or "step_key" not in readings:
        return False
    return not (step.error and CANCELLED.search(step.error))


def measurer_of(plan: Plan, state: State) -> Measurer:
    """Return a measurer with the state of a run."""
    measurer = Measurer(signals=plan.signals, options=plan.options)
    if state["signals"] is not None:
        measurer.load(state["signals"])
    return measurer
