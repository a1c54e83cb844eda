"""OpenAI chat: messages with roles, as an array, under `messages`, or with the answers in `choices`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..chat_messages import is_message, tell_message
from ..documents import Broken, dict_of, documents, list_of, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import Requests, Run, plain, run_name
from .anthropic import has_blocks
from .swe_agent import is_trajectory

NAMES = ("id", "conversation_id", "session_id", "run_id", "request_id")


@adapter("openai_chat")
class OpenAiChat(Adapter):
    """Messages with `role` and `content` or `tool_calls`; not those of Anthropic, which hold blocks."""

    def recognises(self, head: bytes, name: str) -> bool:
        seen = look(head)
        objects = list(seen.objects)
        if not objects or has_blocks(objects) or is_trajectory(objects[0]):
            return False
        first = objects[0]
        if "choices" in first and text_at(first, "object") == "chat.completion":
            return True
        messages = _messages(first)
        if messages is not None:
            return bool(messages) and all(map(is_message, messages))
        # Messages on their own: every object is one, so that no other record is taken for it.
        return all(map(is_message, objects)) and not any("subject" in item for item in objects)

    def read(self, file: Input) -> Iterator[Record]:
        """The events of each conversation; messages on their own are one together."""
        name = run_name(file.name)
        alone = Run(name, file)
        log: Requests[Run] = Requests()
        runs: list[Run] = []
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif isinstance(told, dict) and ("messages" in told or "request" in told):
                runs += _conversation(told, line, file, name, log)
            elif isinstance(told, dict) and "choices" in told:
                alone.line = line
                _answers(alone, told)
            else:
                alone.tell(line, lambda item: tell_message(alone, item), told)
        for run in (*runs, alone):
            yield from run.records()


def _messages(record: Mapping[str, Any]) -> list[Any] | None:
    messages = record.get("messages", dict_of(record.get("request")).get("messages"))
    return messages if isinstance(messages, list) else None


def _conversation(
    record: Mapping[str, Any], line: int, file: Input, name: str, log: Requests[Run]
) -> list[Run]:
    """Tell what one request adds. The run, where it is a new one."""
    own = next((item for key in NAMES if (item := plain(record.get(key)))), None)
    new: list[Run] = []

    def made() -> Run:
        new.append(Run(own or (name if line == 1 else f"{name}/{line}"), file))
        return new[0]

    messages, answered = _messages(record) or [], dict_of(record.get("response")) or record
    # Conversations of their own may begin alike; only requests are sent again and again.
    is_logged = "request" in record or "choices" in answered
    run, known = log.run_of(messages, made) if is_logged else (made(), 0)
    run.line = line
    if _messages(record) is None:
        run.fault("messages must be a list")
    for message in messages[known:]:
        run.tell(line, lambda item: tell_message(run, item), message)
    _answers(run, answered)
    if is_logged:
        log.keep(
            run, messages, [dict_of(item).get("message") for item in list_of(answered.get("choices"))[:1]]
        )
    return new


def _answers(run: Run, record: Mapping[str, Any]) -> None:
    """Tell the first answer of a completion: the others were not taken."""
    choices = list_of(record.get("choices"))
    if not choices:
        return
    message = dict_of(dict_of(choices[0]).get("message"))
    facts = {"usage": record.get("usage"), "model": record.get("model"), "created_at": record.get("created")}
    given = {key: value for key, value in facts.items() if value is not None}
    run.tell(run.line, lambda item: tell_message(run, item), {"role": "assistant", **given, **message})
