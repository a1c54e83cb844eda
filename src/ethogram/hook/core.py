"""The core: one event of a run in, what is known of the run and what to say about it out.

State in and state out; the same for the hook's process and for a guard inside one.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..records.event import Event, Value
from ..records.times import micros
from ..signals.measure import Measurer
from ..signals.steps.step import read_step
from .advise import advise, settle
from .plan_records import Observed, Plan, State
from .remember import goal_of, recent_steps, without_secrets
from .standing import stand


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
    for one in plan.watched:
        name = one.program.name
        saved, standing = stand(one, programs.get(name), readings, us, number)
        if saved is not None:
            programs[name] = saved
        if standing is not None:
            standings.append(standing)
    state = {**state, "n": number, "programs": programs}
    if measurer is None:
        state["signals"] = without_secrets(own.save(), state["signals"])
    state["goal"] = state["goal"] or goal_of(plan, event)
    if not _is_step(event, readings):
        return Observed(state, tuple(standings), readings=readings)
    state |= {"steps": state["steps"] + 1, "recent": recent_steps(state, event, readings)}
    state["used"] = sorted({*state["used"], *state["recent"][-1]["operations"]})
    state, settled = settle(state, standings)
    state, advice = advise(plan, state, standings)
    return Observed(state, tuple(standings), advice, settled, readings)


def _is_step(event: Event, readings: Mapping[str, Value]) -> bool:
    """Whether something was done or said; a call whose result is yet to come has not been done."""
    step = read_step(event)
    return ("step_key" in readings and step is not None and step.is_outcome) or "talk_key" in readings


def measurer_of(plan: Plan, state: State) -> Measurer:
    """What measures the events of a run, with all that it remembers of it."""
    measurer = Measurer.of(plan.signals, plan.options)
    if state["signals"] is not None:
        measurer.load(state["signals"])
    return measurer
