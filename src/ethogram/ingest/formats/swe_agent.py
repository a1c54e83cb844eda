"""SWE-agent and mini-swe-agent trajectories."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from ..chat_messages import calls_of, tell_message
from ..documents import Broken, dict_of, documents, list_of, need, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import Call, Run, number, run_name, seconds, text_of, usage_of

# SWE-agent: an object with the steps in `trajectory` or, in demonstrations, a `history` alone.

BASH = "bash"
TAKES_PATH = {"open": 1, "create": 1, "str_replace_editor": 2, "view": 1, "edit_anthropic": 2}
"""Commands of the agent's own tools, and which word of them is the file."""
ON_OPEN_FILE = frozenset(("edit", "insert", "goto", "scroll_up", "scroll_down"))
OTHERS = frozenset(
    (
        "search_dir",
        "search_file",
        "find_file",
        "submit",
        "exit_cost",
        "exit_context",
        "exit_forfeit",
        "filemap",
    )
)
TIMED_OUT = ("EXECUTION TIMED OUT", "COMMAND TIMED OUT")


@adapter("swe_agent")
class SweAgent(Adapter):
    """An object with a `trajectory` of steps (`action`, `observation`), or a `history` of an `agent`."""

    def recognises(self, head: bytes, name: str) -> bool:
        first = look(head).first
        steps, history = list_of(first.get("trajectory")), list_of(first.get("history"))
        if steps:
            step = dict_of(steps[0])
            return "action" in step and ("observation" in step or "response" in step)
        told = dict_of(history[0]) if history else {}
        own = "agent" in told or "message_type" in told
        return (own and "role" in told) or (
            "trajectory" in first and ("environment" in first or "info" in first)
        )

    def read(self, file: Input) -> Iterator[Record]:
        """The task, then an action and a result for each step. Nothing in the file says when."""
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif not isinstance(told, dict):
                yield line, "a trajectory is an object {...}", 0
            else:
                yield from _run(told, line, file)


def _run(record: Mapping[str, Any], line: int, file: Input) -> Iterator[Record]:
    run = Run(run_name(file.name), file)
    run.line = line
    info, steps, history = (record.get(key) for key in ("info", "trajectory", "history"))
    run.facts(labels=_labels(dict_of(info)))
    for item in list_of(history):
        if dict_of(item).get("role") == "assistant" and steps:
            break
        # Without steps the history is all there is; a demonstration in it is not what the agent did.
        if dict_of(item).get("is_demo") is not True:
            run.tell(line, lambda message: tell_message(run, message), item)
    if steps is not None and not isinstance(steps, list):
        run.fault("trajectory must be a list")
    for step in list_of(steps):
        run.tell(line, lambda item: _step(run, item), step)
    yield from run.records()


def _step(run: Run, record: Any) -> None:
    step = need(record, dict, "a step")
    action = text_of(step.get("action")).strip()
    thought = text_at(step, "thought") or text_at(step, "response")
    if not action:
        run.turn(thought)
        run.message("system", text_of(step.get("observation")))
        return
    tool = action.split(None, 1)[0]
    known = tool in TAKES_PATH or tool in ON_OPEN_FILE or tool in OTHERS
    facts = {"path": _path(action, tool, step.get("state"))}
    call = Call(tool if known else BASH, {"command": action}, None, facts)
    run.turn(thought, [call], cwd=text_at(_state(step), "working_dir"))
    observation = text_of(step.get("observation"))
    run.result(
        observation,
        duration=seconds(step.get("execution_time")),
        error=observation.lstrip().startswith(TIMED_OUT),
    )


def _path(action: str, tool: str, state: Any) -> str | None:
    if tool in ON_OPEN_FILE:
        open_file = text_at(_state({"state": state}), "open_file")
        return None if open_file == "n/a" else open_file
    if tool not in TAKES_PATH:
        return None
    try:
        words = shlex.split(action.splitlines()[0])
    except ValueError:
        words = action.split()
    return next(iter(words[TAKES_PATH[tool] : TAKES_PATH[tool] + 1]), None)


def _state(step: Mapping[str, Any]) -> dict[str, Any]:
    """Where the agent stood after a step; old files hold it as JSON text."""
    state = step.get("state")
    if isinstance(state, str):
        try:
            state = json.loads(state)
        except (ValueError, RecursionError):
            return {}
    return dict_of(state)


def _labels(info: Mapping[str, Any]) -> dict[str, Any] | None:
    stats = dict_of(info.get("model_stats"))
    sent = {"input_tokens": stats.get("tokens_sent"), "output_tokens": stats.get("tokens_received")}
    found = {"exit_status": info.get("exit_status"), "cost": stats.get("instance_cost"), **usage_of(sent)}
    return {key: value for key, value in found.items() if value is not None} or None


# mini-swe-agent: an object with `info` and the `messages` between a model and a shell.

MINI_SWE_AGENT_TIMED_OUT = "The last command <command>"
_CODE = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURNED = re.compile(r"\s*<returncode>\s*(-?\d{1,9})\s*</returncode>")


@adapter("mini_swe_agent")
class MiniSweAgent(Adapter):
    """An object with a `trajectory_format` of this name, or with `mini_version` in its `info`."""

    def recognises(self, head: bytes, name: str) -> bool:
        return is_trajectory(look(head).first)

    def read(self, file: Input) -> Iterator[Record]:
        """An action for each command the model wrote, a result for each answer of the shell."""
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif not isinstance(told, dict) or not isinstance(told.get("messages"), list):
                yield line, "a trajectory needs its messages as a list", 0
            else:
                run = Talk(text_at(told, "instance_id") or run_name(file.name), file)
                info = dict_of(told.get("info"))
                stats = dict_of(info.get("model_stats"))
                status, config = text_at(info, "exit_status"), dict_of(info.get("config"))
                run.facts(
                    labels={"exit_status": status} if status else None,
                    cost=number(stats, "instance_cost"),
                    cwd=text_at(config.get("environment"), "cwd"),
                )
                for message in list_of(told["messages"]):
                    run.tell(line, run.add, message)
                yield from run.records()


def is_trajectory(record: Mapping[str, Any]) -> bool:
    """Whether an object says that this program wrote it."""
    named = text_at(record, "trajectory_format") or ""
    return "mini_version" in dict_of(record.get("info")) or named.startswith("mini-swe-agent")


class Talk(Run):
    """A run as it is told. `called` says whether the last message called something."""

    called = False

    def add(self, record: Any) -> None:
        """Tell one message."""
        message = need(record, dict, "a message")
        role, content = message.get("role"), text_of(message.get("content"))
        extra = dict_of(message.get("extra"))
        if role == "assistant":
            self._assistant(message, content, extra)
        elif role == "tool" or (role == "user" and self.called):
            self._shell(message, content, extra)
        elif role in ("user", "system"):
            self.message(str(role), content, at=_when(extra))
        elif role != "exit":  # the end of the run says what its info says
            self.unknown(role)

    def _assistant(self, message: Mapping[str, Any], content: str, extra: Mapping[str, Any]) -> None:
        response = dict_of(extra.get("response"))
        calls = calls_of(message)
        written = _CODE.findall(content)
        if not calls and len(written) == 1:  # with none or several the program refuses the message
            calls = [Call(BASH, {"command": written[0]})]
            content = _CODE.sub("", content)
        self.called = bool(calls)
        self.turn(
            content,
            calls,
            at=_when(extra) or response.get("created"),
            usage=usage_of(response.get("usage"), cost=_cost(extra, response)),
            name=text_at(response, "id"),
            model=text_at(response, "model"),
        )

    def _shell(self, message: Mapping[str, Any], content: str, extra: Mapping[str, Any]) -> None:
        self.called = message.get("role") == "tool" and self.called
        returned = _RETURNED.match(content)
        code = number(extra, "returncode")
        self.result(
            content[returned.end() :].lstrip("\n") if returned else content,
            call_id=message.get("tool_call_id"),
            exit_code=code if code is not None else int(returned[1]) if returned else None,
            error=text_at(extra, "exception_info") or content.startswith(MINI_SWE_AGENT_TIMED_OUT),
            at=_when(extra),
        )


def _when(extra: Mapping[str, Any]) -> Any:
    return number(extra, "timestamp")


def _cost(extra: Mapping[str, Any], response: Mapping[str, Any]) -> Any:
    found = number(extra, "cost")
    return found if found is not None else number(dict_of(response.get("usage")), "cost")
