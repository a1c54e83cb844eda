"""mini-swe-agent: an object with `info` and the `messages` between a model and a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .adapter import Adapter, Input, Record, adapter
from .chat import calls_of
from .documents import Broken, dict_of, documents, list_of, need, text_at
from .heads import look
from .run_values import number, run_name, text_of, usage_of
from .runs import Call, Run

BASH = "bash"
TIMED_OUT = "The last command <command>"
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


def is_trajectory(told: Mapping[str, Any]) -> bool:
    """Whether an object says that this program wrote it."""
    named = text_at(told, "trajectory_format") or ""
    return "mini_version" in dict_of(told.get("info")) or named.startswith("mini-swe-agent")


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
            error=text_at(extra, "exception_info") or content.startswith(TIMED_OUT),
            at=_when(extra),
        )


def _when(extra: Mapping[str, Any]) -> Any:
    return number(extra, "timestamp")


def _cost(extra: Mapping[str, Any], response: Mapping[str, Any]) -> Any:
    found = number(extra, "cost")
    return found if found is not None else number(dict_of(response.get("usage")), "cost")
