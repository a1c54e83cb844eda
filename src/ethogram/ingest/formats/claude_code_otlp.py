"""Claude Code telemetry: the log records that it exports over OTLP, as JSON; one run for each session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..format import Head, Input, adapter
from ..transcript import ToolCall, Transcript, TranscriptAdapter
from ..values import as_dict, as_dicts, as_name, number_at, text_at, token_usage
from .opentelemetry import nested

PREFIX = "claude_code."
REJECTED = "rejected by the user"
USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_creation_tokens": "cache_creation_input_tokens",
}


@adapter("claude_code_otlp")
class ClaudeCodeLogs(TranscriptAdapter):
    """`resourceLogs` with a record whose body begins with `claude_code.`."""

    beside = frozenset(("resource", "scope"))

    def matches(self, head: Head) -> bool:
        return any(log_name(log) for record in head.objects for log in _logs(record))

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        sessions: dict[str, SessionLogs] = {}
        for line, document in documents:
            for log in _logs(document):
                fields = nested(log.get("attributes"))
                session = as_name(as_dict(fields.get("session")).get("id")) or "session"
                run = sessions.setdefault(session, SessionLogs(session, file))
                run.add_records(line, [(log_name(log), fields)])
        yield from sessions.values()


def _logs(document: Any) -> Iterator[Mapping[str, Any]]:
    for resource in as_dicts(as_dict(document).get("resourceLogs")):
        for scope in as_dicts(resource.get("scopeLogs")):
            yield from as_dicts(scope.get("logRecords"))


def log_name(log: Mapping[str, Any]) -> str:
    """The name of a record of Claude Code; '' for others."""
    body = text_at(as_dict(log.get("body")), "stringValue") or ""
    return body.removeprefix(PREFIX) if body.startswith(PREFIX) else ""


class SessionLogs(Transcript):
    """The records of one session. A call is logged when it was decided on and when it ended."""

    def __init__(self, thread: str, file: Input) -> None:
        super().__init__(thread, file)
        self._decided: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}

    def add(self, record: Any) -> None:
        name, fields = record
        at = as_dict(fields.get("event")).get("timestamp")
        call_id = text_at(fields, "tool_use_id")
        if name == "user_prompt":
            self.message("user", text_at(fields, "prompt", "prompt_text"), at=at)
        elif name == "assistant_response":
            self.turn(text_at(fields, "response"), at=at, usage=self._take_usage())
        elif name == "tool_decision" and text_at(fields, "decision") == "reject":
            self._call(fields, at)
            self.result(REJECTED, call_id=call_id, at=at, error=True)
        elif name == "tool_decision":
            self._decided[call_id or ""] = at
            self.ignore()
        elif name == "tool_result":
            self._call(fields, self._decided.pop(call_id or "", at))
            milliseconds = number_at(fields, "duration_ms")
            failed = text_at(fields, "success") == "false"
            self.result(
                text_at(fields, "error"),
                call_id=call_id,
                at=at,
                error=failed,
                duration=None if milliseconds is None else milliseconds / 1000,
                error_type=text_at(fields, "error_type"),
                result_length=number_at(fields, "tool_result_size_bytes"),
            )
        elif name == "api_request":
            usage = {other: number_at(fields, key) for key, other in USAGE.items()}
            self._usage = token_usage(usage, cost=number_at(fields, "cost_usd"))
            self.ignore()
        else:
            self.skip(f"records of the type {PREFIX}{name}" if name else "log records of other programs")

    def _call(self, fields: Mapping[str, Any], at: Any) -> None:
        arguments = fields.get("tool_input") or fields.get("tool_parameters")
        call = ToolCall(fields.get("tool_name"), arguments, fields.get("tool_use_id"))
        self.call(call, at=at, **self._take_usage())

    def _take_usage(self) -> dict[str, Any]:
        usage, self._usage = self._usage, {}
        return usage
