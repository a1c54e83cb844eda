"""The core: one event of a run in, what is known of the run and what to say about it out.

State in and state out, as plain JSON data of bounded size; the same for the hook's process and for a guard
inside one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..records.event import Event, Value
from ..records.levels import rank
from ..records.mask import mask
from ..records.times import micros
from ..shapes.program import Program
from ..signals.define import Signal
from ..signals.measure import Measurer
from ..signals.options import Options
from ..signals.steps.failure import failure_line
from ..signals.steps.operations import operations_of
from ..signals.steps.step import read_step
from .ladder import Given, Rules, climb
from .nudge import FEWEST, About, said, to_person
from .payload import MARK
from .standing import Standing, Watched, digest, stand

MOST_RECENT = 30
MOST_SHOWN = 120
MOST_SAID = 200
SCOPE = "scope"
"""The cause of patterns about paths, which are gone to step by step, whether or not that gets anywhere."""
SETTLES = 5
"""Steps after which a thing that has not come again is taken to have stopped."""

MOST_PENDING = 16

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is watched: signals and programs, what a task allows, and how the ladder is climbed."""

    signals: tuple[Signal, ...]
    watched: tuple[Watched, ...]
    options: Options
    rules: Rules

    def program(self, pattern: str) -> Program:
        """The program of a pattern that is watched."""
        return next(one.program for one in self.watched if one.program.name == pattern)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a step. `rung` is one of the ladder's; `person` is for the person's eyes."""

    rung: str
    pattern: str
    level: str
    text: str
    step: int
    person: str = ""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of an advice given at a step, and after how many steps that was known.

    went_on: it came again. stopped: it did not for five steps. allowed: a person was asked and it was done.
    """

    pattern: str
    step: int
    effect: str
    after: int


@dataclass(frozen=True, slots=True)
class Observed:
    """What one event brought about."""

    state: State
    standings: tuple[Standing, ...] = ()
    advice: Advice | None = None
    settled: tuple[Settled, ...] = ()
    readings: Mapping[str, Value] = field(default_factory=dict)


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
        state["signals"] = _without_secrets(own.save(), state["signals"])
    state["goal"] = state["goal"] or _goal(plan, event)
    if not _is_step(event, readings):
        return Observed(state, tuple(standings), readings=readings)
    state |= {"steps": state["steps"] + 1, "recent": _recent(state, event, readings)}
    state["used"] = sorted({*state["used"], *state["recent"][-1]["operations"]})
    state, settled = _settle(state, standings)
    state, advice = _advise(plan, state, standings)
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


# What is remembered of a step.


def _recent(state: State, event: Event, readings: Mapping[str, Value]) -> list[dict[str, Any]]:
    step, error = read_step(event), str(readings.get("error_key", ""))
    key = str(readings.get("step_key", readings.get("talk_key", "")))
    operation, path = str(readings.get("operation", "")), str(readings.get("touched_path", ""))
    # As it was written: the key has numbers and paths taken out.
    line = failure_line(step, operation) if step is not None and error else None
    one = {
        "n": state["steps"] + 1,
        "key": digest(key),
        "call": "" if step is None else call_mark(event),
        "tool": "" if step is None else shorten(step.tool, 60),
        "shown": shorten(_shown(event, key), MOST_SHOWN),
        "operations": [] if step is None else list(operations_of(step)),
        "error": shorten(line or error, MOST_SAID) if error else "",
        "error_key": digest(error) if error else "",
        "path": shorten(path, MOST_SHOWN),
        "path_key": digest(path) if path else "",
        "progress": readings.get("progress") == 1,
        "outside": readings.get("out_of_scope") == 1 or readings.get("critical_path") == 1,
    }
    return [*state["recent"], one][-MOST_RECENT:]


def _shown(event: Event, key: str) -> str:
    """What a step does, in its own words where its result tells them, else as its key does."""
    step = read_step(event)
    said = "" if step is None else step.command or step.path
    if step is None or not said:
        return key.rpartition(" #")[0] or key
    return said if said.startswith(f"{step.tool} ") else f"{step.tool}: {said}"


def call_mark(event: Event) -> str:
    """A digest of what a step does, known before it is done."""
    mark = event.attributes.get(MARK)
    return mark if isinstance(mark, str) else ""


def shorten(text: str, most: int) -> str:
    """One line, masked, in at most so many characters.

    >>> shorten("curl  -H 'Authorization: Bearer abcdefghijklmnop1234'", 80)
    "curl -H 'Authorization: Bearer [secret]'"
    """
    shown = " ".join(mask(text).split())
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _goal(plan: Plan, event: Event) -> str:
    if plan.options.goal:
        return shorten(plan.options.goal, MOST_SAID)
    is_person = event.kind == "message" and event.attributes.get("role") == "user"
    return shorten(event.text or "", MOST_SAID) if is_person else ""


def _without_secrets(saved: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """What signals remember, with every text masked: it may hold a part of a command. Whose it is stays.

    What was there before is masked already, and marks of at most 16 letters and digits are digests.
    """
    known = {text for one in before["states"] for text in _texts(one[3])} if before else set()

    def masked(one: Any) -> Any:
        if isinstance(one, str):
            is_mark = len(one) <= 16 and one.isalnum()
            return one if is_mark or one in known else mask(one)
        if isinstance(one, list | tuple):
            return [masked(part) for part in one]
        return {name: masked(part) for name, part in one.items()} if isinstance(one, dict) else one

    return {**saved, "states": [[*one[:3], masked(one[3])] for one in saved["states"]]}


def _texts(saved: Any) -> Iterator[str]:
    if isinstance(saved, str):
        yield saved
    elif isinstance(saved, list | tuple | dict):
        for one in saved.values() if isinstance(saved, dict) else saved:
            yield from _texts(one)


# What is said about it.


def _advise(plan: Plan, state: State, standings: Sequence[Standing]) -> tuple[State, Advice | None]:
    loud = [one for one in standings if _is_due(plan, state, one)]
    for one in sorted(loud, key=lambda one: -rank(one.level)):
        keys = keys_of(plan, one.pattern, state["recent"])
        if keys is None:
            continue
        cause = plan.program(one.pattern).cause or one.pattern
        given, rung = climb(state["given"], cause, keys, state["steps"], plan.rules)
        if rung is None:
            continue
        about = about_of(plan, state, one.pattern, keys)
        person = to_person(about) if rung in ("ask", "stop") else ""
        advice = Advice(rung, one.pattern, one.level, said(rung, about), state["steps"], person, keys)
        return {**state, "given": given, "pending": _pending(state, advice)}, advice
    return state, None


def _is_due(plan: Plan, state: State, one: Standing) -> bool:
    """Whether a thing goes on at this very step, gravely enough, and is somebody's to hear of."""
    now = state["recent"][-1]
    if one.change == "closed" or not one.holds or rank(one.level) < rank(plan.rules.lowest):
        return False
    if plan.program(one.pattern).cause == SCOPE:
        return now["outside"] and now["path_key"] not in state["approved"]
    return not now["progress"]


def about_of(plan: Plan, state: State, pattern: str, keys: tuple[str, ...]) -> About:
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
    steps = Counter(one["key"] for one in recent)
    circle = [key for key in dict.fromkeys(_round(recent)) if steps[key] > 1]
    # A long circle is one the second time round.
    repeats = steps[now["key"]] >= (FEWEST if len(circle) < FEWEST else 2)
    errors = [one["error_key"] for one in recent if one["error_key"] and one["key"] in circle]
    keys = [*_repeated_error(recent), *([*circle, *errors] if repeats else [])]
    return tuple(dict.fromkeys(keys))[:8] if keys else None


def _repeated_error(recent: Sequence[Mapping[str, Any]]) -> list[str]:
    """The error met now, if it came often enough: once more where it was another call each time."""
    now = recent[-1]["error_key"]
    own = [one["key"] for one in recent if now and one["error_key"] == now]
    return [now] if len(own) >= FEWEST + (len(set(own)) == len(own)) else []


def _round(recent: Sequence[Mapping[str, Any]]) -> list[str]:
    """The steps from the newest back to the one before that is the same; none where there is none."""
    now = recent[-1]["key"]
    before = next((n for n in range(len(recent) - 2, -1, -1) if recent[n]["key"] == now), None)
    return [] if before is None else [one["key"] for one in reversed(recent[before:])]


def _pending(state: State, advice: Advice) -> list[Given]:
    own = {"pattern": advice.pattern, "keys": list(advice.keys), "step": advice.step}
    return [*state["pending"], own][-MOST_PENDING:]


def _settle(state: State, standings: Sequence[Standing]) -> tuple[State, tuple[Settled, ...]]:
    """What became of what was said before this step."""
    holding = {one.pattern for one in standings if one.holds}
    now, waiting, settled = state["recent"][-1], [], []
    for one in state["pending"]:
        after = state["steps"] - one["step"]
        if _comes_again(one, now, one["pattern"] in holding):
            settled.append(Settled(one["pattern"], one["step"], "went_on", after))
        elif after >= SETTLES:
            settled.append(Settled(one["pattern"], one["step"], "stopped", after))
        else:
            waiting.append(one)
    return {**state, "pending": waiting}, tuple(settled)


def _comes_again(one: Mapping[str, Any], now: Mapping[str, Any], holds: bool) -> bool:
    if one["keys"]:
        return now["error_key"] in one["keys"] or (now["key"] in one["keys"] and not now["progress"])
    return holds
