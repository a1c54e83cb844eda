"""Transcripts: messages, tool calls and results of any agent, as events of a run."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ..models.arguments import command_in, path_in
from ..models.slotted import dataclass, field
from .documents import Broken, Document, documents
from .errors import BadLine, shown, type_name
from .format import Input, JsonAdapter, Record, Skipped
from .values import as_dict, as_list, as_name, join_texts, moment_of, tool_arguments, without_none

SUFFIXES = (".gz", ".jsonl", ".ndjson", ".json", ".trajectory", ".traj", ".eval")
_GENERIC_NAME = re.compile(
    r"(?i)(\d+|trajector(y|ies)|messages?|logs?|events?|outputs?|runs?|traces?|spans?|sessions?|conversations?"
    r"|data|history|results?|transcript|chat|response)([.\-_]?\d+)?"
)
AGENT = "agent"
ASKING = ("user", "system", "developer")
"""Roles of messages that are not the agent's own."""
UNTIMED = "untimed"
"""The source of runs without times, so that they can be read with others: a source has times or has none."""
UNNAMED = "unknown"
"""The tool of a call or result that names none."""
RESULT_LENGTH = 20_000
"""Characters kept of a result, a thought, each text in the arguments, and texts about the run as a whole."""
ERROR_LENGTH = LABEL_LENGTH = 2_000


def run_name(name: str) -> str:
    """Return the name of a run by its file, with the folder's where the file's own says too little.

    >>> run_name("/data/django-11099.traj.json"), run_name("runs/r7/trajectory.json"), run_name("-")
    ('django-11099', 'r7/trajectory', 'stdin')
    """
    if name == "-":
        return "stdin"
    stem = Path(name).name
    while shorter := next((stem[: -len(end)] for end in SUFFIXES if stem.lower().endswith(end)), ""):
        stem = shorter
    folder = folder_of(name)
    return f"{folder}/{stem}" if folder and _GENERIC_NAME.fullmatch(stem) else stem


def folder_of(name: str, above: int = 0) -> str:
    """Return the name of the folder a file is in, or of one above it; '' at the top."""
    parents = Path(os.path.abspath(name)).parents  # noqa: PTH100 (nothing is looked up on disk)
    return parents[above].name if above < len(parents) else ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: its name, its arguments as an object or JSON text, and its id."""

    tool: Any
    arguments: Any = None
    call_id: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, item: Any, tool: str, arguments: str, call_id: str = "id") -> ToolCall:
        """Return the call in an object with these keys."""
        fields = as_dict(item)
        return cls(fields.get(tool), fields.get(arguments), fields.get(call_id))


class Transcript:
    """The events of one run of an agent, built in order; `records` returns them all.

        run = Transcript("session-1", file)
        run.message("user", "Fix the test.")
        run.turn("Let me look.", [ToolCall("read_file", {"path": "a.py"}, "c1")])
        run.result("no such file", call_id="c1", error=True)
        yield from run.records()

    `thread` is the run's name and `prefix` what the ids of its events begin with. `agent` acts where nobody
    else is named. `line` is the line of the file that is being read.
    """

    is_whole: ClassVar[bool] = True
    """False where the calls of one batch may lie in other files."""

    def __init__(self, thread: str, file: Input, *, agent: str = AGENT, prefix: str | None = None) -> None:
        self.thread = thread
        self.prefix = prefix or thread
        self.agent = agent
        self.line = 1
        self.events: list[dict[str, Any]] = []
        self._records: list[Record] = []
        self._ids: dict[str, int] = {}
        self._metadata: dict[str, Any] = {}
        self._text_length = file.limits.text
        self._calls: dict[str, dict[str, Any]] = {}
        self._waiting: dict[str, dict[str, Any]] = {}
        self._counted: set[str] = set()
        self._held: tuple[int, dict[str, Any]] | None = None
        self._ledger = file.ledger
        self._record: Any = None

    # Reading records.

    def add(self, record: Any) -> None:
        """Add one record of the format; BadLine where it is malformed."""
        raise NotImplementedError

    def add_records(
        self, line: int, records: Iterable[Any], add: Callable[[Any], None] | None = None
    ) -> None:
        """Add each record with `add`; a BadLine becomes a fault of this line."""
        self.line, around = line, self._record
        for self._record in records:
            try:
                (add or self.add)(self._record)
            except BadLine as bad:
                self.fault(bad.message)
                self.ignore()
        self._record = around

    def add_list(self, line: int, document: Any, key: str, add: Callable[[Any], None] | None = None) -> None:
        """Add each record of the list under a key of a document; a fault where that is no list."""
        self.line = line
        records = as_dict(document).get(key)
        if not isinstance(records, list):
            self.fault(f"{key} must be a list, not {type_name(records)}")
        self.add_records(line, as_list(records), add)

    def skip(self, what: str) -> None:
        """Count the current record, which is left out."""
        self._records.append((self.line, Skipped(what), 0))
        self.ignore()

    def ignore(self, *values: Any) -> None:
        """Leave out the current record, or these values of the file: they hold nothing of what was done."""
        self._ledger.settle(values or self._record)

    def unknown(self, kind: Any) -> None:
        """Count a record of an unknown type."""
        self.skip(f"records of the unknown type {shown(kind)}")

    def fault(self, message: str) -> None:
        """Report a fault at this line."""
        self._records.append((self.line, message, 0))

    def records(self) -> Iterator[Record]:
        """Yield everything, in order. Where some events have a time, others take that of the one before.

        A run in which only messages have one is untimed: when its calls were made is not known.
        """
        self.release_held()
        actions = [event for event in self.events if event["kind"] == "action"]
        if actions and not any("at" in event for event in actions):
            for event in self.events:
                event.pop("at", None)
        last = next((event["at"] for event in self.events if "at" in event), None)
        for event in self.events:
            if last is None:
                event["source"] = UNTIMED
            else:
                last = event.setdefault("at", last)
        if self.is_whole:
            self._drop_single_batches()
        self._mark_prompts()
        if self.events:
            first = self.events[0]["attributes"]
            first.update((key, value) for key, value in self._metadata.items() if key not in first)
        yield from self._records

    def _drop_single_batches(self) -> None:
        actions = (event for event in self.events if event["kind"] == "action")
        sizes = Counter(event["attributes"].get("batch") for event in actions)
        for event in self.events:
            if sizes[event["attributes"].get("batch")] < 2:
                event["attributes"].pop("batch", None)

    def _mark_prompts(self) -> None:
        """Mark messages of the user that tell a program what to do, and are no part of a conversation.

        All of them where the agents work on their own, or in a graded trial, whose user is played; else those
        that only repeat the task of the run.
        """
        is_graded = any(self._metadata.get(key) for key in ("label", "labels"))
        is_task, task = is_graded or self._is_work(), self._metadata.get("task")
        for event in self.events:
            if event["attributes"].get("role") == "user" and (is_task or event["text"] == task):
                event["attributes"]["task_prompt"] = True

    def _is_work(self) -> bool:
        """Whether agents work on their own: the first answer is an action; or the user is silent from the
        first action or second agent on, and more is done than the user wrote; or a new system prompt is
        followed by several messages of the user at once, which a scaffold wrote.
        """
        roles = [event["attributes"].get("role") for event in self.events]
        acts = [
            n for n, role in enumerate(roles) if role not in ASKING and self.events[n]["kind"] != "result"
        ]
        if not acts or "user" not in roles:
            return False
        first, last_user = self.events[acts[0]], len(roles) - 1 - roles[::-1].index("user")
        starts = [
            n
            for n in acts
            if self.events[n]["kind"] == "action" or self.events[n]["subject"] != first["subject"]
        ]
        return bool(starts) and (
            starts[0] == acts[0]
            or (last_user < starts[0] and sum(n >= starts[0] for n in acts) > roles.count("user"))
            or any(roles[n : n + 3] == ["system", "user", "user"] for n in range(acts[0], len(roles)))
        )

    # Building events.

    def set_metadata(self, **values: Any) -> None:
        """Set what is known of the run as a whole (label, labels, task, ...); its first event carries it."""
        for key, value in values.items():
            if isinstance(value, str):
                self._metadata[key] = value[:RESULT_LENGTH]
            elif isinstance(value, (dict, list)):
                self._metadata[key] = tool_arguments({key: value}, LABEL_LENGTH)[key]
            elif value is not None:
                self._metadata[key] = value

    def message(
        self, role: str, text: str | None, *, at: Any = None, subject: str | None = None, **attributes: Any
    ) -> None:
        """Add a message; nothing where the text is empty.

        A mere role, such as the user, is a different subject in each run.
        """
        if text is None or not text.strip():
            return
        who = subject or (self.agent if role == "assistant" else f"{self.thread}/{role}")
        event = self._event("message", who, at, {"role": role, **attributes})
        if "target" not in event:
            event["target"] = self.agent if who != self.agent else f"{self.thread}/user"
        event["text"] = text[: self._text_length]
        if len(text) > self._text_length:
            event["attributes"]["text_length"] = len(text)
        self._append(event)

    def turn(
        self,
        text: str | None,
        calls: Sequence[ToolCall] = (),
        *,
        at: Any = None,
        subject: str | None = None,
        message_id: str | None = None,
        usage: Mapping[str, Any] | None = None,
        thought: str | None = None,
        **attributes: Any,
    ) -> None:
        """Add what an agent said and did in one message: its calls, or the text where it called nothing.

        The text beside calls is the thought of the first. Usage counts once for each `message_id`.
        """
        first = dict(attributes)
        if usage and (message_id is None or message_id not in self._counted):
            first |= usage
            self._counted |= {message_id} if message_id is not None else set()
        if not calls:
            if thought and text:
                first["thought"] = thought[:RESULT_LENGTH]
            self.message("assistant", text or thought, at=at, subject=subject, **first)
            return
        if beside := join_texts(part.strip() for part in (thought, text) if part):
            first["thought"] = beside[:RESULT_LENGTH]
        batch = message_id or f"{self.prefix}/{len(self.events)}"
        for number, call in enumerate(calls):
            # Tokens and thought belong to the message, so only its first call has them.
            self.call(call, at=at, subject=subject, **{"batch": batch, **(attributes if number else first)})

    def hold_turn(self, **turn: Any) -> None:
        """Keep a turn back until it is known whether a call belongs to it; see `take_held`."""
        self.release_held()
        self._held = (self.line, turn)

    def take_held(self) -> dict[str, Any] | None:
        """Return the turn that was held, to become part of another."""
        held, self._held = self._held, None
        return held[1] if held is not None else None

    def release_held(self) -> None:
        """Add the turn that was held as it is."""
        if self._held is not None:
            line, held_line = self.line, self._held[0]
            self.add_records(held_line, [self.take_held()], lambda turn: self.turn(**turn))
            self.line = line

    def call(self, call: ToolCall, *, at: Any = None, subject: str | None = None, **attributes: Any) -> None:
        """Add a call of a tool. One without a name is a step, too: an agent that forgets it has failed."""
        tool, call_id = as_name(call.tool), as_name(call.call_id)
        if tool is None and call.tool is not None and not isinstance(call.tool, str):
            raise BadLine(f"the name of a tool must be text, not {type_name(call.tool)}")
        arguments = tool_arguments(call.arguments, RESULT_LENGTH)
        own = {
            "tool": tool or UNNAMED,
            "arguments": arguments,
            "call_id": call_id,
            "path": path_in(arguments),
            "command": command_in(arguments),
        }
        own |= without_none(**attributes) | without_none(**call.attributes)
        event = self._event("action", subject or self.agent, at, own)
        self._append(event)
        self._waiting[event["id"]] = event
        if call_id is not None:
            self._calls[call_id] = event

    def ensure_call(self, call: ToolCall, **attributes: Any) -> None:
        """Add a call of a tool, unless it is there already: by its id or, without one, by its tool."""
        tool, call_id = as_name(call.tool) or UNNAMED, as_name(call.call_id)
        waits = any(event["attributes"]["tool"] == tool for event in self._waiting.values())
        if not (call_id in self._calls if call_id is not None else waits):
            self.call(call, **attributes)

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
        **attributes: Any,
    ) -> None:
        """Add the result of a call: the one of that id, or without an id the first that still waits.

        `text` is None where what came back was not recorded, '' where nothing came back. `error` true means
        that the text is the error message.
        """
        call = self._call_of(as_name(call_id), as_name(tool), subject)
        of_call = call["attributes"] if call else {}
        own: dict[str, Any] = {
            "tool": of_call.get("tool") or as_name(tool) or UNNAMED,
            "call_id": of_call.get("call_id") or as_name(call_id),
            **{key: of_call.get(key) for key in ("path", "command", "batch", "parent")},
            **without_none(**attributes),
            **_result_text(text),
        }
        if isinstance(exit_code, int) and not isinstance(exit_code, bool):
            own["exit_code"] = exit_code
        if error is not None and error is not False and error != "":
            message = error if isinstance(error, str) else text if text and text.strip() else True
            own["error"] = message[:ERROR_LENGTH] if isinstance(message, str) else True
        event = self._event("result", call["subject"] if call else subject or self.agent, at, own)
        if call and "at" in call and "at" in event:
            event["at"] = max(call["at"], event["at"])
        self._append(event)

    def has_result(self, call_id: str) -> bool:
        """Return whether the call of this id has ended."""
        call = self._calls.get(call_id)
        return call is not None and call["id"] not in self._waiting

    def fill_result(self, call_id: str, text: str) -> None:
        """Set the text of a call's result where it was recorded without."""
        results = (event["attributes"] for event in reversed(self.events) if event["kind"] == "result")
        result = next((item for item in results if item.get("call_id") == call_id), None)
        if result is not None and not result.get("result"):
            result |= _result_text(text)

    def condensation(self, text: str | None = None, *, at: Any = None, **attributes: Any) -> None:
        """Add that the history so far was replaced by a summary."""
        event = self._event("condensation", attributes.pop("subject", None) or self.agent, at, attributes)
        if text:
            event["text"] = text[: self._text_length]
        self._append(event)

    @property
    def last_act(self) -> dict[str, Any]:
        """The attributes of the last call or message of an agent; an empty object where there is none."""
        for event in reversed(self.events):
            attributes: dict[str, Any] = event["attributes"]
            if event["kind"] != "result" and attributes.get("role", "assistant") == "assistant":
                return attributes
        return {}

    def _event(self, kind: str, subject: str, at: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return a new event line. `id` and `target` among the attributes are the event's own."""
        own = {key: value for key, value in attributes.items() if value is not None}
        id_, target, moment = own.pop("id", len(self.events)), own.pop("target", None), moment_of(at)
        name = f"{self.prefix}/{id_}"
        self._ids[name] = count = self._ids.get(name, 0) + 1
        event: dict[str, Any] = {
            "id": name if count == 1 else f"{name}#{count}",
            "subject": subject,
            "thread": self.thread,
            "kind": kind,
            "attributes": own,
        }
        if isinstance(target, str):
            event["target"] = target
        if moment is not None:
            event["at"] = moment
        return event

    def _append(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        self._records.append((self.line, event, 0))

    def _call_of(self, call_id: str | None, tool: str | None, subject: str | None) -> dict[str, Any] | None:
        if call_id is not None:
            call = self._calls.get(call_id)
        else:
            waiting = list(self._waiting.values())
            same_tool = [event for event in waiting if event["attributes"]["tool"] == tool]
            same_subject = [event for event in waiting if subject in (None, event["subject"])]
            call = next(iter(same_tool or same_subject), None)
        if call is not None:
            self._waiting.pop(call["id"], None)
        return call


def _result_text(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    length = {"result_length": len(text)} if len(text) > RESULT_LENGTH else {}
    return {"result": text[:RESULT_LENGTH], **length}


class TranscriptAdapter(JsonAdapter):
    """A format of JSON documents that hold runs of agents."""

    beside: ClassVar[frozenset[str]] = frozenset()
    """Keys under which a document has objects that are no events of the run."""
    has_own_texts: ClassVar[bool] = False
    """Whether a document has texts for events beside its lists."""

    def documents(self, file: Input) -> Iterator[Document]:
        """Yield the documents of a file."""
        return documents(file)

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        """Yield each run once it is complete; `documents` are the lines and values of those that are JSON."""
        raise NotImplementedError

    def read(self, file: Input) -> Iterator[Record]:
        """Yield the events of each run, and a fault for each document that is not JSON."""
        faults: list[Record] = []

        def sound() -> Iterator[tuple[int, Any]]:
            for line, value, column in self.documents(file):
                if isinstance(value, Broken):
                    faults.append((line, str(value), column))
                else:
                    file.ledger.see(value, self.beside, is_object=self.has_own_texts)
                    yield line, value

        for run in self.runs(file, sound()):
            yield from faults
            faults.clear()
            yield from run.records()
        yield from faults
