"""Locks that one process holds at a time; that of a dead process is taken over."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import BadUsage, StoreFailed
from ..models import format_time, micros, moment
from .kinds import KINDS
from .records import Held, Locked
from .row_store import RowStore

_released: set[str] = set()
"""Tokens that this process gave back while their rows could not be removed: they hold nothing any more."""
LOCK_EXPIRY_US = 15 * 60 * 1_000_000
"""Microseconds without a beat after which a lock of another machine counts as left behind."""


class Locks(RowStore):
    """Locks as rows, each with the process that holds it."""

    def lock(self, name: str, at: datetime) -> Held:
        """Take a lock that one process holds at a time; that of a dead process is taken over.

        BadUsage says who holds it.
        """
        held = Held(name, secrets.token_hex(16))
        pid, host = os.getpid(), _host()

        def work() -> None:
            row = lock_row(self, name)
            if row is not None and row["token"] in (*_released, held.token):
                row = None
            if not self.claim(name, row, micros(at)):
                raise Locked(f"{self.url}: another {name.partition(' ')[0]} {holder_of(row)}")
            self.write("locks", [(name, held.token, pid, started(pid), host, micros(at), micros(at))])

        self.transact(work)
        return held

    def unlock(self, held: Held) -> None:
        """Release a lock, if it is still ours.

        Where its row cannot be removed, as on a full disk, this process takes the lock again, and others do
        once this process has ended: what was done under the lock is stored and has not failed.
        """
        self.release(held.name)
        _released.add(held.token)
        with suppress(StoreFailed):
            self.delete("locks", [("name", "=", held.name), ("token", "=", held.token)])
            _released.discard(held.token)

    def claim(self, name: str, row: Any, now_us: int) -> bool:
        """Whether a lock is free, or its holder (a row of `locks`) gone; where it is, it is ours."""
        return row is None or is_left(row, now_us)

    def release(self, name: str) -> None:
        """Undo `claim`."""


def lock_row(store: RowStore, name: str) -> dict[str, Any] | None:
    """Who holds a lock, by column; None where nobody does."""
    for row in store.rows("locks", [("name", "=", name)], limit=1):
        return dict(zip(KINDS["locks"].names, row, strict=True))
    return None


def check_held(store: RowStore, held: Held, at_us: int | None) -> None:
    """Raise BadUsage where the lock is no longer ours, so that only its holder commits."""
    row = lock_row(store, held.name)
    if row is None or row["token"] != held.token:
        raise BadUsage(f"another process took over the {held.name}; this one stops")
    if at_us is not None:
        store.write("locks", [tuple((row | {"beat_us": at_us}).values())])


def holder_of(row: Any) -> str:
    """Who holds a lock, since when."""
    if row is None:
        return "is at work; wait for it, or stop it first"
    since, who = format_time(moment(row["begun_us"])), f"process {row['pid']} on {row['host']}"
    return f"is at work since {since} ({who}); wait for it, or stop it first"


def is_left(row: Any, now_us: int) -> bool:
    """Whether the holder of a lock is gone.

    A beat as far in the future comes from a wrong clock, and would hold the lock for ever.
    """
    is_silent = bool(abs(now_us - row["beat_us"]) > LOCK_EXPIRY_US)
    if row["host"] != _host():
        return is_silent
    try:
        os.kill(row["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    if started(row["pid"]) != row["started"]:
        return True  # the number was given to another process since
    return bool(row["pid"] == os.getpid() and is_silent)


def _host() -> str:
    import socket  # here: few commands take a lock

    return socket.gethostname()


def started(pid: int) -> str:
    """When a process began, in the kernel's count; '' where it is not known.

    >>> started(os.getpid()) == started(os.getpid())
    True
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name in brackets may hold anything, blanks and brackets included.
    return status.rpartition(")")[2].split()[19]
