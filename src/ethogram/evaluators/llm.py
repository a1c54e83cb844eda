"""Base of the evaluators that ask a language model.

A request that may have been answered is sent at most twice, so that the cost of a question is bounded. One
that certainly was not (the server is busy or was not reached) is retried more often, after a delay.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from ..errors import EvaluatorStopped
from ..models.slotted import dataclass
from ..remote.client import ENDED, Connections, Patience, RequestFailure, http_client
from .base import Answer, Evaluation, Evaluator, NotMeasured, Options, Question, Usage
from .confirmation import SCHEMA, Confirmation, check_confirmation, confirmation_prompt
from .llm_options import ModelSettings, Provider, read_options
from .pricing import most_tokens
from .response_parser import check_answer
from .rubric import answer_schema, rubric_version

ATTEMPTS = 2  # requests for a question that may have been answered

REFUSED = "the model refused"
CUT = "the answer was cut off at max_tokens"
EMPTY = "the answer is empty"
UNREADABLE = "the answer is not what the protocol says"
NO_TEXT = "the text is empty"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's words, or why there are none; `usage` is None where it was not reported."""

    text: str
    usage: Usage | None
    fault: str | None = None


class LanguageModel(Evaluator):
    """Asks a language model; a subclass speaks a protocol.

    Safe for several threads. Once closed it sends nothing more. `sleep` is there for tests.
    """

    paid = True
    wants_context = True
    provider: Provider

    def __init__(self, options: Options, *, sleep: Callable[[float], None] | None = None) -> None:
        self.settings: ModelSettings = read_options(options, self.provider)
        self.scorer = f"{self.name}:{self.settings.model}@{rubric_version()}"
        self.concurrency = self.settings.concurrency
        # Strict modes refuse limits on numbers; check_answer checks them.
        self._schema = answer_schema(ranges=False)
        self._schema_text = json.dumps(self._schema)
        self._connections = Connections()
        self._patience = Patience(self._connections, sleep)
        self._lock = threading.Lock()
        self._client: Any = None
        self._level = 0
        self._answered = False

    @property
    def identity(self) -> str:
        """The scorer and its address: another server may call its model the same."""
        return f"{self.scorer} {self.settings.base_url}"

    def forms(self, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Request options that ask for this schema, the strictest first; servers differ."""
        raise NotImplementedError

    def connect(self, http: Any) -> Any:
        """The SDK's client."""
        raise NotImplementedError

    def request(self, system: str, user: str, form: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of one request."""
        raise NotImplementedError

    def send(self, client: Any, request: Mapping[str, Any]) -> Any:
        """The body of the response, parsed."""
        raise NotImplementedError

    def reply(self, body: Any) -> Reply:
        """The reply in a body; LookupError, TypeError or ValueError where it breaks the protocol."""
        raise NotImplementedError

    def evaluate(self, question: Question) -> Answer:
        if not question.text.strip():
            return NotMeasured(NO_TEXT, final=True)

        def read(reply: Reply, boundary: str, cost: float | None, usage: Usage) -> Answer:
            return self.answer(reply, question, boundary, cost, usage)

        return self._repeatedly(question.prompt, self._schema, read)

    def confirm(
        self, turns: Sequence[tuple[str, str]], wait: float | None = None
    ) -> Confirmation | NotMeasured:
        """How sure the model is that the last of these turns, as (role, text), asks for harm.

        `wait` is how many seconds later a retry may begin; without it, as for any question.
        """
        if not turns or not turns[-1][1].strip():
            return NotMeasured(NO_TEXT, final=True)

        def read(reply: Reply, boundary: str, cost: float | None, usage: Usage) -> Confirmation | NotMeasured:
            checked = reply.fault or check_confirmation(reply.text, boundary)
            if isinstance(checked, str):
                return NotMeasured(checked, cost, usage)
            return Confirmation(checked, cost, usage)

        until = None if wait is None else time.monotonic() + wait
        return self._repeatedly(partial(confirmation_prompt, turns), SCHEMA, read, until)

    def _repeatedly(
        self,
        prompt: Callable[[str], tuple[str, str]],
        schema: Mapping[str, Any],
        read: Callable[[Reply, str, float | None, Usage], T | NotMeasured],
        until: float | None = None,
    ) -> T | NotMeasured:
        """What `read` makes of the first usable reply, with the cost of all attempts."""
        usage, spent, reason = Usage(), 0.0, ""
        for attempt in range(ATTEMPTS):
            if attempt and until is not None and time.monotonic() > until:
                break
            boundary = secrets.token_hex(8)
            system, user = prompt(boundary)
            reply = self._ask(system, user, schema, until)
            if isinstance(reply, RequestFailure):
                if reply.kind != "lost":
                    return self._not_measured(reply, spent, usage)
                spent += self._cost(None, system, user)
                reason = reply.reason
                continue
            usage += reply.usage or Usage()
            spent += self._cost(reply.usage, system, user)
            answer = read(reply, boundary, self._or_none(spent), usage)
            if not isinstance(answer, NotMeasured):
                return answer
            reason = answer.reason
        return NotMeasured(reason, self._or_none(spent), usage)

    def answer(
        self, reply: Reply, question: Question, boundary: str, cost: float | None, usage: Usage
    ) -> Answer:
        """The checked answer in a reply, with what it cost."""
        if reply.fault:
            return NotMeasured(reply.fault, cost, usage)
        checked = check_answer(reply.text, question.text, boundary)
        if checked.fault is not None:
            return NotMeasured(checked.fault, cost, usage)
        return Evaluation(
            traits=checked.traits,
            indicators=checked.indicators,
            scorer=self.scorer,
            width=question.width,
            cost=cost,
            usage=usage,
            dropped=checked.dropped,
        )

    def worst_cost(self, question: Question) -> float | None:
        """An upper bound of what `evaluate` costs; the provider bills nothing that it did not answer."""
        if self.settings.price is None:
            return None
        # A random boundary is as long as the default one.
        return ATTEMPTS * self._cost(None, *question.prompt())

    def worst_confirmation(self, turns: Sequence[tuple[str, str]]) -> float | None:
        """An upper bound of what `confirm` costs; None where no price is known."""
        if self.settings.price is None:
            return None
        return ATTEMPTS * self._cost(None, *confirmation_prompt(turns, "0" * 16))

    def close(self) -> None:
        """Abandon what is in flight and send nothing more."""
        self._connections.cut()
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def client(self) -> Any:
        """The SDK's client, made when first needed: importing an SDK takes seconds."""
        with self._lock:
            if self._connections.is_cut():
                raise EvaluatorStopped(f"{self.name}: {ENDED}")
            if self._client is None:
                settings = self.settings
                self._client = self.connect(
                    http_client(settings.base_url, settings.timeout, self._connections, local=settings.local)
                )
            return self._client

    def parameters(self, system: str, user: str) -> dict[str, Any]:
        """A request in the form that worked last."""
        return self.request(system, user, self.forms(self._schema)[self._level])

    def read(self, body: Any) -> Reply:
        """The reply in a body, with a fault where it breaks the protocol."""
        try:
            return self.reply(body)
        except (LookupError, TypeError, ValueError, AttributeError):
            return Reply("", None, UNREADABLE)

    def patiently(self, send: Callable[[], Any], until: float | None = None) -> Any | RequestFailure:
        """What `send` returns; retried after a delay where it certainly was not answered."""
        return self._patience.send(send, until)

    def _ask(
        self, system: str, user: str, schema: Mapping[str, Any], until: float | None = None
    ) -> Reply | RequestFailure:
        try:
            client, forms = self.client(), self.forms(schema)
        except EvaluatorStopped:
            return RequestFailure("ended", ENDED)
        for level in range(self._level, len(forms)):
            request = self.request(system, user, forms[level])
            body = self.patiently(partial(self.send, client, request), until)
            # A server that took a form once takes it always: then the fault is in the question.
            if not isinstance(body, RequestFailure) or body.status not in (400, 422) or self._answered:
                break
        if isinstance(body, RequestFailure):
            return body
        self._level, self._answered = level, True
        return self.read(body)

    def _not_measured(self, failure: RequestFailure, spent: float, usage: Usage) -> NotMeasured:
        if failure.kind == "stop" or (failure.kind == "unreached" and not self._patience.reached):
            raise EvaluatorStopped(f"{self.name}: {failure.reason}", self._or_none(spent))
        return NotMeasured(failure.reason, self._or_none(spent), usage, final=failure.kind == "wrong")

    def _cost(self, usage: Usage | None, system: str, user: str) -> float:
        """Dollars for one request; the most it can be where the usage is not known."""
        price = self.settings.price
        if price is None:
            return 0.0
        if usage is not None:
            return price.cost(usage)
        return price.most(most_tokens(system, user + self._schema_text), self.settings.max_tokens)

    def _or_none(self, spent: float) -> float | None:
        return None if self.settings.price is None else spent


def tokens(value: Any) -> int:
    """A count of tokens in a body; ValueError where it is none.

    >>> tokens(12), tokens(None)
    (12, 0)
    """
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100_000_000:
        raise ValueError("not a count of tokens")
    return value


def usage_or_none(read: Callable[[], Usage]) -> Usage | None:
    """The usage, or None where the body does not report it as the protocol says."""
    try:
        return read()
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
