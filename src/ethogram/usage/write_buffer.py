"""WriteBuffer: events of one process that wait, so that many are written in one short transaction."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from threading import Lock, Timer

from .event import Seen
from .store import UsageStore

MOST_HELD = 20_000
"""Events held back at most, however long they might wait."""
MOST_IN_MEMORY = 4_000
"""The same in memory: writing so many takes less than a tenth of a second."""


class WriteBuffer:
    """Events on their way to a store.

    `hold`: seconds that they may wait for a file; 0: none. In memory they wait until somebody reads.
    """

    def __init__(self, store: UsageStore, hold: float, clock: Callable[[], float]) -> None:
        self.store = store
        self._hold, self._clock = hold, clock
        self._in_memory = store.path is None
        self._most = MOST_IN_MEMORY if self._in_memory else MOST_HELD
        self._pending: list[tuple[bytes, Seen]] = []
        self._timer: Timer | None = None
        self._lock, self._flushing = Lock(), Lock()
        _ALIVE.add(self)

    def add(self, base: bytes, seen: Seen) -> None:
        """Write an event, or hold it back for a while."""
        if not self._hold and not self._in_memory:
            self.store.add([(base, seen)], self._clock())
            return
        with self._lock:
            self._pending.append((base, seen))
            is_full = len(self._pending) >= self._most
            if self._timer is None and not self._in_memory:
                self._timer = Timer(self._hold, self._flush_late)
                self._timer.daemon = True
                self._timer.start()
        if is_full:
            self.flush()

    def _flush_late(self) -> None:
        try:
            self.flush()
        except Exception:
            # Nobody is there to hear it; the events still wait, and the next call or `close` raises.
            with self._lock:
                self._timer = None

    def flush(self) -> None:
        """Write what is held back. Where that fails nothing is lost: it is held still."""
        with self._flushing:
            with self._lock:
                batch, self._pending = self._pending, []
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            try:
                if batch:
                    self.store.add(batch, self._clock())
            except BaseException:
                with self._lock:
                    self._pending = batch + self._pending
                raise

    def after_fork(self, *, is_child: bool) -> None:
        """In a child, wait for no lock of the parent's, and leave to it what it holds back for a file."""
        self.store.after_fork(is_child=is_child)
        if is_child:
            self._lock, self._flushing, self._timer = Lock(), Lock(), None
            self._pending = self._pending if self._in_memory else []


_ALIVE: weakref.WeakSet[WriteBuffer] = weakref.WeakSet()
_FORKING: list[WriteBuffer] = []


def _flush_files() -> None:
    for buffer in list(_ALIVE):
        if buffer.store.path is not None:
            buffer.flush()


def _before_fork() -> None:
    buffers = sorted(_ALIVE, key=id)
    for buffer in buffers:
        buffer.store.before_fork()
    _FORKING[:] = buffers


def _after_fork(*, is_child: bool) -> None:
    buffers = _FORKING[:]
    _FORKING.clear()
    for buffer in buffers:
        buffer.after_fork(is_child=is_child)


atexit.register(_flush_files)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(is_child=False),
        after_in_child=lambda: _after_fork(is_child=True),
    )
