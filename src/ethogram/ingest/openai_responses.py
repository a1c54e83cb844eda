"""OpenAI Responses: response objects, or the items they are made of, as an array or one on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .adapter import Adapter, Input, Record, adapter
from .documents import Broken, dict_of, documents, list_of, text_at
from .heads import look
from .request_log import Requests
from .response_items import Items, is_item
from .run_values import run_name, text_of, usage_of
from .runs import Run


@adapter("openai_responses")
class OpenAiResponses(Adapter):
    """Objects with `object: response` and an `output`, or items such as function_call and its output."""

    def recognises(self, head: bytes, name: str) -> bool:
        objects = list(look(head).objects)
        if any("payload" in one or "record_type" in one for one in objects):
            return False
        return any(is_item(one) or _is_response(one) for one in objects)

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

    def instruct(self, told: Any) -> None:
        """Tell instructions, where they are new."""
        if isinstance(told, str) and told != self._instructions:
            self.run.message("system", told)
            self._instructions = told

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
            self.run.tell(self.run.line, lambda one: self.items.add(one, usage=usage, **facts), item)


def _is_exchange(told: Mapping[str, Any]) -> bool:
    """Whether this is a request, a response, or both; and no item."""
    return "type" not in told and any(key in told for key in ("output", "input", "request", "response"))


def _is_response(told: Mapping[str, Any]) -> bool:
    if text_at(told, "object") == "response" or text_at(told.get("response"), "object") == "response":
        return True
    inner = [*list_of(told.get("output")), *list_of(told.get("input"))]
    return any(map(is_item, inner)) and "type" not in told


def _exchange(
    told: Mapping[str, Any], name: str, alone: Talk, log: Requests[Talk], file: Input
) -> list[Talk]:
    """Tell what a request and its response add. The run, where it is a new one."""
    request, response = dict_of(told.get("request")) or told, dict_of(told.get("response")) or told
    given = request.get("input")
    new: list[Talk] = []

    def made() -> Talk:
        # Answers on their own, and the first request, are the run of the file.
        if given is None or (not alone.run.events and not log.is_begun):
            return alone
        new.append(Talk(f"{name}/{alone.run.line}", file))
        return new[0]

    items = [{"role": "user", "content": given}] if isinstance(given, str) else list_of(given)
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
