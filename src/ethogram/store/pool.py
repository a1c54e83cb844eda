"""Connections of a store to its database: a few stay open, and each is used by one thread at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import BoundedSemaphore
from typing import Any

from ..errors import StoreFailed

TIMEOUT_S = 30
"""How long to wait for a connection that another thread gives back."""
IDLE = 5
"""Connections that stay open though nobody uses them."""


class Pool:
    """Connections that `make` makes, at most `most` at a time."""

    def __init__(self, url: str, make: Callable[[], Any], most: int) -> None:
        self._url, self._make = url, make
        self._idle: list[Any] = []
        self._is_closed = False
        self._free = BoundedSemaphore(most)

    def take(self) -> tuple[Any, bool]:
        """A connection, and whether it is new."""
        if not self._free.acquire(timeout=TIMEOUT_S):
            raise StoreFailed(f"{self._url}: all connections are in use: try again")
        try:
            try:
                return self._idle.pop(), False
            except IndexError:
                return self._make(), True
        except BaseException:
            self._free.release()
            raise

    def give(self, raw: Any, *, is_sound: bool = True) -> None:
        """Take a connection back, or close it where it is of no more use."""
        try:
            if is_sound and not self._is_closed and len(self._idle) < IDLE:
                self._idle.append(raw)
            else:
                with suppress(Exception):
                    raw.close()
        finally:
            self._free.release()

    def close(self) -> None:
        """Close the connections that are not in use, and the others when they come back."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()
