"""Run: the events of one run of an agent, in the same shape whatever program recorded it.

An adapter says what happened, in order; this joins results to calls, names, times and cuts.

    run = Run("session-1", file)
    run.message("user", "Fix the test.")
    run.turn("Let me look.", [Call("read_file", {"path": "a.py"}, "c1")])
    run.result("no such file", call_id="c1", error=True)
    yield from run.records()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..records.arguments import command_in, path_in
from .adapter import Input, Record
from .errors import BadLine, type_name
from .run_told import Told
from .run_values import cut, fit, plain

AGENT = "agent"
RESULT = 20_000
"""Characters kept of a result, a thought and each text in the arguments."""
ERROR = 2_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: its name, its arguments as an object or JSON text, and its id."""

    tool: Any
    arguments: Any = None
    call_id: Any = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Run(Told):
    """The events of one run, made one by one; `records` gives them all.

    `thread` is the run's name and `prefix` what the ids of its events begin with. `agent` is who acts where
    nobody else is named.
    """

    def __init__(self, thread: str, file: Input, *, agent: str = AGENT, prefix: str | None = None) -> None:
        super().__init__(thread, prefix)
        self.agent = agent
        self._most = file.limits.text
        self._open: dict[str, dict[str, Any]] = {}
        self._waiting: dict[str, dict[str, Any]] = {}
        self._counted: set[str] = set()
        self._held: tuple[int, dict[str, Any]] | None = None

    def message(
        self, role: str, text: str | None, *, at: Any = None, subject: str | None = None, **facts: Any
    ) -> None:
        """Somebody said something; nothing where the text is empty.

        Who is only a part, such as the user, is somebody else in the next run.
        """
        if text is None or not text.strip():
            return
        who = subject or (self.agent if role == "assistant" else f"{self.thread}/{role}")
        line = self.event("message", who, at, {"role": role, **facts})
        if "target" not in line:
            line["target"] = self.agent if who != self.agent else f"{self.thread}/user"
        line["text"] = cut(text, self._most)
        if len(text) > self._most:
            line["attributes"]["text_length"] = len(text)
        self.add_event(line)

    def turn(
        self,
        text: str | None,
        calls: Sequence[Call] = (),
        *,
        at: Any = None,
        subject: str | None = None,
        name: str | None = None,
        usage: Mapping[str, Any] | None = None,
        thought: str | None = None,
        **facts: Any,
    ) -> None:
        """What an agent said and did in one breath: its calls, the text beside them as the thought of the
        first; or a message, where it called nothing. Usage counts once for each `name` of a message."""
        extra = {**facts, **(self._once(name, usage) if usage else {})}
        if not calls:
            said = text or thought
            beside = {"thought": cut(thought, RESULT)} if thought and text else {}
            self.message("assistant", said, at=at, subject=subject, **beside, **extra)
            return
        beside_calls = "\n".join(one.strip() for one in (thought, text) if one and one.strip())
        if beside_calls:
            extra["thought"] = cut(beside_calls, RESULT)
        batch = name or f"{self.prefix}/{len(self.events)}"
        for call in calls:
            self.call(call, at=at, subject=subject, **{"batch": batch, **extra})
            # The tokens and the thought are those of the message, so they stand on its first call.
            extra = facts

    def hold(self, **turn: Any) -> None:
        """Keep back what an agent said until it is known whether a call belongs to it; see `taken`."""
        self.release()
        self._held = (self.line, turn)

    def taken(self) -> dict[str, Any] | None:
        """What was held, to be told as part of something else."""
        held, self._held = self._held, None
        return held[1] if held is not None else None

    def release(self) -> None:
        """Tell what was held, as it stands."""
        if self._held is not None:
            line, (number, _) = self.line, self._held
            self.tell(number, lambda turn: self.turn(**turn), self.taken())
            self.line = line

    def records(self) -> Iterator[Record]:
        """Everything, in order."""
        self.release()
        yield from super().records()

    def call(self, call: Call, *, at: Any = None, subject: str | None = None, **facts: Any) -> None:
        """A tool is called."""
        tool, call_id = plain(call.tool), plain(call.call_id)
        if tool is None:
            raise BadLine(f"a call needs the name of its tool, not {type_name(call.tool)}")
        arguments = fit(call.arguments, RESULT)
        told = {
            "tool": tool,
            "arguments": arguments,
            "call_id": call_id,
            "path": path_in(arguments),
            "command": command_in(arguments),
            **{key: value for key, value in (*facts.items(), *call.facts.items()) if value is not None},
        }
        line = self.event("action", subject or self.agent, at, told)
        self.add_event(line)
        self._waiting[line["id"]] = line
        if call_id is not None:
            self._open[call_id] = line

    def ensure_call(self, call: Call, **facts: Any) -> None:
        """A tool is called, unless that call was told before: by its id or, without one, by its tool."""
        tool, call_id = plain(call.tool), plain(call.call_id)
        waits = any(one["attributes"]["tool"] == tool for one in self._waiting.values())
        if not (call_id in self._open if call_id is not None else waits):
            self.call(call, **facts)

    def result(
        self,
        text: str | None,
        *,
        call_id: Any = None,
        tool: Any = None,
        at: Any = None,
        error: Any = None,
        exit_code: Any = None,
        subject: str | None = None,
        **facts: Any,
    ) -> None:
        """A call ended: the one of that id, or without an id the first that still waits.

        `error` true means that the text says what went wrong.
        """
        call = self._call_of(plain(call_id), plain(tool), subject)
        beside = dict(call["attributes"]) if call else {}
        told: dict[str, Any] = {
            "tool": beside.get("tool") or plain(tool) or "unknown",
            "call_id": beside.get("call_id") or plain(call_id),
            "path": beside.get("path"),
            "command": beside.get("command"),
            "batch": beside.get("batch"),
            "parent": beside.get("parent"),
        }
        told.update((key, value) for key, value in facts.items() if value is not None)
        said = text or ""
        told["result"] = cut(said, RESULT)
        if len(said) > RESULT:
            told["result_length"] = len(said)
        if isinstance(exit_code, int) and not isinstance(exit_code, bool):
            told["exit_code"] = exit_code
        if error is not None and error is not False and error != "":
            told["error"] = _error(error, said)
        line = self.event("result", call["subject"] if call else subject or self.agent, at, told)
        if call and "at" in call and "at" in line:
            line["at"] = max(call["at"], line["at"])
        self.add_event(line)

    def has_result(self, call_id: str) -> bool:
        """Whether the call of this id has ended."""
        call = self._open.get(call_id)
        return call is not None and call["id"] not in self._waiting

    def fill_result(self, call_id: str, text: str) -> None:
        """What a call gave, where its result was told without it."""
        results = (one["attributes"] for one in reversed(self.events) if one["kind"] == "result")
        told = next((one for one in results if one.get("call_id") == call_id), None)
        if told is not None and not told["result"]:
            told["result"] = cut(text, RESULT)
            told.update({"result_length": len(text)} if len(text) > RESULT else {})

    def condensation(self, text: str | None = None, *, at: Any = None, **facts: Any) -> None:
        """What went before was replaced by a summary."""
        line = self.event("condensation", facts.pop("subject", None) or self.agent, at, facts)
        if text:
            line["text"] = cut(text, self._most)
        self.add_event(line)

    @property
    def last_act(self) -> dict[str, Any] | None:
        """The last thing an agent did or said."""
        acts = (one for one in reversed(self.events) if one["kind"] != "result")
        return next((one for one in acts if one["attributes"].get("role", "assistant") == "assistant"), None)

    def add_to_last(self, facts: Mapping[str, Any]) -> None:
        """What is known only afterwards of the last thing an agent did or said."""
        if (last := self.last_act) is not None:
            last["attributes"].update(facts)

    def _call_of(self, call_id: str | None, tool: str | None, subject: str | None) -> dict[str, Any] | None:
        found = self._open.get(call_id) if call_id is not None else None
        if call_id is None:
            waiting = self._waiting.values()
            same = (one for one in waiting if one["attributes"]["tool"] == tool)
            found = next(same, None) or next(
                (one for one in waiting if subject in (None, one["subject"])), None
            )
        if found is not None:
            self._waiting.pop(found["id"], None)
        return found

    def _once(self, name: str | None, usage: Mapping[str, Any]) -> Mapping[str, Any]:
        if name is None:
            return usage
        if name in self._counted:
            return {}
        self._counted.add(name)
        return usage


def _error(error: Any, said: str) -> Any:
    if isinstance(error, str):
        return cut(error, ERROR)
    return cut(said, ERROR) if said.strip() else True
