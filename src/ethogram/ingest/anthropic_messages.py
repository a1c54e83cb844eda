"""Anthropic: messages of blocks, as an array, as the `messages` of a request, or one on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .adapter import Adapter, Input, Record, adapter
from .anthropic_blocks import has_blocks, tell_blocks
from .documents import Broken, dict_of, documents, list_of
from .heads import look
from .request_log import Requests
from .run_values import plain, run_name, text_of
from .runs import Run


@adapter("anthropic_messages")
class AnthropicMessages(Adapter):
    """Messages whose `content` has blocks such as tool_use, tool_result or thinking."""

    def recognises(self, head: bytes, name: str) -> bool:
        seen = list(look(head).objects)
        # A transcript holds such messages too, each inside a line of its own.
        return has_blocks(seen) and not any("message" in one or "steps" in one for one in seen[:1])

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
                alone.tell(line, lambda one: tell_blocks(alone, one), told)
        for run in (*runs, alone):
            yield from run.records()


def _conversation(
    told: Mapping[str, Any], line: int, file: Input, name: str, log: Requests[Run]
) -> list[Run]:
    """Tell what one request adds. The run, where it is a new one."""
    request = dict_of(told.get("request")) or told
    system = [{"role": "system", "content": request["system"]}] if request.get("system") is not None else []
    messages = [*system, *list_of(request.get("messages"))]
    answer = [told["response"]] if told.get("response") is not None else []
    new: list[Run] = []

    def made() -> Run:
        new.append(Run(plain(told.get("id")) or (name if line == 1 else f"{name}/{line}"), file))
        return new[0]

    # Conversations of their own may begin alike; only requests are sent again and again.
    is_logged = bool(answer) or "request" in told
    run, known = log.run_of(messages, made) if is_logged else (made(), 0)
    run.line = line
    if not isinstance(request.get("messages"), list):
        run.fault("messages must be a list")
    if system and not known:
        run.message("system", text_of(request["system"]))
    for message in [*messages[max(known, len(system)) :], *answer]:
        run.tell(line, lambda one: tell_blocks(run, one), message)
    if is_logged:
        log.keep(run, messages, answer)
    return new
