"""RiskController: scores each turn of many sessions and has a chat model answer it with the full history."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from ...errors import BadUsage, EvaluatorStopped
from .conversation import Conversation, ConversationState

if TYPE_CHECKING:
    from uuid import UUID

    from ...evaluators.openai import OpenAI

OLLAMA = "http://localhost:11434/v1"
MOST_MESSAGES = 2_000  # of a session, kept and sent
MOST_CHARACTERS = 1_000_000
WAIT = 3.0  # seconds for which a request that failed is sent again
WORKERS = 64  # requests to the model at once


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A turn of the person, scored, and the model's answer.

    `state` is that after the turn, `after` that after the answer. `answer` is None where the model gave none;
    `failure` says why. `sent` counts the messages that the model was sent.
    """

    state: ConversationState
    answer: str | None
    after: ConversationState | None
    failure: str | None
    sent: int


@dataclass(slots=True)
class Session:
    """A conversation and its texts, which are never saved."""

    conversation: Conversation
    messages: list[dict[str, str]] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def add(self, role: str, content: str) -> None:
        self.messages.append({"role": role, "content": content})
        size = sum(len(message["content"]) for message in self.messages)
        while len(self.messages) > MOST_MESSAGES or (size > MOST_CHARACTERS and len(self.messages) > 1):
            size -= len(self.messages.pop(0)["content"])


class RiskController:
    """Stands before a chat model: scores each turn, sends the full history, scores the answer.

    `model` is a name that the server at `base_url` knows: Ollama (the default), vLLM, OpenAI or any other
    that speaks Chat Completions. `http` is for this machine only unless `allow_http`. `key_env` names the
    variable with the key; `timeout` is in seconds. `system` is sent first in every request. Of more than
    `max_sessions` the longest idle one is forgotten, with its risk unless the conversations have a store.
    Further options are those of `Conversation`. Texts stay in memory: the newest 2,000 messages or 1,000,000
    characters of a session.

    Nothing is withheld from the model: what to do about a mode is the caller's decision.
    """

    def __init__(
        self,
        model: str,
        base_url: str = OLLAMA,
        *,
        system: str | None = None,
        key_env: str | None = None,
        allow_http: bool = False,
        timeout: float = 60.0,
        max_sessions: int = 1_000,
        **options: Any,
    ) -> None:
        # Imported here: it needs the extra `llm`, which `import ethogram` does not.
        from ...evaluators.base import make_evaluator
        from ...evaluators.openai import OpenAI

        if isinstance(max_sessions, bool) or not isinstance(max_sessions, int) or max_sessions < 1:
            raise BadUsage(f"invalid max_sessions {max_sessions!r:.40}: expected a number of at least 1")
        if unknown := sorted({"id", "subject"} & options.keys()):
            raise BadUsage(f"invalid option {unknown[0]}: the session's id is that of its conversation")
        wanted = {
            "model": model,
            "base_url": with_path(base_url),
            "timeout": timeout,
            "allow_http": allow_http,
        }
        made = make_evaluator("openai", wanted | ({"key_env": key_env} if key_env is not None else {}))
        assert isinstance(made, OpenAI)
        self._model: OpenAI = made
        self._system, self._most, self._options = system, max_sessions, options
        self._make("0").close()  # options that are wrong fail here, not at the first turn
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="ethogram-chat")

    def _make(self, session_id: str) -> Conversation:
        return Conversation(session_id, **self._options)

    async def process_turn(self, session_id: UUID | str, user_input: str) -> TurnResult:
        """Score a turn of the person, have the model answer the whole session, score the answer.

        Turns of one session are processed one after the other, those of several at once. A model that fails
        gives a result with its `failure`; the turn counts and is sent again with the next one.
        """
        session = self._session(str(session_id))
        async with session.lock:
            state = await session.conversation.aturn(user_input)
            session.add("user", user_input)
            system = [] if self._system is None else [{"role": "system", "content": self._system}]
            messages = [*system, *session.messages]
            answer, failure = await asyncio.get_running_loop().run_in_executor(
                self._pool, self._answer, messages
            )
            if answer is None:
                return TurnResult(state, None, None, failure, len(messages))
            session.add("assistant", answer)
            after = await session.conversation.aturn(answer, role="assistant")
            return TurnResult(state, answer, after, None, len(messages))

    def conversation(self, session_id: UUID | str) -> Conversation:
        """The conversation of a session, with its risk, mode and memory; KeyError for an unknown one."""
        return self._sessions[str(session_id)].conversation

    def end(self, session_id: UUID | str) -> None:
        """Forget a session and its texts."""
        if session := self._sessions.pop(str(session_id), None):
            session.conversation.close()

    def close(self) -> None:
        """Forget all sessions and end requests in flight."""
        self._model.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for name in list(self._sessions):
            self.end(name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _session(self, name: str) -> Session:
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = Session(self._make(name))
        self._sessions.move_to_end(name)
        idle = [key for key, item in self._sessions.items() if key != name and not item.lock.locked()]
        for key in idle[: max(0, len(self._sessions) - self._most)]:
            self.end(key)
        return session

    def _answer(self, messages: list[dict[str, str]]) -> tuple[str | None, str | None]:
        """The model's answer, or None and why there is none."""
        from ...remote.client import RequestFailure

        request = {"model": self._model.settings.model, "messages": messages}
        try:
            client = self._model.client()
        except EvaluatorStopped as error:
            return None, str(error)
        send: Callable[[], Any] = partial(self._model.send, client, request)
        body = self._model.patiently(send, time.monotonic() + WAIT)
        if isinstance(body, RequestFailure):
            return None, body.reason
        text = text_of(body)
        return (None, "the answer is not what the protocol says") if text is None else (text, None)


def with_path(base_url: object) -> object:
    """The address with `/v1` where it has no path, as Ollama's own is mostly written.

    >>> with_path("http://localhost:11434"), with_path("https://example.org/api")
    ('http://localhost:11434/v1', 'https://example.org/api')
    """
    if not isinstance(base_url, str):
        return base_url
    plain = base_url.rstrip("/")
    try:
        return plain if urlsplit(plain).path else f"{plain}/v1"
    except ValueError:
        return base_url


def text_of(body: Any) -> str | None:
    """The text in a completion, a refusal included; None where there is none.

    >>> text_of({"choices": [{"message": {"content": "Hello."}}]}), text_of({"choices": []})
    ('Hello.', None)
    """
    try:
        message: Mapping[str, Any] = body["choices"][0]["message"]
        text = message.get("content") or message.get("refusal")
    except (LookupError, TypeError, AttributeError):
        return None
    return text if isinstance(text, str) and text.strip() else None
