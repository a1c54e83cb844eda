"""What a sweep asks of a store: who has something new, and where to write what was found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, or_, select, tuple_

from ..models import micros, moment
from . import tables
from .keeping import keep
from .locks import check_held
from .protocol import Found, Held, SubjectRow, Swept
from .reading import EVENTS, SUBJECTS, subject_query, subject_rows
from .sql import Sql, run, run_many

SWEPT = tables.swept.c


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
        """Subjects that have to be looked at again, by source and name.

        Never swept with these versions; changed since; with an event that was in the future then; or with a
        silence that is due. `since`: also all with an event at or after it. `threads`: also those in a
        thread where somebody changed, whose readings may depend on it.
        """
        now = micros(as_of)
        was = and_(SWEPT.subject == SUBJECTS.key, SWEPT.selection == selection, SWEPT.versions == versions)
        later = tables.events.alias("later").c
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
        query = subject_query().outerjoin(tables.swept, was).where(enough)
        with self.reading() as connection:
            found = subject_rows(connection, query.where(or_(*reasons)))
            if threads and found:
                mates = subject_query().where(enough, SUBJECTS.key.in_(_thread_mates(was, reasons, now)))
                found += subject_rows(connection, mates)
        found = list({one.who: one for one in found}.values())
        return sorted((one for one in found if one.first_at <= as_of), key=lambda one: one.who)

    def last_sweep(self) -> datetime | None:
        """The latest moment that was swept as of, also by a sweep that was killed; None before the first."""
        query = """SELECT max(as_of_us) FROM
          (SELECT as_of_us FROM sweeps UNION ALL SELECT max(as_of_us) FROM swept) AS s"""
        with self.reading() as connection:
            found = run(connection, query).scalar()
            return None if found is None else moment(found)

    def reset_sweeps(self, after: datetime) -> int:
        """Forget sweeps as of later than a moment; how many subjects will be looked at anew.

        Detections, changes and verdicts stay: the next sweep compares them with what it finds.
        """
        with self.writing() as connection:
            run(connection, "DELETE FROM sweeps WHERE as_of_us > :after", after=micros(after))
            gone = "DELETE FROM swept WHERE as_of_us > :after"
            return int(run(connection, gone, after=micros(after)).rowcount)

    def keep_sweep(
        self,
        selection: str,
        versions: str,
        as_of: datetime,
        *,
        found: Sequence[tuple[str, Found]] = (),
        swept: Sequence[Swept] = (),
        lock: Held | None = None,
        at: datetime | None = None,
    ) -> None:
        """Write what a sweep found, by the change it is, and whom it looked at, in one commit."""
        now = micros(as_of)
        mark = """INSERT INTO swept (selection, subject, versions, changed, as_of_us, due_us)
          SELECT :selection, u.key, :versions, :changed, :as_of, :due FROM subjects u
          JOIN sources o ON o.key = u.source WHERE o.name = :source AND u.name = :name
          ON CONFLICT (selection, subject) DO UPDATE SET versions = excluded.versions,
            changed = excluded.changed, as_of_us = excluded.as_of_us, due_us = excluded.due_us"""
        with self.writing() as connection:
            if lock is not None:
                check_held(connection, lock, None if at is None else micros(at))
            for change, kept in found:
                keep(connection, change, kept, now)
            how = {"selection": selection, "versions": versions, "as_of": now}
            rows = [
                {**how, "source": one.who[0], "name": one.who[1], "changed": one.changed, "due": one.due_us}
                for one in swept
            ]
            run_many(connection, mark, rows)

    def close_sweep(self, selection: str, versions: str, as_of: datetime, at: datetime) -> None:
        """Remember that a sweep was finished."""
        done = """INSERT INTO sweeps VALUES (:selection, :versions, :as_of, :at)
          ON CONFLICT (selection) DO UPDATE SET versions = excluded.versions,
            as_of_us = excluded.as_of_us, finished_us = excluded.finished_us"""
        values = {"selection": selection, "versions": versions, "as_of": micros(as_of), "at": micros(at)}
        with self.writing() as connection:
            run(connection, done, **values)


def _thread_mates(was: ColumnElement[bool], reasons: list[ColumnElement[bool]], now: int) -> Select[Any]:
    """Keys of the subjects in the threads that have new events."""
    is_new = or_(
        SWEPT.subject.is_(None),
        EVENTS.key > SWEPT.changed,
        and_(EVENTS.at_us > SWEPT.as_of_us, EVENTS.at_us <= now),
    )
    threads = (
        select(EVENTS.source, EVENTS.thread)
        .join(tables.subjects, SUBJECTS.key == EVENTS.subject)
        .outerjoin(tables.swept, was)
        .where(or_(*reasons), is_new, EVENTS.thread.is_not(None))
    )
    mates = tables.events.alias("mates").c
    return select(mates.subject).where(tuple_(mates.source, mates.thread).in_(threads))
