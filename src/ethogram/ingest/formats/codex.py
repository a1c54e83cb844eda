"""Codex: the rollout of a session, as JSON lines of `timestamp`, `type` and `payload`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..format import Head, Input, adapter
from ..transcript import Transcript, TranscriptAdapter, run_name
from ..values import as_dict, need, text_at, text_of, token_usage, words
from .openai_responses import ItemTranscript, is_item

TYPES = words("session_meta response_item event_msg turn_context compacted session_state")
SILENT = frozenset(("event_msg", "session_state", "world_state", "token_usage_record"))
"""Lines that repeat the items for the user interface, or describe the environment."""
NOISE = ("<environment_context>", "<user_instructions>", "<permissions instructions>")


@adapter("codex")
class Codex(TranscriptAdapter):
    """Lines with a `type` such as response_item and a `payload`; older ones hold the items themselves."""

    def matches(self, head: Head) -> bool:
        lines = head.objects
        if any(text_at(line, "type") in TYPES and isinstance(line.get("payload"), dict) for line in lines):
            return True
        return any("record_type" in line for line in lines) and any(map(is_item, lines))

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        """Yield the one session, whose first line has its name."""
        lines = list(documents)
        first = as_dict(lines[0][1]) if lines else {}
        run = CodexTranscript(
            text_at(first.get("payload"), "id") or text_at(first, "id") or run_name(file.name), file
        )
        for number, line in lines:
            run.add_records(number, [line])
        yield run


class CodexTranscript(ItemTranscript):
    """The lines of one session."""

    model: str | None = None

    def add(self, record: Any) -> None:
        line = need(record, dict, "a line")
        kind, at = text_at(line, "type"), line.get("timestamp")
        payload = as_dict(line.get("payload"))
        if kind == "session_meta" or (kind is None and "instructions" in line):
            self.set_metadata(cwd=text_at(payload, "cwd"))
            self.ignore()
        elif kind == "turn_context":
            self.model = text_at(payload, "model")
            self.ignore()
        elif kind == "response_item":
            self._add_item(need(line.get("payload"), dict, "payload"), at)
        elif kind == "compacted":
            self.condensation(text_at(payload, "message"), at=at)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            # Tokens come after what they were used for.
            self.release_held()
            self.last_act.update(token_usage(as_dict(payload.get("info")).get("last_token_usage")))
            self.ignore()
        elif "payload" not in line and kind is not None:
            self._add_item(line, at)
        elif kind in SILENT or "record_type" in line:
            self.ignore()
        else:
            self.unknown(kind)

    def _add_item(self, item: Mapping[str, Any], at: Any) -> None:
        if item.get("role") != "user" or not text_of(item.get("content")).startswith(NOISE):
            self.add_item(item, at=at, model=self.model)
        else:
            self.ignore()
