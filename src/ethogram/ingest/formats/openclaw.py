"""OpenClaw telemetry: one record a line for each message, each start of an agent and each tool call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..format import Head, Input, adapter
from ..transcript import ToolCall, Transcript, TranscriptAdapter, run_name
from ..values import as_dict, as_name, need, number_at, recorded_text, text_at, text_of

KNOWN = ("message.in", "message.out", "agent.start", "agent.end", "tool.start", "tool.end")
SUB_AGENT = ":subagent:"


@adapter("openclaw")
class OpenClaw(TranscriptAdapter):
    """Lines with a `type` such as tool.start, and a `sessionKey` or a `channel`."""

    def matches(self, head: Head) -> bool:
        return any(
            record.get("type") in KNOWN and ("sessionKey" in record or "channel" in record)
            for record in head.objects
        )

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        agents: dict[str, Telemetry] = {}
        last = "main"
        for line, document in documents:
            last = as_name(as_dict(document).get("agentId")) or last
            run = agents.setdefault(last, Telemetry(f"{run_name(file.name)}/{last}", file, agent=last))
            run.add_records(line, [document])
        yield from agents.values()


class Telemetry(Transcript):
    """The records about one agent and the sub-agents it started."""

    def add(self, record: Any) -> None:
        fields = need(record, dict, "a record")
        kind, text, at = fields.get("type"), text_of(fields.get("content")), fields.get("timestamp")
        subject = self._subject(fields)
        parent = self.agent if subject != self.agent else None
        if kind == "message.in":
            self.message("user", text, at=at)
        elif kind == "message.out":
            self.message("assistant", text, at=at)
        elif kind == "tool.start":
            call = ToolCall(fields.get("toolName"), fields.get("params"), fields.get("toolCallId"))
            self.call(call, subject=subject, at=at, parent=parent)
        elif kind == "tool.end":
            milliseconds = number_at(fields, "durationMs")
            output = recorded_text(fields.get("result"))
            self.result(
                output or text_at(fields, "error") or output,
                call_id=fields.get("toolCallId"),
                tool=fields.get("toolName"),
                subject=subject,
                at=at,
                error=(text_at(fields, "error") or True) if fields.get("success") is False else None,
                duration=None if milliseconds is None else milliseconds / 1000,
            )
        elif kind in ("agent.start", "agent.end", "message.sending"):
            self.skip(f"records of the type {kind}")  # what they hold is in the others
        else:
            self.unknown(kind)

    def _subject(self, fields: Mapping[str, Any]) -> str:
        key = text_at(fields, "sessionKey") or ""
        return f"{self.agent}/{key.rpartition(':')[2]}" if SUB_AGENT in key else self.agent
