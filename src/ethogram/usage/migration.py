"""Files of the first usage trackers become private stores: the same people under the same names."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from ..errors import BadUsage
from ..files import sqlite
from ..files.sqlite import Schema, named_errors
from ..store.schema import SCHEMA
from ..store.sqlite import PrivateSQLiteStore
from .store_keys import CHECK_BYTES

OLD = Schema(0x65746875, ("",))
"""The kind of such a file; its tables are made no more."""
OLD_TABLES = ("about", "people", "events", "reported", "files", "audit")
WHATS = ("signals", "listed", "sweep", "export", "purge", "rotate", "refused", "unknown", "subject", "why")
"""What was done to somebody, by its number in such a file."""
COPIES = (
    """INSERT INTO people SELECT lower(hex(name)), first, newest, events, ahead, zoned, stretches, days, ids,
      due FROM old_people""",
    """INSERT INTO uses SELECT e.rowid, lower(hex(p.name)), e.at, e.length, e.flags, lower(hex(e.session)),
      e.ahead, lower(hex(e.id)) FROM old_events e JOIN old_people p ON p.key = e.person""",
    # What is not there has the text '' in hexadecimal digits.
    "UPDATE uses SET session = nullif(session, ''), id = nullif(id, '')",
    """INSERT INTO reported SELECT lower(hex(p.name)), r.signal, r.opened, r.severity, r.last
      FROM old_reported r JOIN old_people p ON p.key = r.person""",
    "INSERT INTO files SELECT 'usage', lower(hex(name)), done, newest * 1000000 FROM old_files",
)


def migrate(path: Path) -> None:
    """Bring a file of the first usage trackers to the tables of a private store; all of it, or nothing.

    No key is needed: names stay as they are. BadUsage where a newer program made the file.
    """
    pragmas = PrivateSQLiteStore.pragmas[1:]  # rows of tables that are renamed refer to each other
    with named_errors(path), closing(sqlite.connect(path, OLD, busy=60_000, pragmas=pragmas)) as raw:
        with sqlite.transaction(raw):
            if raw.execute("PRAGMA application_id").fetchone()[0] == SCHEMA.application:
                return  # another process was first
            if not sqlite.is_current(raw, OLD):
                raise BadUsage(f"{path} is a usage store that another version wrote: upgrade ethogram")
            _rename(raw)
            sqlite.run_steps(raw, SCHEMA.steps)
            _copy(raw)
            for name in reversed(OLD_TABLES):
                raw.execute(f"DROP TABLE old_{name}")
            raw.execute(f"PRAGMA application_id = {SCHEMA.application}")
            raw.execute(f"PRAGMA user_version = {SCHEMA.version}")
        sqlite.scrub(raw)


def _rename(raw: Any) -> None:
    """Make room for the tables of a store."""
    for (name,) in raw.execute(
        "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    ).fetchall():
        raw.execute(f"DROP INDEX {name}")
    for name in OLD_TABLES:
        raw.execute(f"ALTER TABLE {name} RENAME TO old_{name}")


def _copy(raw: Any) -> None:
    for statement in COPIES:
        raw.execute(statement)
    looks = raw.execute("SELECT key, at, what, lower(hex(person)), who, why FROM old_audit").fetchall()
    raw.executemany(
        "INSERT INTO looks VALUES (?, ?, ?, ?, ?, ?)",
        [(key, at, WHATS[what], person or None, who, why) for key, at, what, person, who, why in looks],
    )
    query = "SELECT key_check, exact, retention, newest, salt FROM old_about"
    check, exact, retention, newest, salt = raw.execute(query).fetchone()
    first, second = (int.from_bytes(part, "big", signed=True) for part in (salt[:8], salt[8:]))
    numbers = {
        "private": int.from_bytes(check[:CHECK_BYTES], "big"),
        "private_salt": first,
        "private_salt_low": second,
        "usage_exact": exact,
        "usage_retention": retention,
        "usage_newest": newest,
    }
    raw.executemany("INSERT INTO meta VALUES (?, ?)", list(numbers.items()))
