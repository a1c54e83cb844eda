"""RunGuard: the hook's monitor and interventions inside a program that runs an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import RLock
from typing import Any

from ..app.live.watch import Watch
from ..config import Settings
from ..errors import BadUsage, did_you_mean
from ..models import Detection, Event
from ..models.constants import MAX_RESULT, RUNGS
from ..patterns.library import Library
from ..signals import Measurer
from .hook.plan import library_of, make_plan
from .monitor import observe, start
from .payload import TOO_DEEP, call_event, message_event, response_text, result_event
from .status import Observed

SESSION = "run"
ROLES = ("user", "assistant")
MAX_DEPTH = 32
MAX_LIBRARIES = 8


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a step. `rung` is '' where there is nothing to say, and the text then empty.

    nudge and remind: show the text to the agent. ask: ask the user. stop: end the run. `detections` are
    those that opened, rose in severity or closed with this step.
    """

    rung: str = ""
    text: str = ""
    pattern: str = ""
    detections: tuple[Detection, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rung)


class RunGuard:
    """Monitor one run of an agent. Thread-safe, with bounded memory.

    `settings` are those of ethogram.yaml; `task`, `goal`, `allow`, `deny` and `cwd` describe this run.
    `settings.hook` configures the interventions, and `rungs` replaces its rungs: stopping is opt-in.

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
        _check_texts(task=task, goal=goal, cwd=cwd)
        settings = _checked_settings(settings)
        settings = replace(
            settings,
            goal=goal or task or settings.goal,
            allow=_checked_globs("allow", allow) or settings.allow,
            deny=_checked_globs("deny", deny) or settings.deny,
            cwd=cwd or settings.cwd,
        )
        if rungs is not None:
            settings = replace(settings, hook={**settings.hook, "rungs": _checked_rungs(rungs)})
        library = _library(settings)
        self._plan = make_plan(library, settings)
        self._measurer = Measurer(signals=self._plan.signals, options=self._plan.options)
        # Steps are dated here, never before the previous one, so a clock that jumps back refuses none.
        self._watch = Watch(library, settings=replace(settings, max_future=None), clock=clock)
        self._clock, self._lock = clock, RLock()
        self._state, self._last = start(), clock()
        self._base = {"session_id": SESSION, "cwd": cwd or ""}
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
        """Return what to do about a call that has ended.

        `error` is its text, the exception raised, or true where `result` has it; without one (None, false or
        '') the call succeeded, unless `exit_code` says otherwise. Tools turned off are ignored.
        """
        _check_step(tool, arguments, error, exit_code, call_id)
        if not self._plan.rules.has(tool):
            return Advice()
        response = plain(result)
        payload = {
            **self._base,
            "tool_name": tool,
            "tool_input": plain(arguments or {}),
            "tool_response": response,
        }
        if error:
            payload |= {"hook_event_name": "PostToolUseFailure", "error": error_text(error, response)}
        with self._lock:
            number = self._state["n"] + 1
            payload["tool_use_id"] = call_id or f"call-{number}"
            call = call_event(payload, number, self._at())
            ended = result_event(payload, number + 1, self._at())
            attributes = dict(ended.attributes)
            if "error" in attributes and (text := response_text(response)):
                attributes["result"] = text[:MAX_RESULT]
            if exit_code is not None:
                attributes["exit_code"] = exit_code
            ended = replace(ended, attributes=attributes)
            self._observe(call)
            observed = self._observe(ended)
            return _advice(observed, [*self._watch.observe(call), *self._watch.observe(ended)])

    async def astep(self, **step: Any) -> Advice:
        """Run `step` in a thread."""
        return await asyncio.to_thread(lambda: self.step(**step))

    def say(self, text: str, role: str = "user") -> Advice:
        """Return what to do about a message of the user or the agent (`assistant`)."""
        if role not in ROLES:
            raise BadUsage(f"invalid role {role!r}: expected 'user' or 'assistant' (the agent)")
        if not isinstance(text, str):
            raise BadUsage(f"invalid text: expected a text, not {type(text).__name__}")
        with self._lock:
            event = message_event(self._base, self._state["n"] + 1, self._at(), role, text)
            if event is None:
                return Advice()
            return _advice(self._observe(event), self._watch.observe(event))

    def end(self) -> dict[str, int]:
        """End the run: return the number of events and steps."""
        with self._lock:
            return {"events": self._state["n"], "steps": self._state["steps"]}

    def open(self) -> list[Detection]:
        """Return the detections that are open now."""
        return self._watch.open()

    def _observe(self, event: Event) -> Observed:
        observed = observe(self._plan, self._state, event, self._measurer)
        self._state = observed.state
        return observed

    def _at(self) -> datetime:
        self._last = max(self._last, self._clock())
        return self._last


_libraries: dict[str, Library] = {}


def _library(settings: Settings) -> Library:
    """The patterns to watch. The shipped ones are cached: loading takes a second."""
    if settings.patterns or settings.hook["patterns"]:
        return library_of(settings)
    key = repr((settings.parameters, settings.status, settings.signals, settings.hook["off"]))
    if key not in _libraries:
        if len(_libraries) >= MAX_LIBRARIES:
            _libraries.clear()
        _libraries[key] = library_of(settings)
    return _libraries[key]


def _advice(observed: Observed, detections: Sequence[Detection]) -> Advice:
    advice = observed.advice
    if advice is None:
        return Advice(detections=tuple(detections))
    text = advice.person if advice.rung == "ask" and advice.person else advice.text
    return Advice(advice.rung, text, advice.pattern, tuple(detections))


def error_text(error: str | bool | BaseException, result: Any) -> str:
    """Return an error as text; the result where nothing else describes it.

    >>> error_text(KeyError("a"), None), error_text(True, {"stderr": "not found"})
    ("KeyError: 'a'", 'not found')
    """
    if isinstance(error, BaseException):
        return f"{type(error).__name__}: {error}"
    return error if isinstance(error, str) else response_text(result)


def plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return a value as JSON data: frameworks pass messages, tuples and objects of their own.

    >>> plain({1: ("a", {"b"}), "at": None})
    {'1': ['a', ['b']], 'at': None}
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping) and depth:
        return {str(name): plain(item, depth - 1) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [plain(item, depth - 1) for item in value]
    try:
        return str(value)
    except RecursionError:
        return TOO_DEEP


def _invalid(name: str, expected: str, value: Any) -> BadUsage:
    return BadUsage(f"invalid {name}: expected {expected}, not {value}")


def _checked_settings(settings: Any) -> Settings:
    if settings is not None and not isinstance(settings, Settings):
        expected = "Settings, as in ethogram.config.load_settings(...).settings"
        raise _invalid("settings", expected, type(settings).__name__)
    return settings or Settings()


def _checked_rungs(rungs: Any) -> tuple[str, ...]:
    expected = f"a list of some of {', '.join(RUNGS)}, like ['nudge', 'ask']"
    if isinstance(rungs, str) or not isinstance(rungs, Sequence):
        raise _invalid("rungs", expected, repr(rungs))
    for rung in rungs:
        if rung not in RUNGS:
            raise _invalid("rungs", expected, f"{rung!r}{did_you_mean(str(rung), RUNGS)}")
    return tuple(rungs)


def _checked_globs(name: str, value: Any) -> tuple[str, ...]:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not all(isinstance(item, str) for item in value):
        raise _invalid(name, "a list of globs, like ['src/**']", repr(value))
    return tuple(value)


def _check_texts(**texts: Any) -> None:
    for name, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise _invalid(name, "a text", type(value).__name__)


def _check_step(tool: Any, arguments: Any, error: Any, exit_code: Any, call_id: Any) -> None:
    if not isinstance(tool, str) or not tool:
        raise _invalid("tool", "the name of a tool, like 'bash'", repr(tool))
    if arguments is not None and not isinstance(arguments, Mapping):
        raise _invalid("arguments", "a mapping, like {'command': 'make test'}", type(arguments).__name__)
    if error is not None and not isinstance(error, str | bool | BaseException):
        raise _invalid("error", "a text, an exception, true or None", type(error).__name__)
    if exit_code is not None and (isinstance(exit_code, bool) or not isinstance(exit_code, int)):
        raise _invalid("exit_code", "a whole number, like 1", repr(exit_code))
    _check_texts(call_id=call_id)
