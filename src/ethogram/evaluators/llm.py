"""What all models are asked alike: once, and once more where the answer cannot be used; then there is none.

A request that may have been answered is never sent more than twice, so that what a question costs is bounded.
One that certainly was not (the server is busy, or was not reached) is repeated more often, after a while.
"""

from __future__ import annotations

import json
import random
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import EvaluatorStopped
from .base import Answer, Evaluation, Evaluator, NotMeasured, Options, Question, Usage
from .llm_client import (
    ENDED,
    Line,
    Provider,
    Settings,
    Trouble,
    attempt,
    http_client,
    read_options,
    waiting_time,
)
from .pricing import most_tokens
from .response_parser import check_answer
from .rubric import answer_schema, rubric_version

ASKED = 2  # how often a question is asked that may have been answered
REPEATS = 5  # how often it is sent again where it certainly was not
NEVER_REACHED_REPEATS = 2
NEVER_REACHED_SECONDS = 5.0
"""So little patience there is with a server that nobody has reached yet: its address may be wrong."""

REFUSED = "the model refused"
CUT = "the answer was cut off at max_tokens"
EMPTY = "the answer is empty"
UNREADABLE = "the answer is not what the protocol says"
NO_TEXT = "the text is empty"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: words, or why there are none. `usage` is None where it was not told."""

    text: str
    usage: Usage | None
    fault: str | None = None


class LanguageModel(Evaluator):
    """The base of both clients. A subclass says how a prompt is sent and how a body is read.

    It may be used by several threads. Once closed it sends nothing more. `sleep` is there for tests.
    """

    paid = True
    wants_context = True
    provider: Provider

    def __init__(self, options: Options, *, sleep: Callable[[float], None] | None = None) -> None:
        self.settings: Settings = read_options(options, self.provider)
        self.scorer = f"{self.name}:{self.settings.model}@{rubric_version()}"
        self.concurrency = self.settings.concurrency
        # Limits on numbers are refused by strict modes; check_answer looks at them.
        self._schema = answer_schema(ranges=False)
        self._schema_text = json.dumps(self._schema)
        self._line = Line()
        self._sleep = sleep or self._line.wait
        self._lock = threading.Lock()
        self._client: Any = None
        self._level = 0
        self._reached = False
        self._answered = False

    @property
    def identity(self) -> str:
        """The scorer and its server: another one may call its model the same."""
        return f"{self.scorer} {self.settings.base_url}"

    # What differs between the protocols.

    def forms(self) -> list[Mapping[str, Any]]:
        """How an answer's form can be asked for, the strictest first; servers differ in what they know."""
        raise NotImplementedError

    def connect(self, http: Any) -> Any:
        """The SDK's client."""
        raise NotImplementedError

    def request(self, system: str, user: str, form: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of one request."""
        raise NotImplementedError

    def send(self, client: Any, request: Mapping[str, Any]) -> Any:
        """The body of the answer, read from JSON."""
        raise NotImplementedError

    def reply(self, body: Any) -> Reply:
        """What the body says; LookupError, TypeError or ValueError where it is none of the protocol's."""
        raise NotImplementedError

    # What is the same.

    def evaluate(self, question: Question) -> Answer:
        if not question.text.strip():
            return NotMeasured(NO_TEXT, final=True)
        usage, spent, reason = Usage(), 0.0, ""
        for _ in range(ASKED):
            boundary = secrets.token_hex(8)
            system, user = question.prompt(boundary)
            got = self._ask(system, user)
            if isinstance(got, Trouble) and got.kind != "lost":
                return self._given_up(got, spent, usage)
            known = got.usage if isinstance(got, Reply) else None
            usage += known or Usage()
            spent += self._cost(known, system, user)
            reason = got.reason if isinstance(got, Trouble) else got.fault or ""
            if isinstance(got, Reply) and not reason:
                checked = check_answer(got.text, question.text, boundary)
                if checked.fault is None:
                    return Evaluation(
                        traits=checked.traits,
                        indicators=checked.indicators,
                        scorer=self.scorer,
                        width=question.width,
                        cost=self._told(spent),
                        usage=usage,
                        dropped=checked.dropped,
                    )
                reason = checked.fault
        return NotMeasured(reason, self._told(spent), usage)

    def worst_cost(self, question: Question) -> float | None:
        """An upper bound of `evaluate`: what cannot have been answered is not counted by the model's side."""
        if self.settings.price is None:
            return None
        # A random fence is as long as the default one.
        return ASKED * self._cost(None, *question.prompt())

    def close(self) -> None:
        """Ends it for good: what is under way is let go, and nothing is sent again."""
        self._line.cut()
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def client(self) -> Any:
        """The SDK's client, made when it is first needed: importing an SDK takes seconds."""
        with self._lock:
            if self._line.is_cut():
                raise EvaluatorStopped(f"{self.name}: {ENDED}")
            if self._client is None:
                settings = self.settings
                self._client = self.connect(
                    http_client(settings.base_url, settings.timeout, self._line, local=settings.local)
                )
            return self._client

    def parameters(self, system: str, user: str) -> dict[str, Any]:
        """A request in the form that was last found to work."""
        return self.request(system, user, self.forms()[self._level])

    def read(self, body: Any) -> Reply:
        """What a body says, also where it is none of the protocol's."""
        try:
            return self.reply(body)
        except (LookupError, TypeError, ValueError, AttributeError):
            return Reply("", None, UNREADABLE)

    def patiently(self, send: Callable[[], Any]) -> Any | Trouble:
        """What `send` gives, sent again after a while where it certainly was not answered."""
        began, turn = time.monotonic(), 0
        while not self._line.is_cut():
            got = attempt(send)
            if not isinstance(got, Trouble):
                self._reached = True
                return got
            if self._line.is_cut():
                # What broke off may have been counted by the model's side.
                broke = got.kind == "lost" or (got.kind == "wrong" and got.status is None)
                return Trouble("lost" if broke else "ended", ENDED)
            self._reached |= got.kind != "unreached"
            if got.kind not in ("busy", "unreached") or self._is_enough(turn, time.monotonic() - began):
                return got
            self._sleep(waiting_time(got, turn, random.random()))
            turn += 1
        return Trouble("ended", ENDED)

    def _is_enough(self, turn: int, seconds: float) -> bool:
        if self._reached:
            return turn >= REPEATS
        return turn >= NEVER_REACHED_REPEATS or seconds >= NEVER_REACHED_SECONDS

    def _ask(self, system: str, user: str) -> Reply | Trouble:
        try:
            client, forms = self.client(), self.forms()
        except EvaluatorStopped:
            return Trouble("ended", ENDED)
        for level in range(self._level, len(forms)):
            got = self.patiently(partial(self.send, client, self.request(system, user, forms[level])))
            # Whoever took a form once takes it always: what is wrong then is the question.
            if not isinstance(got, Trouble) or got.status not in (400, 422) or self._answered:
                break
        if isinstance(got, Trouble):
            return got
        self._level, self._answered = level, True
        return self.read(got)

    def _given_up(self, trouble: Trouble, spent: float, usage: Usage) -> NotMeasured:
        if trouble.kind == "stop" or (trouble.kind == "unreached" and not self._reached):
            raise EvaluatorStopped(f"{self.name}: {trouble.reason}", self._told(spent))
        return NotMeasured(trouble.reason, self._told(spent), usage, final=trouble.kind == "wrong")

    def _cost(self, usage: Usage | None, system: str, user: str) -> float:
        """Dollars; the most it can be where the model's side did not tell, since it may have counted all."""
        price = self.settings.price
        if price is None:
            return 0.0
        if usage is not None:
            return price.cost(usage)
        return price.most(most_tokens(system, user + self._schema_text), self.settings.max_tokens)

    def _told(self, spent: float) -> float | None:
        return None if self.settings.price is None else spent


def tokens(value: Any) -> int:
    """A count of tokens as a body gives it; ValueError where it is none.

    >>> tokens(12), tokens(None)
    (12, 0)
    """
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100_000_000:
        raise ValueError("not a count of tokens")
    return value


def usage_or_none(read: Callable[[], Usage]) -> Usage | None:
    """The usage, or None where the body does not tell it as the protocol says."""
    try:
        return read()
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
