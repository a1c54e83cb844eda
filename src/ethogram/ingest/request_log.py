"""Logs of requests to a model: every request repeats the messages before it, which count once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeVar

from .errors import type_name
from .format import Input
from .transcript import Transcript, run_name
from .values import as_dict, as_list, text_at, text_of

R = TypeVar("R")
TEXT_BLOCKS = frozenset((None, "text", "input_text", "output_text"))


class RequestLog(Generic[R]):
    """Which run a request continues: the one whose whole conversation so far it begins with."""

    def __init__(self) -> None:
        self._by_messages: dict[bytes, R] = {}
        self._by_response: dict[str, R] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no request was recorded yet."""
        return not (self._by_messages or self._by_response)

    def run_of(
        self, messages: Sequence[Any], create: Callable[[], R], previous: str | None = None
    ) -> tuple[R, int]:
        """Return the run and how many of the messages it has already; a new run where none fits.

        `previous` is the id of the response that this request follows; then no message is repeated.
        """
        if previous is not None and previous in self._by_response:
            return self._by_response[previous], 0
        digests = _digests(messages)
        for count in range(len(digests), 0, -1):
            if (run := self._by_messages.pop(digests[count - 1], None)) is not None:
                return run, count
        return create(), 0

    def record(self, run: R, messages: Sequence[Any], response_id: str | None = None) -> None:
        """Record the messages a run has now, and the id of its last response."""
        if digests := _digests(messages):
            self._by_messages[digests[-1]] = run
        if response_id is not None:
            self._by_response[response_id] = run


def _digests(messages: Sequence[Any]) -> list[bytes]:
    """Return a digest of the messages up to each of them."""
    whole = blake2b(digest_size=16)
    digests = []
    for message in messages:
        if (key := message_key(message)) is not None:
            whole.update(key.encode("utf-8", "surrogatepass") + b"\0")
        digests.append(whole.digest())
    return digests


def message_key(message: Any) -> str | None:
    """Return what stays of a message when it is sent again: role, text, and the ids of calls.

    Libraries drop empty fields, cache marks and thoughts, so none of these counts. None: a thought.
    """
    fields = as_dict(message)
    if fields.get("type") == "reasoning":
        return None
    content = fields.get("content")
    blocks = [as_dict(block) for block in as_list(content)]
    texts = [block for block in blocks if text_at(block, "type") in TEXT_BLOCKS]
    text = content if isinstance(content, str) else text_of(texts)
    ids = [text_at(item, "tool_use_id", "tool_call_id", "call_id") for item in (fields, *blocks)]
    ids += [text_at(item, "id") for item in (*blocks, *as_list(fields.get("tool_calls")))]
    return json.dumps(
        [text_at(fields, "role"), text, [id_ for id_ in ids if id_], fields.get("function_call")]
    )


class Exchange(NamedTuple):
    """The messages of a conversation or request, what goes before them, and the answers.

    Requests repeat the messages before; conversations of their own may merely begin alike.
    """

    name: str | None
    before: list[Any]
    messages: Any
    answers: list[Any]
    is_request: bool


def exchange_runs(
    builder: type[Transcript],
    exchange_of: Callable[[Mapping[str, Any]], Exchange],
    file: Input,
    documents: Iterator[tuple[int, Any]],
) -> Iterator[Transcript]:
    """Yield the runs in a file of messages, conversations and requests; single messages are one run."""
    name = run_name(file.name)
    single, runs = builder(name, file), list[Transcript]()
    log: RequestLog[Transcript] = RequestLog()
    for line, document in documents:
        if not isinstance(document, dict) or ("messages" not in document and "request" not in document):
            single.add_records(line, [document])
            continue
        thread, before, messages, answers, is_request = exchange_of(document)

        def create(thread: str = thread or (name if line == 1 else f"{name}/{line}")) -> Transcript:
            runs.append(builder(thread, file))
            return runs[-1]

        known = [*before, *as_list(messages)]
        run, count = log.run_of(known, create) if is_request else (create(), 0)
        run.line = line
        if not isinstance(messages, list):
            run.fault(f"messages must be a list, not {type_name(messages)}")
        run.add_records(line, [*known[count:], *answers])
        if is_request:
            log.record(run, [*known, *answers])
    yield from (*runs, single)
