"""Keeping: what is known of runs, in one small SQLite file that many processes share.

One row for each agent of a session holds all that is known of it; another table holds what was said to whom
and what came of it. A file that cannot be read is set aside and a new one begun.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from typing import Any

from ...errors import BadUsage
from ...files import make_private_file, sqlite
from ..status import Advice, Settled, Standing, State
from .location import make_folder

WAIT = 4.0
"""Seconds to wait for others that write: a batch of parallel calls comes all at once."""
KEPT_RUNS = 200
"""Runs remembered; those that stood still for longest are forgotten."""
KEPT_NOTES = 5_000
"""Detections, and things said, that are remembered beyond their runs."""
BROKEN = (-1, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
TABLES = """
create table run (
  session text not null, agent text not null, at real not null, state text not null,
  primary key (session, agent)) without rowid;
create table said (
  id integer primary key, session text not null, agent text not null, at real not null,
  step integer not null, pattern text not null, severity text not null, rung text not null,
  text text not null, effect text not null default 'open', after integer);
create table found (
  session text not null, agent text not null, pattern text not null, opened integer not null,
  step integer not null, at real not null, severity text not null,
  confidence real not null, closed integer, closed_step integer,
  primary key (session, agent, pattern, opened)) without rowid;
create index said_run on said (session, agent);
"""
SCHEMA = sqlite.Schema(0x65746868, (TABLES,))


def opened(path: str) -> sqlite3.Connection:
    """Open the file, made if it is not there; one that is of no use is set aside first."""
    try:
        return _connected(path)
    except BadUsage:
        pass  # of another program, or of a newer version
    except sqlite3.DatabaseError as error:
        if not is_broken(error):
            raise
    set_aside(path)
    return _connected(path)


def is_broken(error: BaseException) -> bool:
    """Return whether the file itself is of no use: no database, or damaged.

    Not so where it is locked, may not be written or finds no room: then it is as good as before.
    """
    return isinstance(error, sqlite3.DatabaseError) and sqlite.error_code(error) in BROKEN


def set_aside(path: str) -> None:
    """Move a file that cannot be read out of the way, so that nothing is lost and work goes on."""
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            os.replace(path + end, f"{path}.unreadable{end}")


def _connected(path: str) -> sqlite3.Connection:
    make_folder(os.path.dirname(path))
    make_private_file(path)
    return sqlite.open_current(path, SCHEMA, busy=int(WAIT * 1000), synchronous="OFF")


turn = sqlite.transaction
"""Nobody else writes from reading to writing; what fails in between has not happened."""


def storable(text: str) -> str:
    """A text without halves of characters, which JSON may hold and SQLite may not."""
    return text.encode("utf-8", "replace").decode()


def load(db: sqlite3.Connection, session: str, agent: str) -> State | None:
    """What is known of an agent's run; None where nothing is."""
    found = db.execute("select state from run where session=? and agent=?", (session, agent)).fetchone()
    if found is None:
        return None
    try:
        state = json.loads(found[0])
    except ValueError:
        return None
    return state if isinstance(state, dict) else None


def save(db: sqlite3.Connection, session: str, agent: str, at: float, state: State) -> None:
    """Remember an agent's run, and forget the oldest of too many."""
    text = json.dumps(state, separators=(",", ":"))
    is_new = db.execute("select 1 from run where session=? and agent=?", (session, agent)).fetchone() is None
    db.execute("insert or replace into run values (?,?,?,?)", (session, agent, at, text))
    if is_new:
        gone = "select session, agent from run order by at desc limit -1 offset ?"
        db.execute(f"delete from run where (session, agent) in ({gone})", (KEPT_RUNS,))
        oldest = "select at from {} order by at desc limit 1 offset ?"
        for table in ("said", "found"):
            cut = oldest.format(table)
            db.execute(f"delete from {table} where at <= ({cut})", (KEPT_NOTES,))


def find(
    db: sqlite3.Connection, session: str, agent: str, at: float, standing: Standing, number: int, step: int
) -> None:
    """Remember a detection as far as it has come: `number` is the event's, `step` the step's."""
    told = (
        session,
        agent,
        standing.pattern,
        standing.since,
        step,
        at,
        standing.severity,
        standing.confidence,
    )
    db.execute(
        "insert into found (session, agent, pattern, opened, step, at, severity, confidence) "
        "values (?,?,?,?,?,?,?,?) on conflict do update "
        "set severity=excluded.severity, confidence=excluded.confidence",
        told,
    )
    if standing.change == "closed":
        db.execute(
            "update found set closed=?, closed_step=? where session=? and agent=? and pattern=? and opened=?",
            (number, step, session, agent, standing.pattern, standing.since),
        )


def note(db: sqlite3.Connection, session: str, agent: str, at: float, advice: Advice) -> None:
    """Remember what was said."""
    told = (
        session,
        agent,
        at,
        advice.step,
        advice.pattern,
        advice.severity,
        advice.rung,
        storable(advice.text),
    )
    db.execute(
        "insert into said (session, agent, at, step, pattern, severity, rung, text) values (?,?,?,?,?,?,?,?)",
        told,
    )


def settle(db: sqlite3.Connection, session: str, agent: str, settled: Settled) -> None:
    """Remember what came of it: of two things said at one step, of the later."""
    db.execute(
        "update said set effect=?, after=? where id = (select max(id) from said "
        "where session=? and agent=? and pattern=? and step=? and effect='open')",
        (settled.effect, settled.after, session, agent, settled.pattern, settled.step),
    )


def end(db: sqlite3.Connection, session: str) -> None:
    """A session is over: what was said in it, by whomever, and has not come to anything has ended with it."""
    db.execute("update said set effect='ended' where session=? and effect='open'", (session,))


def found_so_far(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every detection, oldest first."""
    columns = "session, agent, pattern, opened, step, at, severity, confidence, closed, closed_step"
    return _dicts(db.execute(f"select {columns} from found order by at, opened"))


def said_so_far(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Everything that was said, oldest first."""
    columns = "session, agent, at, step, pattern, severity, rung, text, effect, after"
    return _dicts(db.execute(f"select {columns} from said order by id"))


def _dicts(rows: sqlite3.Cursor) -> list[dict[str, Any]]:
    names = [column[0] for column in rows.description]
    return [dict(zip(names, row, strict=True)) for row in rows]
