"""SWE-agent and mini-swe-agent trajectories."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from ..chat_messages import ChatTranscript, tool_calls
from ..format import Head, Input, adapter
from ..transcript import ToolCall, Transcript, TranscriptAdapter, run_name
from ..values import (
    as_dict,
    as_list,
    need,
    number_at,
    parsed,
    seconds_of,
    text_at,
    text_of,
    token_usage,
    without_none,
    words,
)

BASH = "bash"
TAKES_PATH = {"open": 1, "create": 1, "str_replace_editor": 2, "view": 1, "edit_anthropic": 2}
"""Commands of the agent's own tools, and which word of them is the file."""
ON_OPEN_FILE = frozenset(("edit", "insert", "goto", "scroll_up", "scroll_down"))
OTHER_TOOLS = words("search_dir search_file find_file submit exit_cost exit_context exit_forfeit filemap")
TIMED_OUT = ("EXECUTION TIMED OUT", "COMMAND TIMED OUT")


@adapter("swe_agent")
class SweAgent(TranscriptAdapter):
    """An object with a `trajectory` of steps (`action`, `observation`), or a `history` of an `agent`."""

    beside = words("messages query replay_config state")

    def matches(self, head: Head) -> bool:
        first = head.first
        if steps := as_list(first.get("trajectory")):
            step = as_dict(steps[0])
            return "action" in step and ("observation" in step or "response" in step)
        message = as_dict(next(iter(as_list(first.get("history"))), None))
        if "role" in message and ("agent" in message or "message_type" in message):
            return True
        return "trajectory" in first and ("environment" in first or "info" in first)

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        """Yield the run of each trajectory: the task, then an action and a result for each step."""
        for line, document in documents:
            run = SweAgentTranscript(run_name(file.name), file)
            run.add_records(line, [document], run.add_trajectory)
            yield run


class SweAgentTranscript(ChatTranscript):
    """One trajectory. Nothing in the file gives times."""

    def add_trajectory(self, record: Any) -> None:
        """Add all of a trajectory: its history up to the first answer, then its steps."""
        document = need(record, dict, "a trajectory")
        info, steps = as_dict(document.get("info")), document.get("trajectory")
        stats = as_dict(info.get("model_stats"))
        tokens = {"input_tokens": stats.get("tokens_sent"), "output_tokens": stats.get("tokens_received")}
        labels = without_none(exit_status=info.get("exit_status"), cost=stats.get("instance_cost"))
        self.set_metadata(labels={**labels, **token_usage(tokens)} or None)
        history, is_over = as_list(document.get("history")), False
        for message in history:
            is_over = is_over or bool(as_dict(message).get("role") == "assistant" and steps)
            # Without steps the history is all there is; a demonstration in it is not what the agent did.
            if is_over or as_dict(message).get("is_demo") is True:
                self.ignore(message)
            else:
                self.add_records(self.line, [message])
        if steps is not None:
            self.add_list(self.line, document, "trajectory", self._step)

    def _step(self, record: Any) -> None:
        step = need(record, dict, "a step")
        action, observation = text_of(step.get("action")).strip(), text_of(step.get("observation"))
        thought = text_at(step, "thought", "response")
        if not action:
            self.turn(thought)
            self.message("system", observation)
            return
        tool, state = action.split(None, 1)[0], _state(step.get("state"))
        known = tool in TAKES_PATH or tool in ON_OPEN_FILE or tool in OTHER_TOOLS
        attributes = {"path": _path(action, tool, state)}
        call = ToolCall(tool if known else BASH, {"command": action}, None, attributes)
        self.turn(thought, [call], cwd=text_at(state, "working_dir"))
        failed = observation.lstrip().startswith(TIMED_OUT)
        self.result(observation, duration=seconds_of(step.get("execution_time")), error=failed)


def _path(action: str, tool: str, state: Mapping[str, Any]) -> str | None:
    if tool in ON_OPEN_FILE:
        open_file = text_at(state, "open_file")
        return None if open_file == "n/a" else open_file
    if tool not in TAKES_PATH:
        return None
    try:
        words = shlex.split(action.splitlines()[0])
    except ValueError:
        words = action.split()
    return next(iter(words[TAKES_PATH[tool] :]), None)


def _state(state: Any) -> dict[str, Any]:
    """Return the state after a step; old files hold it as JSON text."""
    return as_dict(parsed(state) if isinstance(state, str) else state)


# mini-swe-agent.

MINI_TIMED_OUT = "The last command <command>"
_CODE = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURN_CODE = re.compile(r"\s*<returncode>\s*(-?\d{1,9})\s*</returncode>")


@adapter("mini_swe_agent")
class MiniSweAgent(TranscriptAdapter):
    """An object with a `trajectory_format` of this name, or with `mini_version` in its `info`."""

    beside = frozenset(("extra", "info"))

    def matches(self, head: Head) -> bool:
        return is_mini_trajectory(head.first)

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        """Yield the run of each trajectory: the messages between a model and a shell."""
        for line, document in documents:
            run = MiniTranscript(text_at(document, "instance_id") or run_name(file.name), file)
            info = as_dict(as_dict(document).get("info"))
            status = text_at(info, "exit_status")
            run.set_metadata(
                labels={"exit_status": status} if status else None,
                cost=number_at(info.get("model_stats"), "instance_cost"),
                cwd=text_at(as_dict(info.get("config")).get("environment"), "cwd"),
            )
            run.add_list(line, document, "messages")
            yield run


def is_mini_trajectory(document: Mapping[str, Any]) -> bool:
    """Return whether mini-swe-agent wrote a document."""
    written = text_at(document, "trajectory_format") or ""
    return "mini_version" in as_dict(document.get("info")) or written.startswith("mini-swe-agent")


class MiniTranscript(Transcript):
    """The messages of one trajectory; `has_called` says whether the last message called a command."""

    has_called = False

    def add(self, record: Any) -> None:
        message = need(record, dict, "a message")
        role, content = message.get("role"), text_of(message.get("content"))
        extra = as_dict(message.get("extra"))
        at = number_at(extra, "timestamp")
        if role == "assistant":
            self._turn(message, content, extra, at)
        elif role == "tool" or (role == "user" and self.has_called):
            self._result(message, content, extra, at)
        elif role in ("user", "system"):
            self.message(str(role), content, at=at)
        elif role == "exit":  # the end of the run repeats its info
            self.ignore()
        else:
            self.unknown(role)

    def _turn(self, message: Mapping[str, Any], content: str, extra: Mapping[str, Any], at: Any) -> None:
        response = as_dict(extra.get("response"))
        calls, commands = tool_calls(message), _CODE.findall(content)
        if not calls and len(commands) == 1:  # with none or several the program refuses the message
            calls = [ToolCall(BASH, {"command": commands[0]})]
            content = _CODE.sub("", content)
        self.has_called = bool(calls)
        cost = number_at(extra, "cost")
        cost = cost if cost is not None else number_at(response.get("usage"), "cost")
        self.turn(
            content,
            calls,
            at=at or response.get("created"),
            usage=token_usage(response.get("usage"), cost=cost),
            message_id=text_at(response, "id"),
            model=text_at(response, "model"),
        )

    def _result(self, message: Mapping[str, Any], content: str, extra: Mapping[str, Any], at: Any) -> None:
        self.has_called = message.get("role") == "tool" and self.has_called
        returned, code = _RETURN_CODE.match(content), number_at(extra, "returncode")
        self.result(
            content[returned.end() :].lstrip("\n") if returned else content,
            call_id=message.get("tool_call_id"),
            exit_code=code if code is not None else int(returned[1]) if returned else None,
            error=text_at(extra, "exception_info") or content.startswith(MINI_TIMED_OUT),
            at=at,
        )
