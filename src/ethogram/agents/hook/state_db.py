"""State database: the state of runs, in one small SQLite file that many processes share.

One row holds the state of each agent of a session; other tables hold the messages with their effects, and
the detections. A file that cannot be read is set aside and a new one begun.
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
"""Seconds to wait for other writers: parallel calls arrive all at once."""
MAX_RUNS = 200
"""Runs stored; the least recent are removed."""
MAX_ROWS = 5_000
"""Detections, and messages, stored beyond their runs."""
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
    """Open the file, created if missing; an unusable one is set aside first."""
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
    """Return whether the file itself is unusable: no database, or damaged; not if it is locked or full."""
    return isinstance(error, sqlite3.DatabaseError) and sqlite.error_code(error) in BROKEN


def set_aside(path: str) -> None:
    """Move an unreadable file out of the way, so that nothing is lost and work continues."""
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            os.replace(path + end, f"{path}.unreadable{end}")


def _connected(path: str) -> sqlite3.Connection:
    make_folder(os.path.dirname(path))
    make_private_file(path)
    return sqlite.open_current(path, SCHEMA, busy=int(WAIT * 1000), synchronous="OFF")


def storable(text: str) -> str:
    """Return a text without lone surrogates, which JSON allows and SQLite does not."""
    return text.encode("utf-8", "replace").decode()


def load(db: sqlite3.Connection, session: str, agent: str) -> State | None:
    """Return the state of an agent's run; None without one."""
    row = db.execute("select state from run where session=? and agent=?", (session, agent)).fetchone()
    try:
        state = json.loads(row[0]) if row is not None else None
    except ValueError:
        return None
    return state if isinstance(state, dict) else None


def save(db: sqlite3.Connection, session: str, agent: str, at: float, state: State) -> None:
    """Save the state of an agent's run, and remove the oldest of too many."""
    text = json.dumps(state, separators=(",", ":"))
    is_new = db.execute("select 1 from run where session=? and agent=?", (session, agent)).fetchone() is None
    db.execute("insert or replace into run values (?,?,?,?)", (session, agent, at, text))
    if is_new:
        oldest = "select session, agent from run order by at desc limit -1 offset ?"
        db.execute(f"delete from run where (session, agent) in ({oldest})", (MAX_RUNS,))
        for table in ("said", "found"):
            last = f"select at from {table} order by at desc limit 1 offset ?"
            db.execute(f"delete from {table} where at <= ({last})", (MAX_ROWS,))


def save_detection(
    db: sqlite3.Connection, session: str, agent: str, at: float, standing: Standing, state: State
) -> None:
    """Save a detection as of the last event of a state."""
    key, number, step = (session, agent, standing.pattern, standing.since), state["n"], state["steps"]
    db.execute(
        "insert into found (session, agent, pattern, opened, step, at, severity, confidence) "
        "values (?,?,?,?,?,?,?,?) on conflict do update "
        "set severity=excluded.severity, confidence=excluded.confidence",
        (*key, step, at, standing.severity, standing.confidence),
    )
    if standing.change == "closed":
        db.execute(
            "update found set closed=?, closed_step=? where session=? and agent=? and pattern=? and opened=?",
            (number, step, *key),
        )


def save_advice(db: sqlite3.Connection, session: str, agent: str, at: float, advice: Advice) -> None:
    """Save a message."""
    rung, text = advice.rung, storable(advice.text)
    db.execute(
        "insert into said (session, agent, at, step, pattern, severity, rung, text) values (?,?,?,?,?,?,?,?)",
        (session, agent, at, advice.step, advice.pattern, advice.severity, rung, text),
    )


def settle(db: sqlite3.Connection, session: str, agent: str, settled: Settled) -> None:
    """Save the effect of a message: of two at one step, of the later."""
    db.execute(
        "update said set effect=?, after=? where id = (select max(id) from said "
        "where session=? and agent=? and pattern=? and step=? and effect='open')",
        (settled.effect, settled.after, session, agent, settled.pattern, settled.step),
    )


def end(db: sqlite3.Connection, session: str) -> None:
    """Mark the open messages of a session, of all its agents, as ended."""
    db.execute("update said set effect='ended' where session=? and effect='open'", (session,))


def detections(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return every detection, oldest first."""
    columns = "session, agent, pattern, opened, step, at, severity, confidence, closed, closed_step"
    return _dicts(db.execute(f"select {columns} from found order by at, opened"))


def messages(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return every message, oldest first."""
    columns = "session, agent, at, step, pattern, severity, rung, text, effect, after"
    return _dicts(db.execute(f"select {columns} from said order by id"))


def _dicts(rows: sqlite3.Cursor) -> list[dict[str, Any]]:
    names = [column[0] for column in rows.description]
    return [dict(zip(names, row, strict=True)) for row in rows]
