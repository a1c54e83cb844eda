"""OpenAI Responses API: response objects or their items, as an array, on lines, or in a log of requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BadLine, type_name
from ..format import Head, Input, adapter
from ..request_log import RequestLog
from ..streams import parse_only
from ..transcript import ToolCall, Transcript, TranscriptAdapter, run_name
from ..values import as_dict, as_list, join_texts, need, number_at, text_at, text_of, token_usage, words

CALLS = words(
    "function_call custom_tool_call local_shell_call shell_call apply_patch_call mcp_call web_search_call "
    "file_search_call computer_call code_interpreter_call image_generation_call tool_search_call"
)
SERVER_CALLS = words("mcp_call web_search_call file_search_call code_interpreter_call image_generation_call")
"""Calls that run on the server: the item holds its own result."""
ARGUMENTS = ("arguments", "input", "action", "operation", "code", "queries", "query")
ROLES = frozenset(("user", "assistant", "system", "developer"))
OWN = frozenset(("reasoning", "compaction", "compaction_summary", "item_reference", *CALLS))
SILENT = words("item_reference mcp_list_tools mcp_approval_request mcp_approval_response ghost_snapshot")
_CODEX_HEADER = re.compile(
    r"(?:Chunk ID: \w+\n|Wall time: [\d.]+ seconds\n|Exit code: -?\d+\n|Total output lines: \d+\n"
    r"|Process (?:exited with code -?\d+|running with session ID \d+)\n|Original token count: \d+\n)+"
    r"Output:\n"
)
_EXIT = re.compile(r"(?:Exit code:|exited with code) (-?\d{1,9})\n")
_WALL = re.compile(r"Wall time: (\d{1,9}(?:\.\d{1,9})?) seconds\n")


@adapter("openai_responses")
class OpenAiResponses(TranscriptAdapter):
    """Objects with `object: response` and an `output`, or items such as function_call and its output."""

    has_own_texts = True

    def matches(self, head: Head) -> bool:
        if any("payload" in record or "record_type" in record for record in head.objects):
            return False
        return any(is_item(record) or _is_response(record) for record in head.objects)

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        """Yield each run; items on their own, and the first request, are the run of the file."""
        name = run_name(file.name)
        first, others = ResponsesTranscript(name, file), list[ResponsesTranscript]()
        log: RequestLog[ResponsesTranscript] = RequestLog()
        for line, document in documents:
            if not isinstance(document, dict) or not _is_exchange(document):
                first.add_records(line, [document])
                continue
            request = as_dict(document.get("request")) or document
            response = as_dict(document.get("response")) or document
            prompt = request.get("input")
            items = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else as_list(prompt)
            previous = text_at(request, "previous_response_id") or text_at(response, "previous_response_id")

            def create(
                own: bool = prompt is not None and bool(first.events or not log.is_empty), line: int = line
            ) -> ResponsesTranscript:
                if own:
                    others.append(ResponsesTranscript(f"{name}/{line}", file))
                return others[-1] if own else first

            run, known = log.run_of(items, create, previous)
            run.add_exchange(line, request.get("instructions"), items[known:], response)
            output = as_list(response.get("output"))
            log.record(run, [*items, *output] if previous is None and items else [], text_at(response, "id"))
        yield from (first, *others)


def is_item(record: Any) -> bool:
    """Return whether an object is an item of a kind of its own; plain messages are written elsewhere too."""
    kind, fields = text_at(record, "type"), as_dict(record)
    if kind == "message":
        parts = as_list(fields.get("content"))
        return bool(parts) and text_at(parts[0], "type") in ("input_text", "output_text", "refusal")
    return kind in OWN or (kind is not None and kind.endswith("_output") and "call_id" in fields)


def _is_response(record: Mapping[str, Any]) -> bool:
    if text_at(record, "object") == "response" or text_at(record.get("response"), "object") == "response":
        return True
    items = [*as_list(record.get("output")), *as_list(record.get("input"))]
    return any(map(is_item, items)) and "type" not in record


def _is_exchange(record: Mapping[str, Any]) -> bool:
    """Return whether this is a request, a response, or both; and no item."""
    return "type" not in record and any(key in record for key in ("output", "input", "request", "response"))


class ItemTranscript(Transcript):
    """A run whose records are items. Thoughts, and the message before a call, become part of that call;
    calls that follow each other are a batch."""

    def __init__(self, thread: str, file: Input) -> None:
        super().__init__(thread, file)
        self._thoughts: list[str] = []
        self._batch = 0
        self._in_batch = False

    def add(self, record: Any) -> None:
        self.add_item(record)

    def add_item(self, record: Any, *, at: Any = None, **attributes: Any) -> None:
        """Add one item with what is known beside it."""
        item = need(record, dict, "an item")
        kind = text_at(item, "type") or ("message" if "role" in item else None)
        self._in_batch = self._in_batch and kind in CALLS
        if kind == "reasoning":
            self._thoughts.append(text_of(item.get("summary")) or text_of(item.get("content")))
        elif kind is not None and kind in CALLS:
            self._call(item, kind, at, attributes)
        elif kind in SILENT:
            self.ignore()
        else:
            self.release_held()
            self._other(item, kind, at, attributes)

    def _other(
        self, item: Mapping[str, Any], kind: str | None, at: Any, attributes: Mapping[str, Any]
    ) -> None:
        role, text = text_at(item, "role"), text_of(item.get("content"))
        if kind is not None and kind.endswith("_output"):
            output, outcome = _outcome(item.get("output"))
            self.result(output, call_id=item.get("call_id"), at=at, **outcome)
        elif kind in ("compaction", "compaction_summary"):
            self.condensation(text_at(item, "summary"), at=at)
        elif kind != "message" or role not in ROLES:
            self.unknown(kind if kind != "message" else role)
        elif role == "assistant":
            self.hold_turn(text=text, thought=self._take_thoughts(), at=at, **attributes)
        else:
            self.message("user" if role == "user" else "system", text, at=at)

    def _call(self, item: Mapping[str, Any], kind: str, at: Any, attributes: Mapping[str, Any]) -> None:
        arguments = next((item[key] for key in ARGUMENTS if item.get(key) is not None), None)
        call_id = item.get("call_id") or item.get("id")
        held = self.take_held() or {}
        self._batch += not self._in_batch
        self._in_batch = True
        self.turn(
            held.get("text"),
            [ToolCall(item.get("name") or kind.removesuffix("_call"), arguments, call_id)],
            thought=held.get("thought") or self._take_thoughts(),
            at=at,
            batch=f"{self.thread}/batch {self._batch}",
            **attributes,
        )
        if kind in SERVER_CALLS and item.get("status") not in ("in_progress", None):
            error = item.get("error")
            output = item.get("output", item.get("results", item.get("outputs")))
            failed = text_of(error) if error is not None else item.get("status") == "failed"
            self.result(text_of(output), call_id=call_id, error=failed, at=at)

    def _take_thoughts(self) -> str | None:
        thoughts, self._thoughts = self._thoughts, []
        return join_texts(thoughts) or None


class ResponsesTranscript(ItemTranscript):
    """A run of requests and responses; the instructions are sent with every request."""

    instructions: str | None = None

    def add_exchange(
        self, line: int, instructions: Any, items: list[Any], response: Mapping[str, Any]
    ) -> None:
        """Add what a request and its response bring. Usage counts once for each response."""
        self.line = line
        if isinstance(instructions, str) and instructions != self.instructions:
            self.message("system", instructions)
            self.instructions = instructions
        self.add_records(line, items)
        output = response.get("output")
        if output is not None and not isinstance(output, list):
            self.fault(f"output must be a list, not {type_name(output)}")
        attributes = {
            "at": response.get("created_at"),
            "message_id": text_at(response, "id"),
            "model": text_at(response, "model"),
            "usage": token_usage(response.get("usage")),
        }
        self.add_records(line, as_list(output), lambda item: self.add_item(item, **attributes))


def _outcome(output: Any) -> tuple[str, dict[str, Any]]:
    """Return text and exit code of an output, which some programs wrap in JSON or in lines of their own.

    Codex's lines are dropped, since they number each piece anew: the same output must stay the same text.
    """
    wrapper: Any = output
    if isinstance(output, str) and output.startswith("{"):
        try:
            wrapper = parse_only(output, lenient=True)
        except BadLine:
            wrapper = None
    inner, metadata = text_at(wrapper, "output"), as_dict(as_dict(wrapper).get("metadata"))
    if isinstance(as_dict(wrapper).get("output"), str) and metadata:
        code, seconds = number_at(metadata, "exit_code"), number_at(metadata, "duration_seconds")
        return inner or "", {"exit_code": code, "duration": seconds}
    text = text_of(output)
    header = _CODEX_HEADER.match(text)
    if header is None:
        return text, {}
    exit_code, wall = _EXIT.search(header[0]), _WALL.search(header[0])
    return text[header.end() :], {
        "exit_code": int(exit_code[1]) if exit_code else None,
        "duration": float(wall[1]) if wall else None,
    }
