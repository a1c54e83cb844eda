"""Anthropic Messages and Message Batches."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import BadUsage, EvaluatorStopped
from ..models import stable_hash
from .base import Answer, Evaluation, NotMeasured, Question, Usage, evaluator
from .llm import ASKED, CUT, EMPTY, NO_TEXT, REFUSED, UNREADABLE, LanguageModel, Reply, tokens, usage_or_none
from .llm_client import Provider, Trouble, body_of, timeouts
from .pricing import BATCHED
from .response_parser import check_answer

# anthropic: a model behind Anthropic's Messages protocol.


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


def _usage(value: Any) -> Usage:
    return Usage(
        input=tokens(value["input_tokens"]),
        output=tokens(value["output_tokens"]),
        cache_read=tokens(value.get("cache_read_input_tokens")),
        cache_write=tokens(value.get("cache_creation_input_tokens")),
    )


# Message Batches: many questions at half the price, answered within a day.
#
#     batches = Batches(make_evaluator("anthropic"))
#     for part in batches.parts(questions):
#         job = batches.submit(part)
#     ...
#     if batches.poll(job).ended:
#         answers = batches.results(job, part)     # by batches.name(question)
#
# A job may be asked for by another process than the one that submitted it, with the same questions.

MOST_QUESTIONS = 100_000
MOST_BYTES = 240_000_000  # of one job; its server takes 256 MB
UPLOAD_SECONDS = 600.0

_JOB = re.compile(r"[A-Za-z0-9_-]{1,128}")
_WITHOUT = {
    "errored": "the batch could not answer it",
    "expired": "the batch ran out of time",
    "canceled": "the batch was cancelled",
}


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """How far a job is. Counts are by what became of a question: processing, succeeded, errored..."""

    ended: bool
    counts: Mapping[str, int]


class Batches:
    """The jobs of one model. The model's own settings hold, but for the timeout of an upload."""

    def __init__(self, model: Anthropic) -> None:
        self.model = model

    def name(self, question: Question) -> str:
        """What a question is called in a job; the same for all that would be given the same prompt."""
        return question.key(self.model.identity)[:64]

    def parts(self, questions: Sequence[Question]) -> Iterator[list[Question]]:
        """The questions in jobs that are not too large."""
        part: list[Question] = []
        size = 0
        for question in questions:
            more = len(json.dumps(self._request(question)))
            if part and (size + more > MOST_BYTES or len(part) == MOST_QUESTIONS):
                yield part
                part, size = [], 0
            part.append(question)
            size += more
        if part:
            yield part

    def submit(self, questions: Sequence[Question]) -> str:
        """The id of a new job. It is not sent twice where the first may have arrived."""
        if not 0 < len(questions) <= MOST_QUESTIONS:
            raise BadUsage(f"a batch has from 1 to {MOST_QUESTIONS} questions; `parts` makes such")
        # Nothing is paid for a text that holds nothing, unless there would be no job at all.
        worth = [question for question in questions if question.text.strip()] or questions
        requests = list({self.name(item): self._request(item) for item in worth}.values())
        client = self.model.client().with_options(timeout=timeouts(UPLOAD_SECONDS))
        return self._job(self._done(lambda: client.messages.batches.create(requests=requests).id))

    def poll(self, job: str) -> BatchStatus:
        """How far the job is."""
        self._job(job)

        def ask() -> BatchStatus:
            batch = self.model.client().messages.batches.retrieve(job)
            return BatchStatus(batch.processing_status == "ended", dict(batch.request_counts.to_dict()))

        status: BatchStatus = self._done(ask, again=True)
        return status

    def results(self, job: str, questions: Sequence[Question]) -> dict[str, Answer]:
        """An answer for every question, by its name; what nobody asked for is passed over."""
        if not self.poll(job).ended:
            raise EvaluatorStopped(f"{self.model.name}: the answers of the batch are not ready")
        asked = {self.name(question): question for question in questions}

        def read() -> dict[str, Answer]:
            record: dict[str, Answer] = {}
            with self.model.client().messages.batches.with_streaming_response.results(job) as response:
                for line in response.iter_lines():
                    name, result = _entry(line)
                    if name in asked and not isinstance(record.get(name), Evaluation):
                        record[name] = self._answer(asked[name], name, result)
            return record

        answers = self._done(read, again=True)
        return {name: answers.get(name) or _missing(item) for name, item in asked.items()}

    def worst_cost(self, question: Question) -> float | None:
        """What a question costs at most in a job, where it is asked once."""
        worst = self.model.worst_cost(question)
        return None if worst is None else worst / ASKED * BATCHED

    def _request(self, question: Question) -> dict[str, Any]:
        name = self.name(question)
        return {"custom_id": name, "params": self.model.parameters(*question.prompt(_fence(name)))}

    def _answer(self, question: Question, name: str, result: Mapping[str, Any]) -> Answer:
        kind = str(result.get("type"))
        if kind != "succeeded":
            return NotMeasured(_WITHOUT.get(kind, UNREADABLE))
        reply = self.model.read(result.get("message"))
        spent = self._cost(reply, question)
        usage = reply.usage or Usage()
        if reply.fault is not None:
            return NotMeasured(reply.fault, spent, usage)
        checked = check_answer(reply.text, question.text, _fence(name))
        if checked.fault is not None:
            return NotMeasured(checked.fault, spent, usage)
        return Evaluation(
            traits=checked.traits,
            indicators=checked.indicators,
            scorer=self.model.scorer,
            width=question.width,
            cost=spent,
            usage=usage,
            dropped=checked.dropped,
        )

    def _cost(self, reply: Reply, question: Question) -> float | None:
        price = self.model.settings.price
        if price is None or reply.usage is None:
            return self.worst_cost(question)
        return price.cost(reply.usage) * BATCHED

    def _done(self, send: Callable[[], Any], *, again: bool = False) -> Any:
        """What `send` gives; what only reads may be sent again even where the answer was lost."""
        for _ in range(ASKED if again else 1):
            got = self.model.patiently(send)
            if not isinstance(got, Trouble):
                return got
            if got.kind != "lost":
                break
        perhaps = "; the batch may have been made all the same" if got.kind == "lost" and not again else ""
        raise EvaluatorStopped(f"{self.model.name}: {got.reason}{perhaps}")

    def _job(self, job: Any) -> str:
        if not isinstance(job, str) or not _JOB.fullmatch(job):
            raise BadUsage("the id of a batch is letters, digits, - and _")
        return job


def _missing(question: Question) -> NotMeasured:
    if not question.text.strip():
        return NotMeasured(NO_TEXT, final=True)
    return NotMeasured("the batch has no answer for it")


def _entry(line: str) -> tuple[str, Mapping[str, Any]]:
    """The name and the result of one line; ('', {}) where it is none."""
    try:
        data = json.loads(line)
        return str(data["custom_id"]), dict(data["result"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return "", {}


def _fence(name: str) -> str:
    """Made of the name, since whoever fetches the answers has nothing but the questions."""
    return stable_hash("fence", name)[:16]
