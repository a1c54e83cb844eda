"""Progress on standard error: only on a terminal, and only once something has taken a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


PATIENCE = 2.0
"""Seconds before a bar is shown."""


class Progress:
    """Bytes read, then a moving bar while events are checked. Does nothing where nobody looks."""

    def __init__(self, *, shown: bool | None = None, patience: float = PATIENCE) -> None:
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._patience = patience
        self._start = time.monotonic()
        self._bar: Bar | None = None
        self._task: Any = None
        self._lock = Lock()

    def read(self, done: int, total: int) -> None:
        """So many bytes of so many were read."""
        if not self._shown or time.monotonic() - self._start < self._patience:
            return
        if self._bar is None:
            self._open("reading", total or None)
        assert self._bar is not None
        self._bar.update(self._task, completed=done)

    def count(self, done: int, total: int, what: str) -> None:
        """So many of so many are done; `what` says more. A total of 0 is one that is not known."""
        if not self._shown or time.monotonic() - self._start < self._patience:
            return
        with self._lock:
            if self._bar is None:
                self._open(what, total or None, amount=False)
            assert self._bar is not None
            self._bar.update(self._task, completed=done, total=total or None, description=what)

    @contextmanager
    def checking(self, what: str) -> Iterator[None]:
        """A moving bar while the block runs, from the moment patience ends."""
        if not self._shown:
            yield
            return
        over = Event()
        Thread(target=self._open_late, args=(what, over), daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                over.set()
            self.stop()

    def stop(self) -> None:
        """Take the bar away, so that nothing of it is left on the screen."""
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.stop()

    def _open_late(self, what: str, over: Event) -> None:
        if over.wait(max(0.0, self._patience - (time.monotonic() - self._start))):
            return
        # The work may end right now: then no bar must be opened after it was to be taken away.
        with self._lock:
            if not over.is_set() and self._bar is None:
                self._open(what, None)

    def _open(self, what: str, total: int | None, *, amount: bool = True) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        from .output import colours

        bytes_read = [DownloadColumn()] if total and amount else []
        columns = [TextColumn("{task.description}"), BarColumn(), *bytes_read, TimeElapsedColumn()]
        console = Console(stderr=True, markup=False, color_system=colours())
        bar = Bar(*columns, console=console, transient=True)
        self._task = bar.add_task(what, total=total)
        bar.start()
        self._bar = bar
