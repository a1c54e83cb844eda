"""OpenAI Responses: response objects, or the items they are made of, as an array or one on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .adapter import Adapter, Input, Record, adapter
from .documents import Broken, dict_of, documents, list_of, text_at
from .heads import look
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
        """The events of one run: the items in their order."""
        run = Run(run_name(file.name), file)
        items = Items(run)
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif isinstance(told, dict) and ("output" in told or "input" in told) and "type" not in told:
                run.line = line
                _response(run, items, told)
            else:
                run.tell(line, items.add, told)
        yield from run.records()


def _is_response(told: Mapping[str, Any]) -> bool:
    if text_at(told, "object") == "response":
        return True
    inner = [*list_of(told.get("output")), *list_of(told.get("input"))]
    return any(map(is_item, inner)) and "type" not in told


def _response(run: Run, items: Items, told: Mapping[str, Any]) -> None:
    """Tell the items of a response. Its usage counts once, so it stands on the first of them."""
    response = dict_of(told.get("response")) or told
    if isinstance(told.get("instructions"), str):
        run.message("system", told["instructions"])
    given = told.get("input")
    if isinstance(given, str):
        run.message("user", given)
    for item in list_of(given):
        run.tell(run.line, items.add, item)
    output = response.get("output")
    if output is not None and not isinstance(output, list):
        run.fault(f"output must be a list, not {text_of(output)[:40]!r}")
    facts = {
        "at": response.get("created_at"),
        "name": text_at(response, "id"),
        "model": text_at(response, "model"),
    }
    usage = usage_of(response.get("usage"))
    for item in list_of(output):
        run.tell(run.line, lambda one: items.add(one, usage=usage, **facts), item)
