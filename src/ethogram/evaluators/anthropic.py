"""anthropic: a model behind Anthropic's Messages protocol, and Message Batches at half the price.

    batches = Batches(make_evaluator("anthropic"))
    job = batches.submit(questions)
    if batches.ended(job):
        answers = batches.results(job, questions)     # by batches.name(question)

The process that fetches the answers may be another one, with the same questions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import BadUsage, EvaluatorStopped
from ..models import stable_hash
from ..remote.client import RequestFailure, body_of, timeouts
from .base import Answer, Evaluation, NotMeasured, Question, Usage, evaluator
from .llm import (
    ATTEMPTS,
    CUT,
    EMPTY,
    NO_TEXT,
    REFUSED,
    UNREADABLE,
    LanguageModel,
    Reply,
    tokens,
    usage_or_none,
)
from .llm_options import Provider
from .pricing import BATCHED


@evaluator("anthropic")
class Anthropic(LanguageModel):
    """A model behind Anthropic's Messages protocol; paid by the token.

    The schema is asked for natively, and the rubric is marked to be cached.
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

    def forms(self, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        answer = {"type": "json_schema", "schema": schema}
        return [
            # Thinking is billed as output and could use up max_tokens before the answer.
            {"thinking": {"type": "disabled"}, "output_config": {"format": answer}},
            # Some models cannot do without it.
            {"output_config": {"format": answer, "effort": "low"}},
            {"output_config": {"format": answer}},
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
            # The environment could make spans hold the text.
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


def _usage(value: Any) -> Usage:
    return Usage(
        input=tokens(value["input_tokens"]),
        output=tokens(value["output_tokens"]),
        cache_read=tokens(value.get("cache_read_input_tokens")),
        cache_write=tokens(value.get("cache_creation_input_tokens")),
    )


MOST_QUESTIONS = 100_000
UPLOAD_SECONDS = 600.0
_JOB = re.compile(r"[A-Za-z0-9_-]{1,128}")
_WITHOUT = {
    "errored": "the batch could not answer it",
    "expired": "the batch ran out of time",
    "canceled": "the batch was cancelled",
}


class Batches:
    """The batches of one model, with its settings but for the timeout of an upload."""

    def __init__(self, model: Anthropic) -> None:
        self.model = model

    def name(self, question: Question) -> str:
        """The name of a question in a batch: equal for questions with the same prompt."""
        return question.key(self.model.identity)[:64]

    def submit(self, questions: Sequence[Question]) -> str:
        """Submit a batch and return its id; never sent twice where the first may have arrived."""
        if not 0 < len(questions) <= MOST_QUESTIONS:
            raise BadUsage(f"a batch of {len(questions)} questions: expected from 1 to {MOST_QUESTIONS}")
        # Blank texts are left out, unless the batch would be empty.
        worth = [question for question in questions if question.text.strip()] or questions
        requests = list({self.name(item): self._request(item) for item in worth}.values())
        client = self.model.client().with_options(timeout=timeouts(UPLOAD_SECONDS))
        return _checked_id(self._patiently(lambda: client.messages.batches.create(requests=requests).id))

    def ended(self, job: str) -> bool:
        """Whether the answers of a batch are ready."""
        _checked_id(job)
        status = self._patiently(
            lambda: self.model.client().messages.batches.retrieve(job).processing_status, again=True
        )
        return bool(status == "ended")

    def results(self, job: str, questions: Sequence[Question]) -> dict[str, Answer]:
        """An answer for every question, by its name; other entries of the batch are ignored."""
        if not self.ended(job):
            raise EvaluatorStopped(f"{self.model.name}: the answers of the batch are not ready")
        by_name = {self.name(question): question for question in questions}

        def read() -> dict[str, Answer]:
            answers: dict[str, Answer] = {}
            with self.model.client().messages.batches.with_streaming_response.results(job) as response:
                for line in response.iter_lines():
                    name, result = _entry(line)
                    if name in by_name and not isinstance(answers.get(name), Evaluation):
                        answers[name] = self._answer(by_name[name], name, result)
            return answers

        answers = self._patiently(read, again=True)
        return {name: answers.get(name) or _missing(question) for name, question in by_name.items()}

    def worst_cost(self, question: Question) -> float | None:
        """What a question costs at most in a batch, where it is asked once."""
        worst = self.model.worst_cost(question)
        return None if worst is None else worst / ATTEMPTS * BATCHED

    def _request(self, question: Question) -> dict[str, Any]:
        name = self.name(question)
        return {"custom_id": name, "params": self.model.parameters(*question.prompt(_fence(name)))}

    def _answer(self, question: Question, name: str, result: Mapping[str, Any]) -> Answer:
        kind = str(result.get("type"))
        if kind != "succeeded":
            return NotMeasured(_WITHOUT.get(kind, UNREADABLE))
        reply, price = self.model.read(result.get("message")), self.model.settings.price
        if price is None or reply.usage is None:
            cost = self.worst_cost(question)
        else:
            cost = price.cost(reply.usage) * BATCHED
        return self.model.answer(reply, question, _fence(name), cost, reply.usage or Usage())

    def _patiently(self, send: Callable[[], Any], *, again: bool = False) -> Any:
        """What `send` returns; `again` where it only reads and may be repeated if the answer is lost."""
        for _ in range(ATTEMPTS if again else 1):
            result = self.model.patiently(send)
            if not isinstance(result, RequestFailure):
                return result
            if result.kind != "lost":
                break
        lost = result.kind == "lost" and not again
        perhaps = "; the batch may have been made all the same" if lost else ""
        raise EvaluatorStopped(f"{self.model.name}: {result.reason}{perhaps}")


def _checked_id(job: Any) -> str:
    if not isinstance(job, str) or not _JOB.fullmatch(job):
        raise BadUsage("invalid id of a batch: expected letters, digits, - and _")
    return job


def _missing(question: Question) -> NotMeasured:
    if not question.text.strip():
        return NotMeasured(NO_TEXT, final=True)
    return NotMeasured("the batch has no answer for it")


def _entry(line: str) -> tuple[str, Mapping[str, Any]]:
    """The name and the result in a line; ('', {}) where there are none."""
    try:
        data = json.loads(line)
        return str(data["custom_id"]), dict(data["result"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return "", {}


def _fence(name: str) -> str:
    """The fence word of a question: derived, since the process that fetches the answers must know it."""
    return stable_hash("fence", name)[:16]
