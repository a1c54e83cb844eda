"""WriteBuffer: events of one process that wait, so that many are written in one short transaction."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from threading import Lock, Timer

from .event import UsageEvent
from .store import UsageStore

MAX_WAITING = 20_000
"""Events that wait for a file at most, whatever the time."""
MAX_IN_MEMORY = 8_000
"""The same in memory: writing so many takes about a tenth of a second."""


class WriteBuffer:
    """Events on their way to a store.

    `hold`: seconds that they may wait for a file; 0: none. In memory they wait until somebody reads.
    """

    def __init__(self, store: UsageStore, hold: float, clock: Callable[[], float]) -> None:
        self.store = store
        self._hold, self._clock = hold, clock
        self._in_memory = store.path is None
        self._limit = MAX_IN_MEMORY if self._in_memory else MAX_WAITING
        self._waiting: list[tuple[bytes, UsageEvent]] = []
        self._timer: Timer | None = None
        self._lock, self._flushing = Lock(), Lock()
        _BUFFERS.add(self)

    def add(self, base: bytes, event: UsageEvent) -> None:
        """Write an event, or let it wait."""
        if not self._hold and not self._in_memory:
            self.store.add([(base, event)], self._clock())
            return
        with self._lock:
            self._waiting.append((base, event))
            is_full = len(self._waiting) >= self._limit
            if self._timer is None and not self._in_memory:
                self._timer = Timer(self._hold, self._flush_later)
                self._timer.daemon = True
                self._timer.start()
        if is_full:
            self.flush()

    def _flush_later(self) -> None:
        try:
            self.flush()
        except Exception:
            # No caller can handle it here; the events still wait, and the next call or `close` raises.
            with self._lock:
                self._timer = None

    def flush(self) -> None:
        """Write the events that wait. Where that fails nothing is lost: they wait still."""
        with self._flushing:
            with self._lock:
                batch, self._waiting = self._waiting, []
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            try:
                if batch:
                    self.store.add(batch, self._clock())
            except BaseException:
                with self._lock:
                    self._waiting = batch + self._waiting
                raise

    def after_fork(self, *, is_child: bool) -> None:
        """In a child, wait for no lock of the parent's, and leave to it the events that wait for a file."""
        self.store.rows.after_fork(is_child=is_child)
        if is_child:
            self._lock, self._flushing, self._timer = Lock(), Lock(), None
            self._waiting = self._waiting if self._in_memory else []


_BUFFERS: weakref.WeakSet[WriteBuffer] = weakref.WeakSet()
_FORKING: list[WriteBuffer] = []


def _flush_files() -> None:
    for buffer in list(_BUFFERS):
        if buffer.store.path is not None:
            buffer.flush()


def _before_fork() -> None:
    _FORKING[:] = sorted(_BUFFERS, key=id)
    for buffer in _FORKING:
        buffer.store.rows.before_fork()


def _after_fork(*, is_child: bool) -> None:
    for buffer in _FORKING:
        buffer.after_fork(is_child=is_child)
    _FORKING.clear()


atexit.register(_flush_files)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(is_child=False),
        after_in_child=lambda: _after_fork(is_child=True),
    )
