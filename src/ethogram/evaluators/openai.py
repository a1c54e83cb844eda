"""openai: a model behind the Chat Completions protocol, of OpenAI or of any server that speaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..remote.client import body_of, timeouts
from .base import Usage, evaluator
from .llm import CUT, EMPTY, REFUSED, LanguageModel, Reply, tokens, usage_or_none
from .llm_options import Provider
from .rubric import rubric_version

_REASONING = ("gpt-5", "gpt-6", "o1", "o3", "o4")  # models that take no temperature


@evaluator("openai")
class OpenAI(LanguageModel):
    """A model of OpenAI, or of a server that speaks Chat Completions; paid by the token.

    Ollama, vLLM and others by `base_url`. What a server does not take is left out after its first no.
    """

    name = "openai"
    needs = "ethogram[llm] and a key in OPENAI_API_KEY, or base_url of your own server"
    provider = Provider(
        name="openai",
        package="openai",
        base_url="https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
        model="gpt-6-luna",
    )

    def forms(self, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        most = self.settings.max_tokens
        answer = {"name": "scores", "strict": True, "schema": schema}
        strict = {"response_format": {"type": "json_schema", "json_schema": answer}}
        loose = {"response_format": {"type": "json_object"}}
        new: dict[str, Any] = {"max_completion_tokens": most}
        if self.settings.own:
            reasons = self.settings.model.startswith(_REASONING)
            new |= {"reasoning_effort": "low"} if reasons else {"temperature": 0}
            # Only the rubric is cached: writing to the cache costs more than sending once.
            cache = {"prompt_cache_options": {"mode": "explicit"}, "prompt_cache_key": rubric_version()}
            return [{**strict, **cache, **new}, {**strict, **new}, {**loose, **new}, new]
        # Most servers know the older name of the limit only; those with reasoning models the newer.
        old = {"max_tokens": most, "temperature": 0}
        return [{**strict, **old}, {**loose, **old}, old, {**strict, **new}, new]

    def connect(self, http: Any) -> Any:
        import openai

        return openai.OpenAI(
            api_key=self.settings.key(),
            base_url=self.settings.base_url,
            max_retries=0,
            timeout=timeouts(self.settings.timeout),
            http_client=http,
        )

    def request(self, system: str, user: str, form: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of one completion."""
        rubric: Any = system
        if "prompt_cache_options" in form:
            mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
            rubric = [{"type": "text", "text": system, **mark}]
        return {
            "model": self.settings.model,
            "messages": [{"role": "system", "content": rubric}, {"role": "user", "content": user}],
            **form,
        }

    def send(self, client: Any, request: Mapping[str, Any]) -> Any:
        return body_of(client.chat.completions.with_raw_response.create(**request))

    def reply(self, body: Any) -> Reply:
        usage = usage_or_none(lambda: _usage(body["usage"]))
        choice = body["choices"][0]
        if choice["message"].get("refusal") or choice.get("finish_reason") == "content_filter":
            return Reply("", usage, REFUSED)
        if choice.get("finish_reason") == "length":
            return Reply("", usage, CUT)
        text = choice["message"].get("content") or ""
        if not isinstance(text, str):
            raise TypeError("not text")
        return Reply(text, usage, None if text.strip() else EMPTY)


def _usage(value: Any) -> Usage:
    """Token counts; this protocol includes the cached ones in those of the prompt."""
    details = value.get("prompt_tokens_details") or {}
    read, written = tokens(details.get("cached_tokens")), tokens(details.get("cache_write_tokens"))
    return Usage(
        input=max(tokens(value["prompt_tokens"]) - read - written, 0),
        output=tokens(value["completion_tokens"]),
        cache_read=read,
        cache_write=written,
    )
