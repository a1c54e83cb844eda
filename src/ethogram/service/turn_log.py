"""Turns of conversations as events, handed on a little behind their answers and many at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import Any

from ..models import format_time
from ..signals.base import Unmeasured
from ..store.records import Added
from .chat_states import Chat
from .messages import Turn
from .state import log

EVERY = 0.2
"""Seconds in which turns are collected."""
MOST = 10_000
"""Requests whose turns may wait."""
Emit = Callable[[list[dict[str, Any]]], "Future[Added]"]
"""Writes new turns as event lines; called in a thread."""


def event_lines(
    chat: Chat, turns: Sequence[tuple[Turn, Mapping[str, Any]]], last: datetime, longest: int
) -> list[dict[str, Any]]:
    """New turns of a conversation, with their readings, as event lines.

    Those of one request follow each other by a microsecond; texts have at most `longest` characters.
    """
    lines = []
    for number, (turn, values) in enumerate(turns, 1):
        is_user = turn.role == "user"
        line: dict[str, Any] = {
            "id": f"{chat.id}:{chat.turns + number}",
            "at": format_time(last - timedelta(microseconds=len(turns) - number)),
            "source": chat.source,
            "subject": chat.subject if is_user else f"{chat.id}/{turn.role}",
            "target": f"{chat.id}/assistant" if is_user else chat.subject,
            "thread": chat.id,
            "kind": "message",
            "text": turn.text[:longest],
            "attributes": {"role": turn.role},
            "readings": {name: value for name, value in values.items() if not isinstance(value, Unmeasured)},
        }
        if turn.text.strip():
            lines.append(line)
    return lines


class TurnLog:
    """Writes the turns of requests in a thread of its own; a request with a bad turn spares the others."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._waiting: list[list[dict[str, Any]]] = []
        self._unwritten = 0
        self._lock = threading.Lock()
        self._news, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="turns", daemon=True)
        self._thread.start()

    def put(self, lines: list[dict[str, Any]]) -> None:
        """Hand the turns of a request on; where too many wait they are left out."""
        with self._lock:
            is_full = self._unwritten >= MOST
            if not is_full:
                self._unwritten += 1
                self._waiting.append(lines)
        if is_full:
            log.warning("turns of conversations are not stored: too many wait")
        elif not self._news.is_set():
            self._news.set()

    def forget(self, chats: Collection[str]) -> None:
        """Leave out what waits of these conversations."""
        with self._lock:
            for lines in self._waiting:
                lines[:] = [line for line in lines if line["thread"] not in chats]

    def close(self) -> None:
        """Hand on what waits."""
        self._closing.set()
        self._news.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._news.wait()
            self._closing.wait(EVERY)
            self._news.clear()
            self._hand_on()
        self._hand_on()

    def _hand_on(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        if waiting and not self._emitted(waiting) and len(waiting) > 1:
            for lines in waiting:
                self._emitted([lines])

    def _emitted(self, requests: list[list[dict[str, Any]]]) -> bool:
        """Write the turns of requests together; False where they are to be tried one by one."""

        def done(result: Future[Added] | Exception) -> None:
            with self._lock:
                self._unwritten -= len(requests)
            error = result if isinstance(result, Exception) else result.exception()
            if error is not None:
                log.warning("turns of conversations were not stored: %s", type(error).__name__)

        try:
            # Not waited for: the writer commits together what waits.
            self._emit([line for lines in requests for line in lines]).add_done_callback(done)
        except Exception as error:
            if len(requests) > 1:
                return False
            done(error)
        return True
