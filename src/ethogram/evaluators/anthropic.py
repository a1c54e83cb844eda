"""anthropic: a model behind Anthropic's Messages protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .client_options import Provider
from .llm import CUT, EMPTY, REFUSED, LanguageModel, Reply, tokens, usage_or_none
from .protocol import Usage, evaluator
from .wire import body_of, timeouts


@evaluator("anthropic")
class Anthropic(LanguageModel):
    """A model behind Anthropic's Messages protocol; paid by the token.

    The schema is asked for natively; the rubric is marked to be kept by the model's side.
    """

    name = "anthropic"
    needs = "ethogram[llm] and a key in ANTHROPIC_API_KEY"
    provider = Provider(
        name="anthropic",
        package="anthropic",
        base_url="https://api.anthropic.com",
        key_env="ANTHROPIC_API_KEY",
        model="claude-haiku-5-5",
    )

    def forms(self) -> list[Mapping[str, Any]]:
        schema = {"type": "json_schema", "schema": self._schema}
        return [
            # Thinking is paid for as output and could use up max_tokens before the answer.
            {"thinking": {"type": "disabled"}, "output_config": {"format": schema}},
            # Some models cannot do without it, then as little as may be.
            {"output_config": {"format": schema, "effort": "low"}},
            {"output_config": {"format": schema}},
            {},
        ]

    def connect(self, http: Any) -> Any:
        import anthropic

        return anthropic.Anthropic(
            api_key=self.settings.key(),
            base_url=self.settings.base_url,
            max_retries=0,
            timeout=timeouts(self.settings.timeout),
            http_client=http,
            # Spans could be told by the environment to hold the text.
            open_telemetry=False,
        )

    def request(self, system: str, user: str, form: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of one message; current models take no temperature."""
        return {
            "model": self.settings.model,
            "max_tokens": self.settings.max_tokens,
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": user}],
            **form,
        }

    def send(self, client: Any, request: Mapping[str, Any]) -> Any:
        return body_of(client.messages.with_raw_response.create(**request))

    def reply(self, body: Any) -> Reply:
        usage = usage_or_none(lambda: _usage(body["usage"]))
        stopped = body.get("stop_reason")
        if stopped == "refusal":
            return Reply("", usage, REFUSED)
        if stopped in ("max_tokens", "model_context_window_exceeded"):
            return Reply("", usage, CUT)
        # Thoughts may stand before the answer.
        text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
        return Reply(text, usage, None if text.strip() else EMPTY)


def _usage(said: Any) -> Usage:
    return Usage(
        input=tokens(said["input_tokens"]),
        output=tokens(said["output_tokens"]),
        cache_read=tokens(said.get("cache_read_input_tokens")),
        cache_write=tokens(said.get("cache_creation_input_tokens")),
    )
