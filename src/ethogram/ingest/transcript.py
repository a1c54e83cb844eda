"""Transcripts: messages, tool calls and results of any agent, as events of a run."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from ..models import parse_time
from ..models.arguments import command_in, path_in
from ..models.constants import MAX_ERROR, MAX_RESULT
from .documents import dict_of, list_of, one_of, text_at
from .errors import BadLine, shown, type_name
from .format import Input, Record, Skipped

# What message formats have in common: names, times and labels as event lines have them.

_ZONE = re.compile(r"(Z|z|[+-]\d\d:?\d\d)$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d($|[T ]\d\d:\d\d)")
_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
DATE_ONLY = 10
MILLISECONDS = 1e11
"""Numbers above this are thousandths of a second: as seconds they would be in the year 5138."""
KNOWN = frozenset(("id", "kind", "parent", "to", "depth"))
"""Labels that become fields, or say only what those say."""


def name_of(value: Any) -> str | None:
    """A name or number as a name; None for anything else and for an empty one.

    >>> name_of(7), name_of("ann"), name_of({"name": "bob"}), name_of("")
    ('7', 'ann', 'bob', None)
    """
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("name", "username", "id") if value.get(key)), None)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def time_of(value: Any) -> tuple[str | None, str | None]:
    """A time with its zone, or a time of day alone; BadLine where it is neither. (None, None): there is none.

    Without a zone it is taken as UTC, a date alone as its first moment; numbers are seconds since 1970, or
    thousandths of them.

    >>> time_of("2004-12-25T09:14:00"), time_of(0), time_of("14:16:47")
    (('2004-12-25T09:14:00Z', None), ('1970-01-01T00:00:00Z', None), (None, '14:16:47'))
    """
    if value is None or value == "":
        return None, None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _moment(value), None
    if isinstance(value, str) and _CLOCK.fullmatch(value):
        return None, value
    if not isinstance(value, str) or not _DATE.match(value):
        raise BadLine(f"{shown(value)} is no time; write it like 2026-11-15T03:10:00Z")
    if len(value) == DATE_ONLY:
        return f"{value}T00:00:00Z", None
    return (value if _ZONE.search(value) else f"{value}Z"), None


def _moment(number: float) -> str:
    try:
        seconds = number / 1000 if abs(number) > MILLISECONDS else number
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        raise BadLine(f"{shown(number)} is no time: too far from now for seconds since 1970") from None


def plain_labels(labels: Mapping[str, Any]) -> dict[str, Any]:
    """Labels that are names or numbers, as attributes; the others are left out.

    >>> plain_labels({"up": 1, "parent": "p", "score": "3", "tags": ["a"]})
    {'up': 1, 'score': '3'}
    """
    return {k: v for k, v in labels.items() if k not in KNOWN and isinstance(v, str | int | float | bool)}


# Values of runs: arguments, paths, commands, texts and token counts, as the many formats write them.

DEEPEST = 8
ENDINGS = (".gz", ".jsonl", ".ndjson", ".json", ".trajectory", ".traj", ".eval")
_GENERAL = re.compile(
    r"(?i)(\d+|trajector(y|ies)|messages?|logs?|events?|outputs?|runs?|traces?|spans?|sessions?|conversations?"
    r"|data|history|results?|transcript|chat|response)([.\-_]?\d+)?"
)


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def cut(text: str, most: int) -> str:
    """The text, without what is over the limit."""
    return text if len(text) <= most else text[:most]


def plain(value: Any) -> str | None:
    """A name or number as text; None for anything else and for an empty one."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def fit(arguments: Any, most: int) -> dict[str, Any]:
    """Arguments as an object, whether they came as one or as JSON text; long texts and deep parts cut.

    >>> fit('{"a": 1}', 10), fit("ls -l " * 9, 5), fit(None, 5)
    ({'a': 1}, {'input': 'ls -l'}, {})
    """
    told = arguments
    if isinstance(told, str):
        try:
            told = one_of(told) if told.strip() else {}
        except BadLine:
            told = arguments
    if told is None:
        return {}
    small = _fit(told, most, DEEPEST)
    return small if isinstance(small, dict) else {"input": small}


def _fit(value: Any, most: int, deeper: int) -> Any:
    if isinstance(value, str):
        return cut(value, most)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 1e300:
        return None
    if isinstance(value, dict | list) and deeper < 1:
        return cut(json.dumps(value), most)
    if isinstance(value, dict):
        return {cut(key, most): _fit(item, most, deeper - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_fit(item, most, deeper - 1) for item in value]
    return value


def text_of(content: Any) -> str:
    """The text of a message's content: plain, or in parts of which those that are no text are named.

    >>> text_of([{"type": "text", "text": "a"}, {"type": "image"}, "b"])
    'a\\n[image]\\nb'
    """
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return _part(content)
    if content is None:
        return ""
    if not isinstance(content, list):
        return json.dumps(content)
    return "\n".join(said for item in content if (said := _part(item)))


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    told = dict_of(part)
    for key in ("text", "content", "output", "output_text", "input_text", "refusal"):
        if isinstance(item := told.get(key), str):
            return item
        if isinstance(item, list):
            return text_of(item)
    return f"[{told['type']}]" if isinstance(told.get("type"), str) else json.dumps(part) if part else ""


def usage_of(usage: Any, **others: Any) -> dict[str, Any]:
    """Tokens in, out and in all. What a provider read from its cache counts as read.

    >>> usage_of({"input_tokens": 3, "cache_read_input_tokens": 10, "output_tokens": 2})
    {'input_tokens': 13, 'output_tokens': 2, 'tokens': 15}
    """
    told = dict_of(usage)
    out = number(told, "output_tokens", "completion_tokens")
    total = number(told, "total_tokens")
    into = number(told, "input_tokens", "prompt_tokens")
    if total is not None and out is not None and into is not None:
        into = max(into, total - out)
    elif into is not None:
        cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
        into += sum(number(told, key) or 0 for key in cached) if "prompt_tokens" not in told else 0
    if total is None and (into is not None or out is not None):
        total = (into or 0) + (out or 0)
    found = {"input_tokens": into, "output_tokens": out, "tokens": total, **others}
    return {key: value for key, value in found.items() if value is not None}


def number(record: Mapping[str, Any], *keys: str) -> Any:
    """The first of some keys that holds a number, also as text; None where none does."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and re.fullmatch(r"\d{1,15}(\.\d{1,9})?", value):
            value = float(value) if "." in value else int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
            return value
    return None


def seconds(value: Any) -> float | None:
    """A duration in seconds: a number, or ISO 8601 such as PT1M29.8S.

    >>> seconds("PT1M29.5S"), seconds(2), seconds("soon")
    (89.5, 2, None)
    """
    if isinstance(value, str):
        match = re.fullmatch(r"PT(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?", value)
        if match is None:
            return None
        hours, minutes, rest = (float(group or 0) for group in match.groups())
        return round(3600 * hours + 60 * minutes + rest, 9)
    found_number: float | None = number({"value": value}, "value")
    return found_number


def run_name(name: str) -> str:
    """The name of a run by its file: with that of the folder where the file's own says too little.

    >>> run_name("/data/django-11099.traj.json"), run_name("runs/r7/trajectory.json"), run_name("-")
    ('django-11099', 'r7/trajectory', 'stdin')
    """
    if name == "-":
        return "stdin"
    stem, cut_more = Path(name).name, True
    while cut_more:
        shorter = next((stem[: -len(end)] for end in ENDINGS if stem.lower().endswith(end)), stem)
        cut_more = shorter not in (stem, "")
        stem = shorter or stem
    folder = folder_of(name)
    return f"{folder}/{stem}" if folder and _GENERAL.fullmatch(stem) else stem


def folder_of(name: str, above: int = 0) -> str:
    """The name of the folder a file is in, or of one above it; '' at the top."""
    parents = Path(os.path.abspath(name)).parents  # noqa: PTH100 (nothing is looked up on disk)
    return parents[above].name if above < len(parents) else ""


def texts(blocks: Any, kind: str, key: str) -> str:
    """The texts under a key of those parts of a message that are of one type, joined."""
    found = (item.get(key) for item in list_of(blocks) if isinstance(item, dict) and item.get("type") == kind)
    return "\n".join(item for item in found if isinstance(item, str) and item)


# What has been told of a run: its records in order, each event with an id, a place in time and a thread.

LABEL = 2_000
TASK = 20_000
"""Characters kept of each text among the labels, and of what is said of a run as a whole."""

UNTIMED = "untimed"
"""The source of runs without times, so that they can be read together with others: times are a source's."""


class Told:
    """The records of a run. `line` is the line of the file that is being told."""

    is_whole: ClassVar[bool] = True
    """False where the calls of one batch may lie in other files."""

    def __init__(self, thread: str, prefix: str | None = None) -> None:
        self.thread = thread
        self.line = 1
        self.prefix = prefix or thread
        self.events: list[dict[str, Any]] = []
        self._records: list[Record] = []
        self._ids: dict[str, int] = {}
        self._facts: dict[str, Any] = {}

    def event(self, kind: str, subject: str, at: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """A new event line, which is told when it is added. Attributes that are None are left out."""
        told = {key: value for key, value in attributes.items() if value is not None}
        own = told.pop("id", None)
        moment = moment_of(at)
        line: dict[str, Any] = {
            "id": self._id(f"{self.prefix}/{own if own is not None else len(self.events)}"),
            "subject": subject,
            "thread": self.thread,
            "kind": kind,
            "attributes": told,
        }
        if isinstance(target := told.pop("target", None), str):
            line["target"] = target
        if moment is not None:
            line["at"] = moment
        return line

    def add_event(self, line: dict[str, Any]) -> None:
        """Tell an event."""
        self.events.append(line)
        self._records.append((self.line, line, 0))

    def facts(self, **facts: Any) -> None:
        """What is known of the run as a whole (label, labels, task, ...): told on its first event only."""
        for key, value in facts.items():
            if isinstance(value, str):
                self._facts[key] = cut(value, TASK)
            elif isinstance(value, dict | list):
                self._facts[key] = fit({key: value}, LABEL)[key]
            elif value is not None:
                self._facts[key] = value

    def skip(self, what: str) -> None:
        """Count a record that is left out."""
        self._records.append((self.line, Skipped(what), 0))

    def unknown(self, kind: Any) -> None:
        """Count a record of a type that is not known."""
        self.skip(f"records of the unknown type {shown(kind)}")

    def fault(self, message: str) -> None:
        """Tell what is wrong at this line."""
        self._records.append((self.line, message, 0))

    def tell(self, line: int, told: Callable[[Any], None], record: Any) -> None:
        """Let an adapter tell one record; what is wrong with it becomes a fault of its line."""
        self.line = line
        try:
            told(record)
        except BadLine as bad:
            self.fault(bad.message)

    def records(self) -> Iterator[Record]:
        """Everything, in order. Where some events have a time, the others have that of the one before."""
        last = next((line["at"] for line in self.events if "at" in line), None)
        for line in self.events:
            if last is None:
                line["source"] = UNTIMED
            else:
                last = line.setdefault("at", last)
        if self.is_whole:
            self._drop_single_batches()
        if self.events:
            own = self.events[0]["attributes"]
            own.update((key, value) for key, value in self._facts.items() if key not in own)
        yield from self._records

    def _drop_single_batches(self) -> None:
        acts = (line for line in self.events if line["kind"] == "action")
        sizes = Counter(line["attributes"].get("batch") for line in acts)
        for line in self.events:
            if sizes[line["attributes"].get("batch")] < 2:
                line["attributes"].pop("batch", None)

    def _id(self, name: str) -> str:
        """The name, with a number where the run has it already."""
        self._ids[name] = count = self._ids.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"


def moment_of(value: Any) -> datetime | None:
    """A time as a moment; None where there is none, BadLine where it is something else."""
    if isinstance(value, datetime):
        return value
    at, _ = time_of(value)
    if at is None:
        return None
    try:
        return parse_time(at)
    except ValueError as error:
        raise BadLine(f"time: {error}") from None


# Run: the events of one run of an agent, in the same shape whatever program recorded it.
#
# An adapter says what happened, in order; this joins results to calls, names, times and cuts.
#
#     run = Run("session-1", file)
#     run.message("user", "Fix the test.")
#     run.turn("Let me look.", [Call("read_file", {"path": "a.py"}, "c1")])
#     run.result("no such file", call_id="c1", error=True)
#     yield from run.records()

AGENT = "agent"


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
            beside = {"thought": cut(thought, MAX_RESULT)} if thought and text else {}
            self.message("assistant", said, at=at, subject=subject, **beside, **extra)
            return
        beside_calls = "\n".join(item.strip() for item in (thought, text) if item and item.strip())
        if beside_calls:
            extra["thought"] = cut(beside_calls, MAX_RESULT)
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
        arguments = fit(call.arguments, MAX_RESULT)
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
        waits = any(item["attributes"]["tool"] == tool for item in self._waiting.values())
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
        record: dict[str, Any] = {
            "tool": beside.get("tool") or plain(tool) or "unknown",
            "call_id": beside.get("call_id") or plain(call_id),
            "path": beside.get("path"),
            "command": beside.get("command"),
            "batch": beside.get("batch"),
            "parent": beside.get("parent"),
        }
        record.update((key, value) for key, value in facts.items() if value is not None)
        said = text or ""
        record["result"] = cut(said, MAX_RESULT)
        if len(said) > MAX_RESULT:
            record["result_length"] = len(said)
        if isinstance(exit_code, int) and not isinstance(exit_code, bool):
            record["exit_code"] = exit_code
        if error is not None and error is not False and error != "":
            record["error"] = _error(error, said)
        line = self.event("result", call["subject"] if call else subject or self.agent, at, record)
        if call and "at" in call and "at" in line:
            line["at"] = max(call["at"], line["at"])
        self.add_event(line)

    def has_result(self, call_id: str) -> bool:
        """Whether the call of this id has ended."""
        call = self._open.get(call_id)
        return call is not None and call["id"] not in self._waiting

    def fill_result(self, call_id: str, text: str) -> None:
        """What a call gave, where its result was told without it."""
        results = (event["attributes"] for event in reversed(self.events) if event["kind"] == "result")
        told = next((result for result in results if result.get("call_id") == call_id), None)
        if told is not None and not told["result"]:
            told["result"] = cut(text, MAX_RESULT)
            told.update({"result_length": len(text)} if len(text) > MAX_RESULT else {})

    def condensation(self, text: str | None = None, *, at: Any = None, **facts: Any) -> None:
        """What went before was replaced by a summary."""
        line = self.event("condensation", facts.pop("subject", None) or self.agent, at, facts)
        if text:
            line["text"] = cut(text, self._most)
        self.add_event(line)

    @property
    def last_act(self) -> dict[str, Any] | None:
        """The last thing an agent did or said."""
        acts = (event for event in reversed(self.events) if event["kind"] != "result")
        return next((act for act in acts if act["attributes"].get("role", "assistant") == "assistant"), None)

    def add_to_last(self, facts: Mapping[str, Any]) -> None:
        """What is known only afterwards of the last thing an agent did or said."""
        if (last := self.last_act) is not None:
            last["attributes"].update(facts)

    def _call_of(self, call_id: str | None, tool: str | None, subject: str | None) -> dict[str, Any] | None:
        found = self._open.get(call_id) if call_id is not None else None
        if call_id is None:
            waiting = self._waiting.values()
            same = (item for item in waiting if item["attributes"]["tool"] == tool)
            found = next(same, None) or next(
                (item for item in waiting if subject in (None, item["subject"])), None
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


def _error(error: Any, text: str) -> Any:
    if isinstance(error, str):
        return cut(error, MAX_ERROR)
    return cut(text, MAX_ERROR) if text.strip() else True


# Logs of requests to a model: every request repeats what was said before, and it is told once.

R = TypeVar("R")
TEXTS = frozenset((None, "text", "input_text", "output_text"))


class Requests(Generic[R]):
    """Which run a request goes on with: the one whose whole talk so far it begins with."""

    def __init__(self) -> None:
        self._ends: dict[bytes, R] = {}
        self._named: dict[str, R] = {}

    @property
    def is_begun(self) -> bool:
        """Whether anything was kept yet."""
        return bool(self._ends or self._named)

    def run_of(
        self, messages: Sequence[Any], make: Callable[[], R], before: str | None = None
    ) -> tuple[R, int]:
        """The run, and how many of the messages it was told already; a new one where none fits.

        `before` is the id of the answer that this request says it follows; then nothing is repeated.
        """
        if before is not None and before in self._named:
            return self._named[before], 0
        ends = _ends(messages)
        for count in range(len(ends), 0, -1):
            if (end := self._ends.pop(ends[count - 1], None)) is not None:
                return end, count
        return make(), 0

    def keep(
        self, run: R, messages: Sequence[Any], answer: Iterable[Any] = (), name: str | None = None
    ) -> None:
        """A run that was told all of this, and the id of the answer it ended with."""
        if ends := _ends([*messages, *answer]):
            self._ends[ends[-1]] = run
        if name is not None:
            self._named[name] = run


def _ends(messages: Sequence[Any]) -> list[bytes]:
    """A digest of the messages up to each of them."""
    whole = blake2b(digest_size=16)
    out = []
    for message in messages:
        if (text := message_key(message)) is not None:
            whole.update(text.encode("utf-8", "surrogatepass") + b"\0")
        out.append(whole.digest())
    return out


def message_key(message: Any) -> str | None:
    """What stays of a message when it is sent again: who says it, its words, and the ids of calls.

    Libraries drop empty fields, marks for caches and thoughts, so none of these counts. None: a thought.
    """
    item = dict_of(message)
    if item.get("type") == "reasoning":
        return None
    content = item.get("content")
    blocks = [dict_of(block) for block in list_of(content)]
    said = (
        content if isinstance(content, str) else text_of([b for b in blocks if text_at(b, "type") in TEXTS])
    )
    held: list[Mapping[str, Any]] = [item, *blocks, *map(dict_of, list_of(item.get("tool_calls")))]
    ids = [text_at(box, "tool_use_id", "tool_call_id", "call_id") for box in held[: 1 + len(blocks)]]
    ids += [text_at(box, "id") for box in held[1:]]
    return json.dumps(
        [text_at(item, "role"), said, [name for name in ids if name], item.get("function_call")]
    )
