"""Logs of requests to a model: every request repeats what was said before, and it is told once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Generic, TypeVar

from .documents import dict_of, list_of, text_at
from .run_values import text_of

R = TypeVar("R")
TEXTS = frozenset((None, "text", "input_text", "output_text"))


class Requests(Generic[R]):
    """Which run a request goes on with: the one whose whole talk so far it begins with."""

    def __init__(self) -> None:
        self._ends: dict[bytes, R] = {}
        self._named: dict[str, R] = {}

    @property
    def is_begun(self) -> bool:
        """Whether anything was kept yet."""
        return bool(self._ends or self._named)

    def run_of(
        self, messages: Sequence[Any], make: Callable[[], R], before: str | None = None
    ) -> tuple[R, int]:
        """The run, and how many of the messages it was told already; a new one where none fits.

        `before` is the id of the answer that this request says it follows; then nothing is repeated.
        """
        if before is not None and before in self._named:
            return self._named[before], 0
        ends = _ends(messages)
        for count in range(len(ends), 0, -1):
            if (found := self._ends.pop(ends[count - 1], None)) is not None:
                return found, count
        return make(), 0

    def keep(
        self, run: R, messages: Sequence[Any], answer: Iterable[Any] = (), name: str | None = None
    ) -> None:
        """A run that was told all of this, and the id of the answer it ended with."""
        if ends := _ends([*messages, *answer]):
            self._ends[ends[-1]] = run
        if name is not None:
            self._named[name] = run


def _ends(messages: Sequence[Any]) -> list[bytes]:
    """A digest of the messages up to each of them."""
    whole = blake2b(digest_size=16)
    out = []
    for one in messages:
        if (said := message_key(one)) is not None:
            whole.update(said.encode("utf-8", "surrogatepass") + b"\0")
        out.append(whole.digest())
    return out


def message_key(message: Any) -> str | None:
    """What stays of a message when it is sent again: who says it, its words, and the ids of calls.

    Libraries drop empty fields, marks for caches and thoughts, so none of these counts. None: a thought.
    """
    one = dict_of(message)
    if one.get("type") == "reasoning":
        return None
    content = one.get("content")
    blocks = [dict_of(block) for block in list_of(content)]
    said = (
        content if isinstance(content, str) else text_of([b for b in blocks if text_at(b, "type") in TEXTS])
    )
    held: list[Mapping[str, Any]] = [one, *blocks, *map(dict_of, list_of(one.get("tool_calls")))]
    ids = [text_at(box, "tool_use_id", "tool_call_id", "call_id") for box in held[: 1 + len(blocks)]]
    ids += [text_at(box, "id") for box in held[1:]]
    return json.dumps([text_at(one, "role"), said, [name for name in ids if name], one.get("function_call")])
