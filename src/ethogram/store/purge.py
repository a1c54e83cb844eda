"""Purge: events and what was made of them, removed for good; mentions of the one who is gone.

In what others wrote, a subject or target is a mention where it is the id as a whole. In texts, JSON and other
ids the id counts as a whole word: `ann` in `chat/ann` and `ask ann.`, not in `joanna`. Names of others that
contain it, such as a subject `ann-2`, are left alone wherever they stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection

from ..models import micros
from .imports import last_key, set_meta
from .protocol import Purged, Who
from .sql import Sql, run
from .states import purge_states
from .verdicts import settle_where

PURGED_BEFORE = "purged_before_us"
REDACTIONS = "redactions"
WHOLE, WORD, JSON = "whole", "word", "json"
OF_SOURCE = "source = (SELECT o.key FROM sources o WHERE o.name = :source)"
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
        record: dict[str, int] = {}
        placeholder = None
        self.check_integrity()
        with self.writing() as connection:
            set_meta(connection, "last_key", last_key(connection))
            events, gone = _events(connection, subject, before)
            detections = _detections(connection, subject, before)
            if before is not None:
                detections += sum(_rest(connection, item) for item in gone)
                _silences(connection)
            for table in ("staged", "imports", "files"):
                run(connection, f"DELETE FROM {table}")
            states = purge_states(connection, subject, before)
            if subject is not None and before is None:
                if redact:
                    record, placeholder = replace_mentions(connection, subject)
                _forget(connection, subject)
                if not redact:
                    record = mentions(connection, subject)
            if before is not None:
                earlier = run(connection, HORIZON, name=PURGED_BEFORE).scalar()
                set_meta(connection, PURGED_BEFORE, max(micros(before), earlier or micros(before)))
        return Purged(events, detections, self.scrub(), states, record, placeholder)

    def scrub(self) -> bool:
        """Whether no copy of removed rows is left in the file."""
        return True

    def check_integrity(self) -> None:
        """Raise EthogramError where the file is damaged, before anything is removed from it."""

    def purged_before(self) -> int | None:
        """Microseconds since 1970 before which something was purged, if anything was."""
        with self.reading() as connection:
            number: int | None = run(connection, HORIZON, name=PURGED_BEFORE).scalar()
        return number


def _values(subject: Who | str | None, before: datetime | None = None) -> dict[str, Any]:
    """Return what the statements of a purge refer to, as far as it is given: :source, :name and :before."""
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


def _forget(connection: Connection, subject: Who | str) -> None:
    """Take the name out of where others have it: what they did towards this one, and who looked."""
    record = _values(subject)
    here = f" AND {OF_SOURCE}" if "source" in record else ""
    run(connection, f"UPDATE events SET target = NULL WHERE target = :name{here}", **record)
    run(connection, "UPDATE looks SET person = NULL, why = '' WHERE person = :name", name=record["name"])


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
    return _removed(connection, where, judged, **record)


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


# --- mentions -------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A table that may mention somebody: what its rows are called, their key, and how each column is read.

    `of_source` is the condition for rows of one source; None where the rows belong to no source.
    """

    name: str
    table: str
    key: tuple[str, ...]
    columns: dict[str, str]
    of_source: str | None = None


def _place(name: str, key: str, of_source: str | None = None, *, table: str = "", **columns: str) -> Place:
    """A Place of names that stand in one text; `columns` by how they are read (whole, word or json)."""
    how = {column: kind for kind, names in columns.items() for column in names.split()}
    return Place(name, table or name, tuple(key.split()), how, of_source)


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
)  # fmt: skip
"""Everything that a purge leaves and that holds words, except names of patterns, signals and scorers."""


def mentions(connection: Connection, subject: Who | str) -> dict[str, int]:
    """How many rows of each kind mention somebody; kinds without any are left out."""
    return _each(connection, subject, None)


def replace_mentions(connection: Connection, subject: Who | str) -> tuple[dict[str, int], str]:
    """Replace the id everywhere, and return how many rows of each kind had it, and the placeholder.

    It is `[purged]`, then `[purged-2]` and so on: with one for all, two ids of events could become the same.
    """
    number = int(run(connection, "SELECT max(value) FROM meta WHERE name = :n", n=REDACTIONS).scalar() or 0)
    taken = True
    while taken:
        number += 1
        placeholder = "[purged]" if number == 1 else f"[purged-{number}]"
        query = "SELECT EXISTS (SELECT 1 FROM events WHERE id LIKE :like)"
        taken = run(connection, query, like=f"%{placeholder}%").scalar_one()
    record = _each(connection, subject, placeholder)
    if record:
        set_meta(connection, REDACTIONS, number)
    return record, placeholder


def _each(connection: Connection, subject: Who | str, placeholder: str | None) -> dict[str, int]:
    source, name = (None, subject) if isinstance(subject, str) else subject
    replace = replacer(name, _others(connection, name), placeholder or "\0")
    record: dict[str, int] = {}
    for place in PLACES:
        if source is not None and place.of_source is None:
            continue  # who has that name elsewhere is somebody else
        count = _in_table(connection, place, source, name, replace, is_kept=placeholder is None)
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
    is_kept: bool,
) -> int:
    """How many rows of a table mention the name; unless `is_kept` they have the placeholder now."""
    columns = tuple(place.columns)
    # Only what may hold the name is looked at. In JSON it may be written with escapes.
    may = " OR ".join(
        f"CAST({column} AS TEXT) LIKE :{'escaped' if place.columns[column] == JSON else 'plain'} ESCAPE '!'"
        for column in columns
    )
    where = f"({may})" if source is None else f"({may}) AND {place.of_source}"
    given = {"plain": _like(name), "escaped": _like(json.dumps(name)[1:-1])}
    given |= {} if source is None else {"source": source}
    query = f"SELECT {', '.join((*place.key, *columns))} FROM {place.table} WHERE {where}"
    count = 0
    for row in run(connection, query, **given).all():
        key, values = row[: len(place.key)], row[len(place.key) :]
        changed = {
            column: new
            for column, old in zip(columns, values, strict=True)
            if old is not None and (new := _replaced(old, place.columns[column], name, replace)) != old
        }
        count += bool(changed)
        if changed and not is_kept:
            sets = ", ".join(f"{column} = :new_{column}" for column in changed)
            keys = " AND ".join(f"{column} = :key_{column}" for column in place.key)
            values_ = {f"new_{column}": value for column, value in changed.items()}
            values_ |= {f"key_{column}": value for column, value in zip(place.key, key, strict=True)}
            run(connection, f"UPDATE {place.table} SET {sets} WHERE {keys}", **values_)
    return count


def _like(name: str) -> str:
    return "%" + re.sub(r"([!%_])", r"!\1", name) + "%"


def _others(connection: Connection, name: str) -> list[str]:
    """Names of others in which the name stands as a word, longest first."""
    query = """SELECT name FROM subjects WHERE name LIKE :like ESCAPE '!'
      UNION SELECT target FROM events WHERE target LIKE :like ESCAPE '!'"""
    found = run(connection, query, like=_like(name)).scalars().all()
    return sorted((item for item in found if item != name), key=lambda item: (-len(item), item))


def replacer(name: str, others: list[str], placeholder: str) -> Callable[[str], str]:
    """What replaces the name in a text, as a word and not as a part of another's name.

    >>> replacer("ann", ["ann-2"], "[purged]")("ann asked ann-2 and joanna: Ann? ann.")
    '[purged] asked ann-2 and joanna: Ann? [purged].'
    """
    pattern = re.compile("|".join([*(f"({_word(other)})" for other in others), _word(name)]))
    return lambda text: pattern.sub(lambda found: found[0] if found.lastindex else placeholder, text)


def _word(name: str) -> str:
    """An expression for a name as a word of its own."""
    before = r"(?<!\w)" if re.match(r"\w", name) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", name) else ""
    return f"{before}{re.escape(name)}{after}"


def _replaced(value: Any, how: str, name: str, replace: Callable[[str], str]) -> Any:
    if how == WHOLE:
        return replace(name) if value == name else value
    if isinstance(value, bytes):
        return _replaced(value.decode("utf-8", "surrogateescape"), how, name, replace).encode(
            "utf-8", "surrogateescape"
        )
    if how == WORD:
        return replace(value)
    try:
        record = json.loads(value)
    except ValueError:
        return replace(value)  # what a program of somebody else's saved
    new = _walked(record, replace)
    return value if new == record else json.dumps(new, separators=(",", ":"))


def _walked(value: Any, replace: Callable[[str], str]) -> Any:
    """JSON with the name replaced in every text of it, names of fields included."""
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [_walked(item, replace) for item in value]
    if isinstance(value, dict):
        return {replace(name): _walked(item, replace) for name, item in value.items()}
    return value
