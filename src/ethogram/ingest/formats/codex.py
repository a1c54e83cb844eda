"""Codex: the rollout of a session, as JSON lines of `timestamp`, `type` and `payload`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..documents import Broken, dict_of, documents, need, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import Run, run_name, text_of, usage_of
from .openai_responses import Items, is_item

TYPES = frozenset(
    ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "session_state")
)
SILENT = frozenset(("event_msg", "session_state", "world_state", "token_usage_record"))
"""What the program shows of the items, which stand beside it, and what it says of its surroundings."""
NOISE = ("<environment_context>", "<user_instructions>", "<permissions instructions>")


@adapter("codex")
class Codex(Adapter):
    """Lines with a `type` such as response_item and a `payload`; older ones hold the items themselves."""

    def recognises(self, head: bytes, name: str) -> bool:
        objects = list(look(head).objects)
        if any(
            item.get("type") in TYPES and isinstance(item.get("payload"), dict)
            for item in objects
            if _typed(item)
        ):
            return True
        return any("record_type" in item for item in objects) and any(map(is_item, objects))

    def read(self, file: Input) -> Iterator[Record]:
        """The events of one session."""
        numberses: list[tuple[int, Any]] = []
        for line, value, column in documents(file):
            if isinstance(value, Broken):
                yield line, str(value), column
            else:
                numberses.append((line, value))
        session = Session(_name(numberses) or run_name(file.name), file)
        for line, value in numberses:
            session.run.tell(line, session.add, value)
        yield from session.run.records()


def _typed(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("type"), str)


def _name(numberses: list[tuple[int, Any]]) -> str | None:
    """The name of the session, which its first line has."""
    for _, value in numberses[:1]:
        return text_at(dict_of(value).get("payload"), "id") or text_at(value, "id")
    return None


class Session:
    """A session as it is told."""

    def __init__(self, thread: str, file: Input) -> None:
        self.run = Run(thread, file)
        self.items = Items(self.run)
        self._model: str | None = None

    def add(self, record: Any) -> None:
        """Tell one line."""
        line = need(record, dict, "a line")
        kind, at = text_at(line, "type"), line.get("timestamp")
        payload = dict_of(line.get("payload"))
        if kind == "session_meta" or (kind is None and "instructions" in line):
            self.run.facts(cwd=text_at(payload, "cwd"))
        elif kind == "turn_context":
            self._model = text_at(payload, "model")
        elif kind == "response_item":
            self._item(need(line.get("payload"), dict, "payload"), at)
        elif kind == "compacted":
            self.run.condensation(text_at(payload, "message"), at=at)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            self._tokens(payload)
        elif "payload" not in line and kind is not None:
            self._item(line, at)
        elif kind not in SILENT and "record_type" not in line:
            self.run.unknown(kind)

    def _item(self, item: Mapping[str, Any], at: Any) -> None:
        said = text_of(item.get("content"))
        if item.get("role") == "user" and said.startswith(NOISE):
            return
        self.items.add(item, at=at, model=self._model)

    def _tokens(self, payload: Mapping[str, Any]) -> None:
        """Tokens come after what they were used for, so they go to the event last told."""
        self.run.release()
        used = dict_of(dict_of(payload.get("info")).get("last_token_usage"))
        self.run.add_to_last(usage_of(used))
