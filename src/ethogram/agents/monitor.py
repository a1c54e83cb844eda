"""The core: one event of a run in, what is known of the run and what to say about it out.

State in and state out; the same for the hook's process and for a guard inside one.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..models.event import Event, Value
from ..models.timestamps import micros
from ..signals.agent.errors import NOT_ITS_OWN
from ..signals.agent.step import read_step
from ..signals.measurer import Measurer
from .interventions import advise, settle
from .messages import goal_of, recent_steps, without_secrets
from .status import Observed, Plan, State, stand


def start() -> State:
    """Of a run nothing is known of yet."""
    return {"n": 0, "steps": 0, "signals": None, "programs": {}, "recent": [], "given": [], "pending": [],
            "goal": "", "used": [], "approved": []}  # fmt: skip


def observe(plan: Plan, state: State, event: Event, measurer: Measurer | None = None) -> Observed:
    """What is known after an event, and what to say about it.

    A measurer that goes on from event to event need not be made of the state and put back into it each time.
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
    if event.kind == "message" and event.attributes.get("role") == "user":
        # What a person asks for is no repetition of what was done before.
        state["recent"] = []
    is_step, is_talk = _is_step(event, readings), "talk_key" in readings
    if not is_step and not is_talk:
        return Observed(state, tuple(standings), readings=readings)
    state["steps"] += is_step
    cwd = str(event.attributes.get("cwd") or plan.options.cwd or "")
    state["recent"] = recent_steps(state, event, readings, state["steps"], cwd)
    state["used"] = sorted({*state["used"], *state["recent"][-1]["operations"]})
    state, settled = settle(state, standings)
    state, advice = advise(plan, state, standings)
    return Observed(state, tuple(standings), advice, settled, readings)


def _is_step(event: Event, readings: Mapping[str, Value]) -> bool:
    """Whether something was done: a call whose result is yet to come was not, nor one that was refused."""
    step = read_step(event)
    if step is None or not step.is_outcome or "step_key" not in readings:
        return False
    return not (step.error and NOT_ITS_OWN.search(step.error))


def measurer_of(plan: Plan, state: State) -> Measurer:
    """What measures the events of a run, with all that it remembers of it."""
    measurer = Measurer.of(plan.signals, plan.options)
    if state["signals"] is not None:
        measurer.load(state["signals"])
    return measurer
