"""Anthropic Messages API: messages of content blocks, as an array, a request or a log of requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..documents import Broken, dict_of, documents, list_of, need, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import Call, Requests, Run, plain, run_name, text_of, texts, usage_of

# Anthropic's messages: roles user and assistant, and a content of blocks.

CALLS = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
OWN = frozenset((*CALLS, "tool_result", "thinking", "redacted_thinking"))
"""Types of blocks that nobody else writes."""
TEXTS = frozenset(("text", "image", "document"))


def has_blocks(values: Iterable[Any], depth: int = 0) -> bool:
    """Whether messages, or what holds them, have blocks that only Anthropic's have."""
    for item in values:
        record = dict_of(item)
        content = record.get("content")
        if record.get("type") == "message" and "stop_reason" in record and isinstance(content, list):
            return True
        if "role" in record and any(_kind(block) in OWN for block in list_of(content)):
            return True
        inner = [record[key] for key in ("request", "response") if isinstance(record.get(key), dict)]
        if depth < 2 and (has_blocks(list_of(record.get("messages")), 2) or has_blocks(inner, depth + 1)):
            return True
    return False


def _kind(block: Any) -> str | None:
    return text_at(block, "type")


def is_result(kind: str | None) -> bool:
    """Whether a block holds what a tool gave: the caller's, or one of those that run on the server."""
    return kind is not None and kind.endswith("tool_result")


def tell_blocks(run: Run, record: Any) -> None:
    """Tell a run one message."""
    message = need(record, dict, "a message")
    role, content = message.get("role"), message.get("content")
    at = message.get("timestamp", message.get("created_at"))
    if role not in ("user", "assistant", "system"):
        run.unknown(role)
        return
    if not isinstance(content, str):
        need(content, list, "content")
    if role == "assistant":
        _assistant(run, message, at)
    for block in map(dict_of, list_of(content)):
        if is_result(kind := _kind(block)):
            run.result(
                text_of(block.get("content")),
                call_id=block.get("tool_use_id"),
                error=block.get("is_error") is True or (_kind(block.get("content")) or "").endswith("_error"),
                at=at,
            )
        elif kind not in OWN | TEXTS:
            run.unknown(kind)
    if role != "assistant":
        kept = [item for item in list_of(content) if _kind(item) in TEXTS]
        run.message(str(role), content if isinstance(content, str) else text_of(kept), at=at)


def _assistant(run: Run, message: Mapping[str, Any], at: Any) -> None:
    content = message.get("content")
    run.turn(
        content if isinstance(content, str) else texts(content, "text", "text"),
        [
            Call(item.get("name"), item.get("input"), item.get("id"))
            for item in map(dict_of, list_of(content))
            if _kind(item) in CALLS
        ],
        thought=texts(content, "thinking", "thinking"),
        at=at,
        name=text_at(message, "id"),
        usage=usage_of(message.get("usage")),
        model=text_at(message, "model"),
    )


# Anthropic: messages of blocks, as an array, as the `messages` of a request, or one on each line.


@adapter("anthropic_messages")
class AnthropicMessages(Adapter):
    """Messages whose `content` has blocks such as tool_use, tool_result or thinking."""

    def recognises(self, head: bytes, name: str) -> bool:
        seen = list(look(head).objects)
        # A transcript holds such messages too, each inside a line of its own.
        return has_blocks(seen) and not any("message" in item or "steps" in item for item in seen[:1])

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
            else:
                alone.tell(line, lambda item: tell_blocks(alone, item), told)
        for run in (*runs, alone):
            yield from run.records()


def _conversation(
    record: Mapping[str, Any], line: int, file: Input, name: str, log: Requests[Run]
) -> list[Run]:
    """Tell what one request adds. The run, where it is a new one."""
    request = dict_of(record.get("request")) or record
    system = [{"role": "system", "content": request["system"]}] if request.get("system") is not None else []
    messages = [*system, *list_of(request.get("messages"))]
    answer = [record["response"]] if record.get("response") is not None else []
    new: list[Run] = []

    def made() -> Run:
        new.append(Run(plain(record.get("id")) or (name if line == 1 else f"{name}/{line}"), file))
        return new[0]

    # Conversations of their own may begin alike; only requests are sent again and again.
    is_logged = bool(answer) or "request" in record
    run, known = log.run_of(messages, made) if is_logged else (made(), 0)
    run.line = line
    if not isinstance(request.get("messages"), list):
        run.fault("messages must be a list")
    if system and not known:
        run.message("system", text_of(request["system"]))
    for message in [*messages[max(known, len(system)) :], *answer]:
        run.tell(line, lambda item: tell_blocks(run, item), message)
    if is_logged:
        log.keep(run, messages, answer)
    return new
