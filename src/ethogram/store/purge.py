"""Purge: remove events and everything derived from them; count or redact mentions of a removed subject.

A subject or target is a mention if it equals the id. In texts, JSON and other ids the id counts as a whole
word: `ann` in `chat/ann` and `ask ann.`, not in `joanna`. Names of others that contain it, such as a subject
`ann-2`, are left alone everywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection

from ..models import micros
from .imports import PURGES, get_meta, last_key, set_meta
from .records import Purged, Who
from .sql import Sql, run
from .states import purge_states
from .verdicts import settle_where

PURGED_BEFORE = "purged_before_us"
REDACTIONS = "redactions"
WHOLE, WORD, JSON = "whole", "word", "json"
OF_SOURCE = "source = (SELECT o.key FROM sources o WHERE o.name = :source)"


class Purges(Sql):
    """Removal of stored data."""

    def purge(
        self, *, subject: Who | str | None = None, before: datetime | None = None, redact: bool = False
    ) -> Purged:
        """Remove a subject (in all sources, or in one), or what lies before a moment, or both.

        Detections go with their subject; before a moment, those that were over by then, and all of subjects
        without events left. Verdicts on removed detections, and on silences whose events go, are counted and
        go too. Runner states that can be rebuilt go; of conversations those of the subject, or those last
        saved before the moment.

        Where a subject goes as a whole, rows of others that mention it are counted; `redact` puts a
        placeholder there.
        """
        counts: dict[str, int] = {}
        placeholder = None
        self.check_integrity()
        with self.writing() as connection:
            set_meta(connection, "last_key", last_key(connection))
            set_meta(connection, PURGES, (get_meta(connection, PURGES) or 0) + 1)
            events, gone = _events(connection, subject, before)
            detections = _detections(connection, subject, before)
            if before is not None:
                detections += sum(_rest(connection, item) for item in gone)
                _silences(connection)
            for table in ("staged", "imports", "files", "block_subjects", "blocks"):
                run(connection, f"DELETE FROM {table}")
            judged = "kind = 'triage' AND key NOT IN (SELECT id FROM detections)"
            run(connection, f"DELETE FROM notes WHERE {judged}")
            states = purge_states(connection, subject, before)
            if subject is not None and before is None:
                if redact:
                    counts, placeholder = replace_mentions(connection, subject)
                _remove_name(connection, subject)
                if not redact:
                    counts = _mentions(connection, subject, None)
            if before is not None:
                earlier = get_meta(connection, PURGED_BEFORE)
                set_meta(connection, PURGED_BEFORE, max(micros(before), earlier or micros(before)))
        return Purged(events, detections, self.scrub(), states, counts, placeholder)

    def scrub(self) -> bool:
        """Whether no copy of removed rows is left in the file."""
        return True

    def check_integrity(self) -> None:
        """Raise EthogramError where the file is damaged, before anything is removed from it."""

    def purged_before(self) -> int | None:
        """Microseconds since 1970 before which something was purged, if anything was."""
        with self.reading() as connection:
            return get_meta(connection, PURGED_BEFORE)


def _values(subject: Who | str | None, before: datetime | None = None) -> dict[str, Any]:
    """The values of :source, :name and :before that are set."""
    source, name = (None, subject) if subject is None or isinstance(subject, str) else subject
    values = {"source": source, "name": name, "before": None if before is None else micros(before)}
    return {key: value for key, value in values.items() if value is not None}


def _events(
    connection: Connection, subject: Who | str | None, before: datetime | None
) -> tuple[int, list[Who]]:
    """Remove events; return how many, and the subjects that have none left."""
    record = _values(subject, before)
    conditions = {
        "name": "subject IN (SELECT u.key FROM subjects u WHERE u.name = :name)",
        "source": OF_SOURCE,
        "before": "at_us < :before",
    }
    where = " AND ".join(conditions[name] for name in record)
    touched = run(connection, f"SELECT DISTINCT subject FROM events WHERE {where}", **record).scalars().all()
    removed: int = run(connection, f"DELETE FROM events WHERE {where}", **record).rowcount
    gone = [_recount(connection, key) for key in touched]
    return removed, [who for who in gone if who is not None]


def _remove_name(connection: Connection, subject: Who | str) -> None:
    """Remove the name from the events of others and from the audit."""
    record = _values(subject)
    here = f" AND {OF_SOURCE}" if "source" in record else ""
    run(connection, f"UPDATE events SET target = NULL WHERE target = :name{here}", **record)
    run(connection, "UPDATE looks SET person = NULL, why = '' WHERE person = :name", name=record["name"])


def _recount(connection: Connection, key: int) -> Who | None:
    """Update a subject after its events went; remove and return it where none is left."""
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
    record = _values(subject, before)
    conditions = {
        "name": "(subject = :name OR target = :name)",
        "source": "source = :source",
        "before": "coalesce(closed_us, detected_us) < :before AND state <> 'opened'",
    }
    where = " AND ".join(conditions[name] for name in record)
    judged = f"detection IN (SELECT id FROM detections WHERE {where})"
    if subject is not None:
        source = " AND source IN ('', :source)" if "source" in record else ""
        judged = f"({judged} OR (subject = :name{source}))"
    return _remove(connection, where, judged, **record)


def _rest(connection: Connection, who: Who) -> int:
    """Remove all detections of a subject without events; return how many."""
    where, values = "source = :source AND subject = :name", {"source": who[0], "name": who[1]}
    return _remove(connection, where, f"detection IN (SELECT id FROM detections WHERE {where})", **values)


def _silences(connection: Connection) -> None:
    """Count and remove verdicts on silences that begin or end at a removed event."""
    for table, none in (("verdicts", "detection IS NULL"), ("settled", "detection = ''")):
        ids = f"""SELECT e.id FROM events e JOIN subjects u ON u.key = e.subject
          JOIN sources o ON o.key = u.source
          WHERE u.name = {table}.subject AND {table}.source IN ('', o.name)"""
        where = f"{none} AND NOT (first_event IN ({ids}) AND last_event IN ({ids}))"
        if table == "verdicts":
            settle_where(connection, where, remember=False)
        else:
            run(connection, f"DELETE FROM settled WHERE {where}")


def _remove(connection: Connection, where: str, judged: str, **values: Any) -> int:
    """Remove detections, and count and remove the verdicts on them; return how many detections."""
    settle_where(connection, judged, remember=False, **values)
    run(connection, f"DELETE FROM settled WHERE {judged}", **values)
    removed: int = run(connection, f"DELETE FROM detections WHERE {where}", **values).rowcount
    return removed


class Place(NamedTuple):
    """A table that may mention a subject: the name of its rows, their key, and how each column is read.

    `of_source` is the condition for rows of one source; None where rows belong to no source.
    """

    name: str
    table: str
    key: tuple[str, ...]
    columns: dict[str, str]
    of_source: str | None = None


def _place(name: str, key: str, of_source: str | None = None, *, table: str = "", **columns: str) -> Place:
    """A Place; `columns` are names by how they are read (whole, word or json)."""
    kinds = {column: kind for kind, names in columns.items() for column in names.split()}
    return Place(name, table or name, tuple(key.split()), kinds, of_source)


PLACES = (
    _place(
        "events", "key", OF_SOURCE,
        whole="target", word="id thread session reply_to kind text", json="attributes readings",
    ),
    _place(
        "readings", "event signal scorer", f"event IN (SELECT e.key FROM events e WHERE e.{OF_SOURCE})",
        word="text",
    ),
    _place("sources", "key", word="name"),
    _place(
        "detections", "id", "source = :source", whole="subject target", word="source thread", json="record"
    ),
    _place(
        "verdicts", "key", "source IN ('', :source)",
        whole="judge subject", word="first_event last_event why source",
    ),
    _place(
        "settled", "detection pattern source subject first_event last_event", "source IN ('', :source)",
        whole="subject", word="source first_event last_event",
    ),
    _place(
        "counts", "pattern version source month percent verdict", table="verdict_counts", word="source"
    ),
    _place("tries", "key", json="record"),
    _place("states", "name key", table="runner_states", whole="subject", word="name key", json="state"),
    _place("looks", "key", whole="person", word="who why"),
    _place("notes", "kind key", json="record"),
)  # fmt: skip
"""All tables and columns with texts that a purge leaves, except names of patterns, signals and scorers."""


def replace_mentions(connection: Connection, subject: Who | str) -> tuple[dict[str, int], str]:
    """Replace the id everywhere; return how many rows of each kind had it, and the placeholder.

    It is `[purged]`, then `[purged-2]` and so on, so that two ids of events never become the same.
    """
    number = get_meta(connection, REDACTIONS) or 0
    taken = True
    while taken:
        number += 1
        placeholder = "[purged]" if number == 1 else f"[purged-{number}]"
        query = "SELECT EXISTS (SELECT 1 FROM events WHERE id LIKE :like)"
        taken = run(connection, query, like=f"%{placeholder}%").scalar()
    record = _mentions(connection, subject, placeholder)
    if record:
        set_meta(connection, REDACTIONS, number)
    return record, placeholder


def _mentions(connection: Connection, subject: Who | str, placeholder: str | None) -> dict[str, int]:
    """How many rows of each kind mention a subject, for kinds with any; a placeholder is put there."""
    source, name = (None, subject) if isinstance(subject, str) else subject
    replace = replacer(name, _others(connection, name), placeholder or "\0")
    record: dict[str, int] = {}
    for place in PLACES:
        if source is not None and place.of_source is None:
            continue  # the same name in another source is another subject
        count = _in_table(connection, place, source, name, replace, write=placeholder is not None)
        if count:
            record[place.name] = count
    return record


def _in_table(
    connection: Connection,
    place: Place,
    source: str | None,
    name: str,
    replace: Callable[[str], str],
    *,
    write: bool,
) -> int:
    """Count the rows of a table that mention the name; with `write`, replace it."""
    columns = tuple(place.columns)
    # Read only rows that may contain the name, which JSON may escape.
    may = " OR ".join(
        f"{column} LIKE :{'escaped' if kind == JSON else 'plain'} ESCAPE '!'"
        # States are bytes, in which a name may be escaped or not.
        if column != "state"
        else "1 = 1"
        for column, kind in place.columns.items()
    )
    where = f"({may})" if source is None else f"({may}) AND {place.of_source}"
    bindings = {"plain": _like(name), "escaped": _like(json.dumps(name)[1:-1])}
    bindings |= {} if source is None else {"source": source}
    query = f"SELECT {', '.join((*place.key, *columns))} FROM {place.table} WHERE {where}"
    count = 0
    for row in run(connection, query, **bindings).all():
        key, values = row[: len(place.key)], row[len(place.key) :]
        changed = {
            column: text
            for column, old in zip(columns, values, strict=True)
            if old is not None and (text := replaced(old, place.columns[column], name, replace)) != old
        }
        count += bool(changed)
        if changed and write:
            sets = ", ".join(f"{column} = :new_{column}" for column in changed)
            keys = " AND ".join(f"{column} = :key_{column}" for column in place.key)
            new = {f"new_{column}": value for column, value in changed.items()}
            new |= {f"key_{column}": value for column, value in zip(place.key, key, strict=True)}
            run(connection, f"UPDATE {place.table} SET {sets} WHERE {keys}", **new)
    return count


def _like(name: str) -> str:
    return "%" + re.sub(r"([!%_])", r"!\1", name) + "%"


def _others(connection: Connection, name: str) -> list[str]:
    """Names of others that contain the name, longest first."""
    query = """SELECT name FROM subjects WHERE name LIKE :like ESCAPE '!'
      UNION SELECT target FROM events WHERE target LIKE :like ESCAPE '!'"""
    names = run(connection, query, like=_like(name)).scalars().all()
    return sorted((item for item in names if item != name), key=lambda item: (-len(item), item))


def replacer(name: str, others: list[str], placeholder: str) -> Callable[[str], str]:
    """A function that replaces the name in a text, as a word and not as a part of another's name.

    >>> replacer("ann", ["ann-2"], "[purged]")("ann asked ann-2 and joanna: Ann? ann.")
    '[purged] asked ann-2 and joanna: Ann? [purged].'
    """
    pattern = re.compile("|".join([*(f"({_word(other)})" for other in others), _word(name)]))
    return lambda text: pattern.sub(lambda match: match[0] if match.lastindex else placeholder, text)


def _word(name: str) -> str:
    """An expression for a name as a word of its own."""
    before = r"(?<!\w)" if re.match(r"\w", name) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", name) else ""
    return f"{before}{re.escape(name)}{after}"


def replaced(value: Any, how: str, name: str, replace: Callable[[str], str]) -> Any:
    """A value with the name replaced; `how` it is read: whole, word or json."""
    if how == WHOLE:
        return replace(name) if value == name else value
    if isinstance(value, bytes):
        return replaced(value.decode("utf-8", "surrogateescape"), how, name, replace).encode(
            "utf-8", "surrogateescape"
        )
    if how == WORD:
        return replace(value)
    try:
        record = json.loads(value)
    except ValueError:
        return replace(value)  # saved by another program
    new = _walked(record, replace)
    return value if new == record else json.dumps(new, separators=(",", ":"))


def _walked(value: Any, replace: Callable[[str], str]) -> Any:
    """JSON data with the name replaced in every text, keys included."""
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [_walked(item, replace) for item in value]
    if isinstance(value, dict):
        return {replace(name): _walked(item, replace) for name, item in value.items()}
    return value
