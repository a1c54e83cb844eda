"""Purging: events and what was made of them, removed for good."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from ..models import micros
from .mentions import mentions
from .mentions import redact as redact_mentions
from .moving import last_key, set_meta
from .protocol import Purged, Who
from .sql import Sql, run
from .states import purge_states
from .verdicts import settle_where

PURGED_BEFORE = "purged_before_us"
HORIZON = "SELECT value FROM meta WHERE name = :name"


class Purges(Sql):
    """Removing what need not be kept."""

    def purge(
        self, *, subject: Who | str | None = None, before: datetime | None = None, redact: bool = False
    ) -> Purged:
        """What was removed: a subject (in all sources, or in one), or what lies before a moment, or both.

        Detections go with their subject; of those before a moment, the ones that were over by then, and all
        of subjects of whom no event is left. Verdicts on a detection that goes, or on a silence whose events
        go, are counted and go too: what is left of them names nobody. Runner states go, too: those that can
        be made again from what is left, and of conversations those of the subject, or those saved last before
        the moment.

        Where a subject goes as a whole, rows of others that mention it are counted; `redact` puts a
        placeholder there.
        """
        found: dict[str, int] = {}
        placeholder = None
        self.check_whole()
        with self.writing() as connection:
            set_meta(connection, "last_key", last_key(connection))
            events, gone = _events(connection, subject, before)
            detections = _detections(connection, subject, before)
            if before is not None:
                detections += sum(_rest(connection, one) for one in gone)
                _silences(connection)
            for table in ("staged", "imports", "files"):
                run(connection, f"DELETE FROM {table}")
            states = purge_states(connection, subject, before)
            if subject is not None and before is None:
                if redact:
                    found, placeholder = redact_mentions(connection, subject)
                _forget(connection, subject)
                if not redact:
                    found = mentions(connection, subject)
            if before is not None:
                earlier = run(connection, HORIZON, name=PURGED_BEFORE).scalar()
                set_meta(connection, PURGED_BEFORE, max(micros(before), earlier or micros(before)))
        return Purged(events, detections, self.scrub(), states, found, placeholder)

    def scrub(self) -> bool:
        """Whether no copy of removed rows is left in the file."""
        return True

    def check_whole(self) -> None:
        """Raise EthogramError where the file is damaged, before anything is removed from it."""

    def purged_before(self) -> int | None:
        """Microseconds since 1970 before which something was purged, if anything was."""
        with self.reading() as connection:
            found: int | None = run(connection, HORIZON, name=PURGED_BEFORE).scalar()
        return found


def _whose(subject: Who | str) -> tuple[str, dict[str, str]]:
    if isinstance(subject, str):
        return "u.name = :name", {"name": subject}
    return "o.name = :source AND u.name = :name", {"source": subject[0], "name": subject[1]}


def _events(
    connection: Connection, subject: Who | str | None, before: datetime | None
) -> tuple[int, list[Who]]:
    """How many events were removed, and the subjects that have none left."""
    conditions: list[str] = []
    values: dict[str, str] = {}
    if subject is not None:
        whose, names = _whose(subject)
        keys = f"SELECT u.key FROM subjects u JOIN sources o ON o.key = u.source WHERE {whose}"
        conditions.append(f"subject IN ({keys})")
        values |= names
    if before is not None:
        conditions.append("at_us < :before")
    given = values | ({} if before is None else {"before": micros(before)})
    where = " AND ".join(conditions)
    touched = run(connection, f"SELECT DISTINCT subject FROM events WHERE {where}", **given).scalars().all()
    removed: int = run(connection, f"DELETE FROM events WHERE {where}", **given).rowcount
    gone = [_recount(connection, key) for key in touched]
    return removed, [one for one in gone if one is not None]


def _forget(connection: Connection, subject: Who | str) -> None:
    """Take the name out of where others have it: what they did towards this one, and who looked."""
    source, name = (None, subject) if isinstance(subject, str) else subject
    here = "" if source is None else " AND source = (SELECT key FROM sources WHERE name = :source)"
    given = {"name": name} if source is None else {"name": name, "source": source}
    run(connection, f"UPDATE events SET target = NULL WHERE target = :name{here}", **given)
    run(connection, "UPDATE looks SET person = NULL, why = '' WHERE person = :name", name=name)


def _recount(connection: Connection, key: int) -> Who | None:
    """The subject, where it had to go, since no event of it is left."""
    query = "SELECT count(*), min(at_us), max(at_us) FROM events WHERE subject = :key"
    count, first, last = run(connection, query, key=key).one()
    if not count:
        names = "SELECT o.name, u.name FROM subjects u JOIN sources o ON o.key = u.source WHERE u.key = :key"
        source, name = run(connection, names, key=key).one()
        run(connection, "DELETE FROM subjects WHERE key = :key", key=key)
        return source, name
    update = "UPDATE subjects SET events = :n, first_us = :first, last_us = :last WHERE key = :key"
    run(connection, update, n=count, first=first, last=last, key=key)
    return None


def _detections(connection: Connection, subject: Who | str | None, before: datetime | None) -> int:
    conditions, values = [], {}
    if isinstance(subject, str):
        conditions.append("(subject = :name OR target = :name)")
        values = {"name": subject}
    elif subject is not None:
        conditions.append("source = :source AND (subject = :name OR target = :name)")
        values = {"source": subject[0], "name": subject[1]}
    if before is not None:
        conditions.append("coalesce(closed_us, detected_us) < :before AND state <> 'opened'")
    given = values | ({} if before is None else {"before": micros(before)})
    where = " AND ".join(conditions)
    judged = f"detection IN (SELECT id FROM detections WHERE {where})"
    if subject is not None:
        source = "" if isinstance(subject, str) else " AND source IN ('', :source)"
        judged = f"({judged} OR (subject = :name{source}))"
    return _removed(connection, where, judged, **given)


def _rest(connection: Connection, who: Who) -> int:
    """How many detections were left of a subject that has no events any more, all of which go."""
    where, given = "source = :source AND subject = :name", {"source": who[0], "name": who[1]}
    return _removed(connection, where, f"detection IN (SELECT id FROM detections WHERE {where})", **given)


def _silences(connection: Connection) -> None:
    """Count verdicts on silences that begin or end at an event which is gone, and remove them."""
    for table, none in (("verdicts", "detection IS NULL"), ("settled", "detection = ''")):
        ids = f"""SELECT e.id FROM events e JOIN subjects u ON u.key = e.subject
          JOIN sources o ON o.key = u.source
          WHERE u.name = {table}.subject AND {table}.source IN ('', o.name)"""
        where = f"{none} AND NOT (first_event IN ({ids}) AND last_event IN ({ids}))"
        if table == "verdicts":
            settle_where(connection, where, remember=False)
        else:
            run(connection, f"DELETE FROM settled WHERE {where}")


def _removed(connection: Connection, where: str, judged: str, **given: Any) -> int:
    """How many detections were removed; the verdicts on them are counted and go with them."""
    settle_where(connection, judged, remember=False, **given)
    run(connection, f"DELETE FROM settled WHERE {judged}", **given)
    removed: int = run(connection, f"DELETE FROM detections WHERE {where}", **given).rowcount
    return removed
