"""RunGuard: the hook's monitor and interventions inside a program that runs an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import RLock
from typing import Any

from ..app.watch import Watch
from ..config import Settings
from ..errors import BadUsage, did_you_mean
from ..models import Detection, Event
from ..models.constants import MAX_RESULT, RUNGS
from ..patterns.library import Library
from ..signals import Measurer
from .hook.plan import choose, library_of, plan_of
from .monitor import observe, start
from .payload import TOO_DEEP, call_event, response_text, result_event, said_event
from .status import Observed

# What a program gives a guard, checked: what is wrong is said, with what would be right.

DEEPEST = 32


def checked(settings: Any) -> Settings:
    """The settings, or the defaults where none are given."""
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        right = "settings must be Settings, as ethogram.config.load_settings(...).settings gives"
        raise BadUsage(f"{right}; here is {type(settings).__name__}")
    return settings


def checked_rungs(rungs: Any) -> tuple[str, ...]:
    """Rungs of the ladder."""
    right = f"rungs must be a list of some of {', '.join(RUNGS)}, like ['nudge', 'ask']"
    if isinstance(rungs, str) or not isinstance(rungs, Sequence):
        raise BadUsage(f"{right}; here is {rungs!r}")
    for rung in rungs:
        if rung not in RUNGS:
            raise BadUsage(f"{right}; there is no {rung!r}{did_you_mean(str(rung), RUNGS)}")
    return tuple(rungs)


def checked_globs(name: str, value: Any) -> tuple[str, ...]:
    """Globs of paths."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not all(isinstance(item, str) for item in value):
        raise BadUsage(f"{name} must be a list of globs, like ['src/**']; here is {value!r}")
    return tuple(value)


def check_texts(**given: Any) -> None:
    """Refuse what is neither a text nor None."""
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise BadUsage(f"{name} must be a text; here is {type(value).__name__}")


def check_step(tool: Any, arguments: Any, error: Any, exit_code: Any, call_id: Any) -> None:
    """Refuse what is no step."""
    if not isinstance(tool, str) or not tool:
        raise BadUsage(f"tool must be the name of a tool, like 'bash'; here is {tool!r}")
    if arguments is not None and not isinstance(arguments, Mapping):
        right = "arguments must be a mapping, like {'command': 'make test'}"
        raise BadUsage(f"{right}; here is {type(arguments).__name__}")
    if error is not None and not isinstance(error, str | bool | BaseException):
        right = "error must be a text, an exception, true, or None where all went well"
        raise BadUsage(f"{right}; here is {type(error).__name__}")
    if exit_code is not None and (isinstance(exit_code, bool) or not isinstance(exit_code, int)):
        raise BadUsage(f"exit_code must be a whole number, like 1; here is {exit_code!r}")
    check_texts(call_id=call_id)


def error_text(error: str | bool | BaseException, result: Any) -> str:
    """What went wrong, in words; what came out tells it where nothing else does.

    >>> error_text(KeyError("a"), None), error_text(True, {"stderr": "not found"})
    ("KeyError: 'a'", 'not found')
    """
    if isinstance(error, BaseException):
        return f"{type(error).__name__}: {error}"
    return error if isinstance(error, str) else response_text(result)


def plain(value: Any, deeper: int = DEEPEST) -> Any:
    """A value as JSON data: frameworks give messages, tuples and objects of their own.

    >>> plain({1: ("a", {"b"}), "at": None})
    {'1': ['a', ['b']], 'at': None}
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping) and deeper:
        return {str(name): plain(item, deeper - 1) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and deeper:
        return [plain(item, deeper - 1) for item in value]
    try:
        return str(value)
    except RecursionError:
        return TOO_DEEP


# RunGuard: the same watch and the same ladder inside a program that runs an agent.

SESSION = "run"
ROLES = ("user", "assistant")
MOST_LIBRARIES = 8


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Advice:
    """What a guard says about a step. `rung` is '' where there is nothing to say, and the text then empty.

    nudge and remind: put the text before the agent. ask: ask a person. stop: end the run. `detections` are
    those that opened, rose in severity or closed with this step.
    """

    rung: str = ""
    text: str = ""
    pattern: str = ""
    detections: tuple[Detection, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rung)


class RunGuard:
    """Watches one run of an agent. Safe from several threads; what is remembered has a bound.

    `settings` are those of ethogram.yaml; `task`, `goal`, `allow`, `deny` and `cwd` say more about this run.
    The ladder is `settings.hook`, and `rungs` takes the place of its rungs: stopping is opt-in.

    >>> guard = RunGuard(task="Make the tests pass.")
    >>> failed = {"tool": "bash", "arguments": {"command": "pytst"}, "error": "pytst: command not found"}
    >>> [guard.step(**failed).rung for _ in range(4)]
    ['', '', 'nudge', '']
    """

    def __init__(
        self,
        *,
        task: str | None = None,
        goal: str | None = None,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        cwd: str | None = None,
        rungs: Sequence[str] | None = None,
        settings: Settings | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        check_texts(task=task, goal=goal, cwd=cwd)
        settings = _with(checked(settings), goal or task, allow, deny, cwd)
        if rungs is not None:
            settings = replace(settings, hook={**settings.hook, "rungs": checked_rungs(rungs)})
        library = _library(settings)
        self._plan = plan_of(choose(library), settings)
        self._measurer = Measurer.of(self._plan.signals, self._plan.options)
        # Steps are dated here, never before the one before: a clock that jumps back refuses none.
        self._watch = Watch(library, settings=replace(settings, max_future=None), clock=clock)
        self._clock, self._lock = clock, RLock()
        self._state, self._last = start(), clock()
        self._told = {"session_id": SESSION, "cwd": cwd or ""}
        if task:
            self.say(task)

    def step(
        self,
        *,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        result: Any = None,
        error: Any = None,
        exit_code: int | None = None,
        call_id: str | None = None,
    ) -> Advice:
        """What to say about a call that has ended.

        `error` is what went wrong: its text, what was raised, or true where `result` tells it; without one
        (None, false or '') the call succeeded, unless `exit_code` says otherwise. A tool that the settings
        turn off is not looked at.
        """
        check_step(tool, arguments, error, exit_code, call_id)
        if not self._plan.rules.has(tool):
            return Advice()
        told = {**self._told, "tool_name": tool, "tool_input": plain(arguments or {}),
                "tool_response": plain(result)}  # fmt: skip
        if error:
            told |= {
                "hook_event_name": "PostToolUseFailure",
                "error": error_text(error, told["tool_response"]),
            }
        with self._lock:
            number = self._state["n"] + 1
            told["tool_use_id"] = call_id or f"call-{number}"
            call = call_event(told, number, self._at())
            ended = _as_told(result_event(told, number + 1, self._at()), told["tool_response"], exit_code)
            seen = [self._observe(call), self._observe(ended)]
            detections = [*self._watch.observe(call), *self._watch.observe(ended)]
        return _advice(seen[-1], detections)

    async def astep(self, **step: Any) -> Advice:
        """`step` for a program that must not wait: it is taken in a thread."""
        return await asyncio.to_thread(lambda: self.step(**step))

    def say(self, text: str, role: str = "user") -> Advice:
        """What to say about something that a person (`user`) or the agent (`assistant`) says."""
        check_texts(text=text)
        if role not in ROLES:
            raise BadUsage(f"role must be 'user' (a person) or 'assistant' (the agent); here is {role!r}")
        if not isinstance(text, str):
            raise BadUsage("text must be what was said; here is nothing")
        with self._lock:
            event = said_event(self._told, self._state["n"] + 1, self._at(), role, text)
            if event is None:
                return Advice()
            return _advice(self._observe(event), self._watch.observe(event))

    def end(self) -> dict[str, int]:
        """The run is over: how many events and steps there were."""
        with self._lock:
            return {"events": self._state["n"], "steps": self._state["steps"]}

    def open(self) -> list[Detection]:
        """The detections that are open now."""
        return self._watch.open()

    def _observe(self, event: Event) -> Observed:
        seen = observe(self._plan, self._state, event, self._measurer)
        self._state = seen.state
        return seen

    def _at(self) -> datetime:
        """Now, but never before what came before."""
        self._last = max(self._last, self._clock())
        return self._last


def _with(
    settings: Settings, goal: str | None, allow: Sequence[str], deny: Sequence[str], cwd: str | None
) -> Settings:
    return replace(
        settings,
        goal=goal or settings.goal,
        allow=checked_globs("allow", allow) or settings.allow,
        deny=checked_globs("deny", deny) or settings.deny,
        cwd=cwd or settings.cwd,
    )


_libraries: dict[str, Library] = {}


def _library(settings: Settings) -> Library:
    """The patterns to watch. Our own are read once: that takes a second, and a server has many runs."""
    if settings.patterns or settings.hook["patterns"]:
        return library_of(settings)
    key = repr((settings.parameters, settings.status, settings.signals, settings.hook["off"]))
    if key not in _libraries:
        if len(_libraries) >= MOST_LIBRARIES:
            _libraries.clear()
        _libraries[key] = library_of(settings)
    return _libraries[key]


def _as_told(event: Event, result: Any, exit_code: int | None) -> Event:
    """The result with its code, and with what came out even where the error has words of its own."""
    facts = dict(event.attributes)
    if "error" in facts and (text := response_text(result)):
        facts["result"] = text[:MAX_RESULT]
    if exit_code is not None:
        facts["exit_code"] = exit_code
    return replace(event, attributes=facts)


def _advice(seen: Observed, detections: Sequence[Detection]) -> Advice:
    advice = seen.advice
    if advice is None:
        return Advice(detections=tuple(detections))
    text = advice.person if advice.rung == "ask" and advice.person else advice.text
    return Advice(advice.rung, text, advice.pattern, tuple(detections))
