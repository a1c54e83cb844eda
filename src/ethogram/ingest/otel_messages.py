"""What went into a model and came out of it, by the conventions that spans follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .documents import dict_of, list_of, text_at
from .run_values import number, text_of
from .runs import Call
from .spans import Span, at_path, listed, nested

INPUTS = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt")
OUTPUTS = ("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion")
THOUGHTS = ("reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class Said:
    """What a model answered: its words, its thoughts and its calls."""

    text: str
    thought: str
    calls: list[Call]


def input_messages(span: Span) -> list[dict[str, Any]]:
    """The messages a model was given, each with role, content and (of tools) tool_call_id."""
    found: list[dict[str, Any]] = []
    told = at_path(span.attributes, "gen_ai.system_instructions")
    if told is not None and (said := text_of(listed(told) or told)):
        found.append({"role": "system", "content": said})
    for one in _messages(span, INPUTS):
        found.extend(_given(one))
    for event in span.events:
        name = text_at(event, "name") or ""
        if name.startswith("gen_ai.") and name.endswith(".message"):
            body = nested(event.get("attributes"))
            role = text_at(body, "role") or name.split(".")[1]
            found.append({"role": role, "content": body.get("content"), "tool_call_id": body.get("id")})
    return found


def _given(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    role = text_at(one, "role") or "user"
    results = [part for part in _parts(one) if part.get("type") == "tool_call_response"]
    given = [
        {
            "role": "tool",
            "content": part.get("response", part.get("result")),
            "tool_call_id": part.get("id"),
        }
        for part in results
    ]
    if not results or _text(one):  # somebody may say something beside what the tools gave
        said = {"role": role, "content": _text(one), "tool_call_id": one.get("tool_call_id")}
        given.append(said)
    return given


def output_of(span: Span) -> Said | None:
    """What a model answered in one span; None where it does not tell.

    Some write each piece of one answer (a thought, words, each call) as a message: they are one.
    """
    answered = _messages(span, OUTPUTS)
    for event in span.events:
        if text_at(event, "name") == "gen_ai.choice":
            body = nested(event.get("attributes"))
            answered.append(dict_of(body.get("message")) or body)
    if not answered and (said := at_path(span.attributes, "output.value")) is not None:
        answered = [{"content": said}]
    calls = [call for one in answered for call in _calls(one)]
    text, thought = _joined(map(_text, answered)), _joined(map(_thought, answered))
    return Said(text, thought, calls) if text or thought or calls else None


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(one for one in texts if one.strip())


def _messages(span: Span, paths: tuple[str, ...]) -> list[dict[str, Any]]:
    for path in paths:
        if found := listed(at_path(span.attributes, path)):
            return [dict_of(dict_of(one).get("message", one)) for one in found]
    return []


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict_of(one) for one in list_of(message.get("parts"))]


def _text(message: Mapping[str, Any]) -> str:
    if parts := _parts(message):
        return "\n".join(text_of(one.get("content")) for one in parts if one.get("type") == "text")
    if contents := _contents(message):
        return text_of([one for one in contents if one.get("type") not in (*THOUGHTS, "tool_use")])
    return text_of(message.get("content"))


def _thought(message: Mapping[str, Any]) -> str:
    told = [one.get("content") for one in _parts(message) if one.get("type") in THOUGHTS]
    told += [one.get("text") for one in _contents(message) if one.get("type") in THOUGHTS]
    return _joined(text_of(one) for one in told)


def _contents(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict_of(dict_of(one).get("message_content", one)) for one in listed(message.get("contents"))]


def _calls(message: Mapping[str, Any]) -> list[Call]:
    calls = [
        Call(one.get("name"), one.get("arguments"), one.get("id"))
        for one in _parts(message)
        if one.get("type") == "tool_call"
    ]
    for one in map(dict_of, listed(message.get("tool_calls"))):
        told = dict_of(one.get("tool_call", one))
        inner = dict_of(told.get("function")) or told
        calls.append(Call(inner.get("name"), inner.get("arguments"), told.get("id")))
    return calls


def usage(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The tokens a span says it used."""
    gen_ai = dict_of(at_path(attributes, "gen_ai.usage"))
    counts = dict_of(at_path(attributes, "llm.token_count"))
    found = {
        "input_tokens": number(gen_ai, "input_tokens", "prompt_tokens") or number(counts, "prompt"),
        "output_tokens": number(gen_ai, "output_tokens", "completion_tokens") or number(counts, "completion"),
        "tokens": number(counts, "total"),
        "cost": number(dict_of(at_path(attributes, "llm.cost")), "total"),
    }
    if found["tokens"] is None and (found["input_tokens"] or found["output_tokens"]):
        found["tokens"] = (found["input_tokens"] or 0) + (found["output_tokens"] or 0)
    return {key: value for key, value in found.items() if value is not None}
