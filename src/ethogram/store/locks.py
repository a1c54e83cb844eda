"""Locks: one at a time per store. Who dies with a lock loses it at once; who is silent for long, too."""

from __future__ import annotations

import os
import socket
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from ..errors import BadUsage
from ..models import format_time, micros, moment
from .protocol import Held
from .sql import Sql, run

SILENT = 15 * 60 * 1_000_000
"""Microseconds without a beat after which a lock of another machine counts as left behind."""


class Locks(Sql):
    """Who is at work."""

    def lock(self, name: str, at: datetime) -> Held:
        """The lock, now ours. BadUsage says who has it."""
        held = Held(name, uuid.uuid4().hex)
        take = """INSERT INTO locks VALUES (:name, :token, :pid, :started, :host, :at, :at)
          ON CONFLICT (name) DO UPDATE SET token = excluded.token, pid = excluded.pid,
            started = excluded.started, host = excluded.host,
            begun_us = excluded.begun_us, beat_us = excluded.beat_us"""
        with self.writing() as connection:
            row = run(connection, "SELECT * FROM locks WHERE name = :name", name=name).mappings().first()
            if row is not None and not is_left(row, micros(at)):
                since = format_time(moment(row["begun_us"]))
                raise BadUsage(
                    f"{self.url}: another {name.partition(' ')[0]} is at work since {since} "
                    f"(process {row['pid']} on {row['host']}); wait for it, or stop it first"
                )
            pid, host = os.getpid(), socket.gethostname()
            values = {"token": held.token, "pid": pid, "started": started(pid), "host": host}
            run(connection, take, name=name, at=micros(at), **values)
        return held

    def beat(self, held: Held, at: datetime) -> None:
        """Show that the holder is alive; BadUsage where the lock was taken over."""
        with self.writing() as connection:
            check_held(connection, held, micros(at))

    def unlock(self, held: Held) -> None:
        """Give a lock back, if it is still ours."""
        with self.writing() as connection:
            gone = "DELETE FROM locks WHERE name = :name AND token = :token"
            run(connection, gone, name=held.name, token=held.token)


def check_held(connection: Connection, held: Held, at_us: int | None) -> None:
    """Nothing, where the lock is still ours: what is written in this commit is written by its holder."""
    beat = """UPDATE locks SET beat_us = coalesce(:at, beat_us) WHERE name = :name AND token = :token"""
    if run(connection, beat, at=at_us, name=held.name, token=held.token).rowcount != 1:
        raise BadUsage(f"another process took over the {held.name}; this one stops")


def is_left(row: Any, now_us: int) -> bool:
    """Whether nobody is behind a lock any more.

    A beat as far in the future as that is one of a wrong clock, and would hold the lock for ever.
    """
    is_silent = bool(abs(now_us - row["beat_us"]) > SILENT)
    if row["host"] != socket.gethostname():
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


def started(pid: int) -> str:
    """When a process began, in the kernel's own count; '' where the system does not tell.

    >>> started(os.getpid()) == started(os.getpid())
    True
    """
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name in brackets may hold anything, blanks and brackets included.
    return told.rpartition(")")[2].split()[19]
