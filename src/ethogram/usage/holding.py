"""Holding: events of one process that wait a moment, so that many are written in one short transaction."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from threading import Lock, Timer

from .seen import Seen
from .shelf import Shelf

MOST_HELD = 20_000
"""Events held back at most, however long they might wait."""


class Holding:
    """Events on their way to a shelf. `hold`: seconds that they may wait; 0: none."""

    def __init__(self, shelf: Shelf, hold: float, clock: Callable[[], float]) -> None:
        self.shelf = shelf
        self._hold, self._clock = hold, clock
        self._pending: list[tuple[bytes, Seen]] = []
        self._timer: Timer | None = None
        self._lock, self._flushing = Lock(), Lock()
        _ALIVE.add(self)

    def add(self, base: bytes, seen: Seen) -> None:
        """Write an event, or hold it back for a while."""
        if not self._hold:
            self.shelf.add([(base, seen)], self._clock())
            return
        with self._lock:
            self._pending.append((base, seen))
            is_full = len(self._pending) >= MOST_HELD
            if self._timer is None:
                self._timer = Timer(self._hold, self._flush_late)
                self._timer.daemon = True
                self._timer.start()
        if is_full:
            self.flush()

    def _flush_late(self) -> None:
        try:
            self.flush()
        except Exception:
            # Nobody is there to be told; it is held still, and the next call or `close` says what is wrong.
            with self._lock:
                self._timer = None

    def flush(self) -> None:
        """Write what is held back. Where that fails nothing is lost: it is held still."""
        if not self._hold:
            return
        with self._flushing:
            with self._lock:
                batch, self._pending = self._pending, []
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            try:
                if batch:
                    self.shelf.add(batch, self._clock())
            except BaseException:
                with self._lock:
                    self._pending = batch + self._pending
                raise

    def begin_anew(self) -> None:
        """In a forked child: hold nothing back, for the parent still does, and wait for none of its locks."""
        self._pending, self._timer = [], None
        self._lock, self._flushing = Lock(), Lock()
        self.shelf.begin_anew()


_ALIVE: weakref.WeakSet[Holding] = weakref.WeakSet()


def _flush_all() -> None:
    for one in list(_ALIVE):
        one.flush()


def _begin_anew() -> None:
    for one in list(_ALIVE):
        one.begin_anew()


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
