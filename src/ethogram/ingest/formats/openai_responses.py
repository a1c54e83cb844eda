"""OpenAI Responses API: response objects or their items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..documents import Broken, dict_of, documents, list_of, need, one_of, text_at
from ..errors import BadLine
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import Call, Requests, Run, number, run_name, text_of, usage_of, words

# Items of OpenAI's Responses: messages, calls and their outputs, each on its own and in order.

CALLS = words(
    "function_call custom_tool_call local_shell_call shell_call apply_patch_call mcp_call web_search_call "
    "file_search_call computer_call code_interpreter_call image_generation_call tool_search_call"
)
ROLES = frozenset(("user", "assistant", "system", "developer"))
OWN = frozenset(("reasoning", "compaction", "compaction_summary", "item_reference", *CALLS))
SILENT = frozenset(
    ("item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "ghost_snapshot")
)
GIVEN = ("arguments", "input", "action", "operation", "code", "queries", "query")
SERVED = frozenset(
    ("mcp_call", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call")
)
"""Calls that run on the server: the item holds its own result."""
_RAN = re.compile(
    r"(?:Chunk ID: \w+\n|Wall time: [\d.]+ seconds\n|Exit code: -?\d+\n|Total output lines: \d+\n"
    r"|Process (?:exited with code -?\d+|running with session ID \d+)\n|Original token count: \d+\n)+"
    r"Output:\n"
)
_EXIT = re.compile(r"(?:Exit code:|exited with code) (-?\d{1,9})\n")
_WALL = re.compile(r"Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds\n")
"""What Codex writes over the output of a command."""


def is_output(kind: Any) -> bool:
    """Whether an item holds what a call gave."""
    return isinstance(kind, str) and kind.endswith("_output")


def is_item(value: Any) -> bool:
    """Whether an object is an item of its own kind; plain messages are written elsewhere too."""
    kind = text_at(value, "type")
    return (
        kind in OWN
        or (is_output(kind) and "call_id" in dict_of(value))
        or (kind == "message" and _has_parts(value))
    )


def _has_parts(value: Any) -> bool:
    parts = list_of(dict_of(value).get("content"))
    return bool(parts) and text_at(parts[0], "type") in ("input_text", "output_text", "refusal")


class Items:
    """Items as they are told. A thought, and what is said before a call, waits for that call; calls that
    follow each other are a batch."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._thought: list[str] = []
        self._batch = 0
        self._calling = False

    def add(self, record: Any, *, at: Any = None, **facts: Any) -> None:
        """Tell one item."""
        item = need(record, dict, "an item")
        kind = text_at(item, "type") or ("message" if "role" in item else None)
        self._calling = self._calling and kind in CALLS
        if kind == "reasoning":
            said = text_of(item.get("summary")) or text_of(item.get("content"))
            self._thought.extend([said] if said else [])
        elif kind in CALLS:
            self._call(item, kind or "", at, facts)
        elif kind not in SILENT:
            self.run.release()
            self._other(item, kind, at, facts)

    def _other(self, item: Mapping[str, Any], kind: Any, at: Any, facts: Mapping[str, Any]) -> None:
        role = text_at(item, "role")
        if is_output(kind):
            said, known = _outcome(item.get("output"))
            self.run.result(said, call_id=item.get("call_id"), at=at, **known)
        elif kind in ("compaction", "compaction_summary"):
            self.run.condensation(text_at(item, "summary"), at=at)
        elif kind != "message" or role not in ROLES:
            self.run.unknown(kind if kind != "message" else role)
        elif role == "assistant":
            text = text_of(item.get("content"))
            self.run.hold(text=text, thought=self._taken(), at=at, **facts)
        else:
            self.run.message("user" if role == "user" else "system", text_of(item.get("content")), at=at)

    def _call(self, item: Mapping[str, Any], kind: str, at: Any, facts: Mapping[str, Any]) -> None:
        given = next((item[key] for key in GIVEN if item.get(key) is not None), None)
        tool = item.get("name") or kind.removesuffix("_call")
        call_id = item.get("call_id") or item.get("id")
        held = self.run.taken() or {}
        self._batch += not self._calling
        self._calling = True
        self.run.turn(
            held.get("text"),
            [Call(tool, given, call_id)],
            thought=held.get("thought") or self._taken(),
            at=at,
            batch=f"{self.run.thread}/batch {self._batch}",
            **facts,
        )
        if kind in SERVED and item.get("status") not in ("in_progress", None):
            error = item.get("error")
            output = item.get("output", item.get("results", item.get("outputs")))
            failed = text_of(error) if error is not None else item.get("status") == "failed"
            self.run.result(text_of(output), call_id=call_id, error=failed, at=at)

    def _taken(self) -> str | None:
        said, self._thought = "\n".join(self._thought), []
        return said or None


def _outcome(output: Any) -> tuple[str, dict[str, Any]]:
    """Text and exit code of an output, which some programs wrap in JSON or in lines of their own.

    Codex's lines go, since they name each piece anew: the same output must stay the same text.
    """
    told: Any = output
    if isinstance(output, str) and output.startswith("{"):
        try:
            told = one_of(output)
        except BadLine:
            told = Broken(output)
    metadata = dict_of(dict_of(told).get("metadata"))
    if isinstance(told, dict) and isinstance(told.get("output"), str) and metadata:
        return told["output"], {
            "exit_code": number(metadata, "exit_code"),
            "duration": number(metadata, "duration_seconds"),
        }
    said = text_of(output)
    if (match := _RAN.match(said)) is None:
        return said, {}
    code, lasted = _EXIT.search(match[0]), _WALL.search(match[0])
    return said[match.end() :], {
        "exit_code": int(code[1]) if code else None,
        "duration": float(lasted[1]) if lasted else None,
    }


# OpenAI Responses: response objects, or the items they are made of, as an array or one on each line.


@adapter("openai_responses")
class OpenAiResponses(Adapter):
    """Objects with `object: response` and an `output`, or items such as function_call and its output."""

    def recognises(self, head: bytes, name: str) -> bool:
        objects = list(look(head).objects)
        if any("payload" in item or "record_type" in item for item in objects):
            return False
        return any(is_item(item) or _is_response(item) for item in objects)

    def read(self, file: Input) -> Iterator[Record]:
        """The events of each run: the items in their order; items on their own are one run together."""
        name = run_name(file.name)
        alone = Talk(name, file)
        log: Requests[Talk] = Requests()
        talks: list[Talk] = []
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif isinstance(told, dict) and _is_exchange(told):
                alone.run.line = line
                talks += _exchange(told, name, alone, log, file)
            else:
                alone.run.tell(line, alone.items.add, told)
        for talk in (alone, *talks):
            yield from talk.run.records()


class Talk:
    """One run, the items told of it, and the instructions it had last: they are sent with every request."""

    def __init__(self, thread: str, file: Input) -> None:
        self.run = Run(thread, file)
        self.items = Items(self.run)
        self._instructions: str | None = None

    def instruct(self, value: Any) -> None:
        """Tell instructions, where they are new."""
        if isinstance(value, str) and value != self._instructions:
            self.run.message("system", value)
            self._instructions = value

    def answer(self, response: Mapping[str, Any]) -> None:
        """Tell the items of a response. Its usage counts once, so it stands on the first of them."""
        output = response.get("output")
        if output is not None and not isinstance(output, list):
            self.run.fault(f"output must be a list, not {text_of(output)[:40]!r}")
        facts = {
            "at": response.get("created_at"),
            "name": text_at(response, "id"),
            "model": text_at(response, "model"),
        }
        usage = usage_of(response.get("usage"))
        for item in list_of(output):
            self.run.tell(self.run.line, lambda item: self.items.add(item, usage=usage, **facts), item)


def _is_exchange(record: Mapping[str, Any]) -> bool:
    """Whether this is a request, a response, or both; and no item."""
    return "type" not in record and any(key in record for key in ("output", "input", "request", "response"))


def _is_response(record: Mapping[str, Any]) -> bool:
    if text_at(record, "object") == "response" or text_at(record.get("response"), "object") == "response":
        return True
    inner = [*list_of(record.get("output")), *list_of(record.get("input"))]
    return any(map(is_item, inner)) and "type" not in record


def _exchange(
    record: Mapping[str, Any], name: str, alone: Talk, log: Requests[Talk], file: Input
) -> list[Talk]:
    """Tell what a request and its response add. The run, where it is a new one."""
    request, response = dict_of(record.get("request")) or record, dict_of(record.get("response")) or record
    value = request.get("input")
    new: list[Talk] = []

    def made() -> Talk:
        # Answers on their own, and the first request, are the run of the file.
        if value is None or (not alone.run.events and not log.is_begun):
            return alone
        new.append(Talk(f"{name}/{alone.run.line}", file))
        return new[0]

    items = [{"role": "user", "content": value}] if isinstance(value, str) else list_of(value)
    before = text_at(request, "previous_response_id") or text_at(response, "previous_response_id")
    talk, known = log.run_of(items, made, before)
    talk.run.line = alone.run.line
    talk.instruct(request.get("instructions"))
    for item in items[known:]:
        talk.run.tell(talk.run.line, talk.items.add, item)
    talk.answer(response)
    whole = items if before is None else []
    log.keep(talk, whole, list_of(response.get("output")) if whole else [], text_at(response, "id"))
    return new
