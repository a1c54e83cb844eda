"""Sweeps: who has something new, how far each selection of patterns has come, and one sweep at a time."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, or_, select, tuple_

from ..errors import BadUsage
from ..models import format_time, micros, moment
from . import schema
from .events import EVENTS, SUBJECTS, subject_query, subject_rows
from .records import Held, Locked, SubjectRow, Swept, SweptDetection
from .sql import Sql, run, run_many
from .verdicts import save_detection

SWEPT = schema.swept.c
_released: set[str] = set()
"""Tokens that this process gave back while their rows could not be removed: they hold nothing any more."""
SILENT = 15 * 60 * 1_000_000
"""Microseconds without a beat after which a lock of another machine counts as left behind."""


class Sweeps(Sql):
    """How far each selection of patterns has come with each subject."""

    def touched(
        self,
        selection: str,
        versions: str,
        as_of: datetime,
        *,
        since: datetime | None = None,
        min_events: int = 1,
        threads: bool = False,
    ) -> list[SubjectRow]:
        """Subjects to sweep again, by source and name.

        Never swept with these versions; changed since; with an event that was in the future then; or with a
        silence that is due. `since`: also all with an event at or after it. `threads`: also those in a
        thread where somebody changed, whose readings may depend on it.
        """
        now = micros(as_of)
        was = and_(SWEPT.subject == SUBJECTS.key, SWEPT.selection == selection, SWEPT.versions == versions)
        later = schema.events.alias("later").c
        between = exists().where(
            later.subject == SUBJECTS.key, later.at_us > SWEPT.as_of_us, later.at_us <= now
        )
        reasons: list[ColumnElement[bool]] = [
            SWEPT.subject.is_(None),
            SUBJECTS.changed > SWEPT.changed,
            and_(SUBJECTS.last_us > SWEPT.as_of_us, between),
            SWEPT.due_us < now,
        ]
        if since is not None:
            reasons.append(SUBJECTS.last_us >= micros(since))
        enough = SUBJECTS.events >= min_events
        query = subject_query().outerjoin(schema.swept, was).where(enough)
        with self.reading() as connection:
            rows = subject_rows(connection, query.where(or_(*reasons)))
            if threads and rows:
                mates = subject_query().where(enough, SUBJECTS.key.in_(_thread_mates(was, reasons, now)))
                rows += subject_rows(connection, mates)
        subjects = {row.who: row for row in rows if row.first_at <= as_of}
        return [subjects[who] for who in sorted(subjects)]

    def last_sweep(self) -> datetime | None:
        """The latest moment that was swept as of, also by a sweep that was killed; None before the first."""
        query = """SELECT max(as_of_us) FROM
          (SELECT as_of_us FROM sweeps UNION ALL SELECT max(as_of_us) FROM swept) AS s"""
        with self.reading() as connection:
            latest = run(connection, query).scalar()
            return None if latest is None else moment(latest)

    def reset_sweeps(self, after: datetime) -> int:
        """Forget sweeps as of later than a moment; how many subjects will be looked at anew.

        Detections, changes and verdicts stay: the next sweep compares them with what it finds.
        """
        with self.writing() as connection:
            run(connection, "DELETE FROM sweeps WHERE as_of_us > :after", after=micros(after))
            gone = "DELETE FROM swept WHERE as_of_us > :after"
            return int(run(connection, gone, after=micros(after)).rowcount)

    def save_sweep(
        self,
        selection: str,
        versions: str,
        as_of: datetime,
        *,
        detections: Sequence[tuple[str, SweptDetection]] = (),
        swept: Sequence[Swept] = (),
        lock: Held | None = None,
        at: datetime | None = None,
    ) -> None:
        """Write the detections of a sweep, each with its change, and the swept subjects, in one commit."""
        now = micros(as_of)
        mark = """INSERT INTO swept (selection, subject, versions, changed, as_of_us, due_us)
          SELECT :selection, u.key, :versions, :changed, :as_of, :due FROM subjects u
          JOIN sources o ON o.key = u.source WHERE o.name = :source AND u.name = :name
          ON CONFLICT (selection, subject) DO UPDATE SET versions = excluded.versions,
            changed = excluded.changed, as_of_us = excluded.as_of_us, due_us = excluded.due_us"""
        with self.writing() as connection:
            if lock is not None:
                check_held(connection, lock, None if at is None else micros(at))
            for change, detection in detections:
                save_detection(connection, change, detection, now)
            common = {"selection": selection, "versions": versions, "as_of": now}
            rows = [
                dict(common, source=source, name=name, changed=item.changed, due=item.due_us)
                for item in swept
                for source, name in [item.who]
            ]
            run_many(connection, mark, rows)

    def close_sweep(self, selection: str, versions: str, as_of: datetime, at: datetime) -> None:
        """Record that a sweep was finished."""
        done = """INSERT INTO sweeps VALUES (:selection, :versions, :as_of, :at)
          ON CONFLICT (selection) DO UPDATE SET versions = excluded.versions,
            as_of_us = excluded.as_of_us, finished_us = excluded.finished_us"""
        values = {"selection": selection, "versions": versions, "as_of": micros(as_of), "at": micros(at)}
        with self.writing() as connection:
            run(connection, done, **values)

    def lock(self, name: str, at: datetime) -> Held:
        """Take a lock. BadUsage says who holds it."""
        held = Held(name, uuid.uuid4().hex)
        take = """INSERT INTO locks VALUES (:name, :token, :pid, :started, :host, :at, :at)
          ON CONFLICT (name) DO UPDATE SET token = excluded.token, pid = excluded.pid,
            started = excluded.started, host = excluded.host,
            begun_us = excluded.begun_us, beat_us = excluded.beat_us"""
        with self.writing() as connection:
            row = run(connection, "SELECT * FROM locks WHERE name = :name", name=name).mappings().first()
            if row is not None and row["token"] in _released:
                row = None
            if not self.claim(name, row, micros(at)):
                raise Locked(f"{self.url}: another {name.partition(' ')[0]} {holder_of(row)}")
            pid, host = os.getpid(), socket.gethostname()
            values = {"token": held.token, "pid": pid, "started": started(pid), "host": host}
            run(connection, take, name=name, at=micros(at), **values)
        return held

    def unlock(self, held: Held) -> None:
        """Release a lock, if it is still ours."""
        self.release(held.name)
        _released.add(held.token)
        with self.writing() as connection:
            gone = "DELETE FROM locks WHERE name = :name AND token = :token"
            run(connection, gone, name=held.name, token=held.token)
        _released.discard(held.token)

    def claim(self, name: str, row: Any, now_us: int) -> bool:
        """Whether a lock is free, or its holder (a row of `locks`) gone; where it is, it is ours."""
        return row is None or is_left(row, now_us)

    def release(self, name: str) -> None:
        """Undo `claim`."""


def holder_of(row: Any) -> str:
    """Who holds a lock, since when."""
    if row is None:
        return "is at work; wait for it, or stop it first"
    since, who = format_time(moment(row["begun_us"])), f"process {row['pid']} on {row['host']}"
    return f"is at work since {since} ({who}); wait for it, or stop it first"


def _thread_mates(was: ColumnElement[bool], reasons: list[ColumnElement[bool]], now: int) -> Select[Any]:
    """Keys of the subjects in the threads that have new events."""
    is_new = or_(
        SWEPT.subject.is_(None),
        EVENTS.key > SWEPT.changed,
        and_(EVENTS.at_us > SWEPT.as_of_us, EVENTS.at_us <= now),
    )
    threads = (
        select(EVENTS.source, EVENTS.thread)
        .join(schema.subjects, SUBJECTS.key == EVENTS.subject)
        .outerjoin(schema.swept, was)
        .where(or_(*reasons), is_new, EVENTS.thread.is_not(None))
    )
    mates = schema.events.alias("mates").c
    return select(mates.subject).where(tuple_(mates.source, mates.thread).in_(threads))


def check_held(connection: Connection, held: Held, at_us: int | None) -> None:
    """Raise BadUsage where the lock is no longer ours, so that only its holder commits."""
    beat = """UPDATE locks SET beat_us = coalesce(:at, beat_us) WHERE name = :name AND token = :token"""
    if run(connection, beat, at=at_us, name=held.name, token=held.token).rowcount != 1:
        raise BadUsage(f"another process took over the {held.name}; this one stops")


def is_left(row: Any, now_us: int) -> bool:
    """Whether the holder of a lock is gone.

    A beat as far in the future comes from a wrong clock, and would hold the lock for ever.
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
