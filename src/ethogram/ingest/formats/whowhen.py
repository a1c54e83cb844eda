"""Who&When: the conversation of several agents on a question, with who made the decisive mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..format import Head, Input, adapter
from ..transcript import ToolCall, Transcript, TranscriptAdapter, run_name
from ..values import as_dict, as_list, need, text_at, text_of

LABELS = ("mistake_agent", "mistake_step", "mistake_type", "level", "question_ID")
TERMINAL = "Computer_terminal"
_ROLE = re.compile(r"(.+?) \((?:thought|-> ?(.+?))\)")
_CODE = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_EXIT = re.compile(r"exitcode: (-?\d+)")


@adapter("whowhen")
class WhoWhen(TranscriptAdapter):
    """Objects with a `history` of messages, a `question` and a `mistake_agent`."""

    def matches(self, head: Head) -> bool:
        return head.first.keys() >= {"history", "question", "mistake_agent"}

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        for line, document in documents:
            record = as_dict(document)
            name = run_name(file.name)
            run = Conversation(name if line == 1 else f"{name}/{line}", file)
            labels = {key: record[key] for key in LABELS if record.get(key) is not None}
            run.set_metadata(task=text_at(record, "question"), labels=labels or None)
            run.following = [*as_list(record.get("history"))[1:], None]
            run.add_list(line, record, "history")
            yield run


class Conversation(Transcript):
    """Messages of agents; code in a message that the terminal answers is a call of the terminal."""

    following: list[Any]
    """The message after each."""

    def add(self, record: Any) -> None:
        message, after = need(record, dict, "a message"), as_dict(self.following.pop(0))
        text, role = text_of(message.get("content")), text_at(message, "role") or ""
        name = text_at(message, "name") or role
        if name == TERMINAL and (ended := _EXIT.match(text)):
            self.result(text, tool=TERMINAL, exit_code=int(ended[1]))
        elif name in ("human", "user", TERMINAL):
            self.message("user", text, subject=TERMINAL if name == TERMINAL else None)
        else:
            known = _ROLE.fullmatch(name)
            who, target = (known[1], known[2]) if known else (name, None)
            code = "\n".join(_CODE.findall(text)) if _is_output(after) else ""
            calls = [ToolCall(TERMINAL, {"code": code})] if code else []
            self.turn(text, calls, subject=who, target=target)


def _is_output(message: dict[str, Any]) -> bool:
    return text_at(message, "name") == TERMINAL and _EXIT.match(text_of(message.get("content"))) is not None
