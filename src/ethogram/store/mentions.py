"""Mentions: the id of somebody who was purged in what others wrote, counted or replaced by a placeholder.

A subject or target counts where it is the id as a whole. In texts, JSON and other ids the id counts as a
whole word: `ann` in `chat/ann` and `ask ann.`, not in `joanna`. Names of others that contain it, such as a
subject `ann-2`, are left alone wherever they stand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import Connection

from .kept import Who
from .moving import set_meta
from .sql import run

REDACTIONS = "redactions"
WHOLE, WORD, JSON = "whole", "word", "json"


class Place(NamedTuple):
    """A table that may mention somebody: what its rows are called, their key, and how each column is read.

    `of_source` is the condition for rows of one source; None where the rows belong to no source.
    """

    name: str
    table: str
    key: tuple[str, ...]
    columns: dict[str, str]
    of_source: str | None = None


OF_SOURCE = "source = (SELECT o.key FROM sources o WHERE o.name = :source)"
PLACES = (
    Place(
        "events",
        "events",
        ("key",),
        {
            "id": WORD,
            "target": WHOLE,
            "thread": WORD,
            "session": WORD,
            "reply_to": WORD,
            "kind": WORD,
            "text": WORD,
            "attributes": JSON,
            "readings": JSON,
        },
        OF_SOURCE,
    ),
    Place(
        "readings",
        "readings",
        ("event", "signal", "scorer"),
        {"text": WORD},
        f"event IN (SELECT e.key FROM events e WHERE e.{OF_SOURCE})",
    ),
    Place("sources", "sources", ("key",), {"name": WORD}),
    Place(
        "detections",
        "detections",
        ("id",),
        {"source": WORD, "subject": WHOLE, "target": WHOLE, "thread": WORD, "record": JSON},
        "source = :source",
    ),
    Place(
        "verdicts",
        "verdicts",
        ("key",),
        {
            "judge": WHOLE,
            "subject": WHOLE,
            "first_event": WORD,
            "last_event": WORD,
            "why": WORD,
            "source": WORD,
        },
        "source IN ('', :source)",
    ),
    Place(
        "settled",
        "settled",
        ("detection", "pattern", "source", "subject", "first_event", "last_event"),
        {"source": WORD, "subject": WHOLE, "first_event": WORD, "last_event": WORD},
        "source IN ('', :source)",
    ),
    Place(
        "counts",
        "verdict_counts",
        ("pattern", "version", "source", "month", "percent", "verdict"),
        {"source": WORD},
    ),
    Place("tries", "tries", ("key",), {"record": JSON}),
    Place(
        "states",
        "runner_states",
        ("name", "key"),
        {"name": WORD, "key": WORD, "state": JSON, "subject": WHOLE},
    ),
    Place("looks", "looks", ("key",), {"person": WHOLE, "who": WORD, "why": WORD}),
)
"""Everything that a purge leaves and that holds words, except names of patterns, signals and scorers."""


def mentions(connection: Connection, subject: Who | str) -> dict[str, int]:
    """How many rows of each kind mention somebody; kinds without any are left out."""
    return _each(connection, subject, None)


def redact(connection: Connection, subject: Who | str) -> tuple[dict[str, int], str]:
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
    found = _each(connection, subject, placeholder)
    if found:
        set_meta(connection, REDACTIONS, number)
    return found, placeholder


def _each(connection: Connection, subject: Who | str, placeholder: str | None) -> dict[str, int]:
    source, name = (None, subject) if isinstance(subject, str) else subject
    replace = replacer(name, _others(connection, name), placeholder or "\0")
    found: dict[str, int] = {}
    for place in PLACES:
        if source is not None and place.of_source is None:
            continue  # who has that name elsewhere is somebody else
        count = _in_table(connection, place, source, name, replace, is_kept=placeholder is None)
        if count:
            found[place.name] = count
    return found


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
        f"CAST({one} AS TEXT) LIKE :{'escaped' if place.columns[one] == JSON else 'plain'} ESCAPE '!'"
        for one in columns
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
    return sorted((one for one in found if one != name), key=lambda one: (-len(one), one))


def replacer(name: str, others: list[str], placeholder: str) -> Callable[[str], str]:
    """What replaces the name in a text, as a word and not as a part of another's name.

    >>> replacer("ann", ["ann-2"], "[purged]")("ann asked ann-2 and joanna: Ann? ann.")
    '[purged] asked ann-2 and joanna: Ann? [purged].'
    """
    pattern = re.compile("|".join([*(f"({_word(one)})" for one in others), _word(name)]))
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
        return [_walked(one, replace) for one in value]
    if isinstance(value, dict):
        return {replace(name): _walked(one, replace) for name, one in value.items()}
    return value
