"""Read events of an SQL store as columns, from blocks where it has them and from rows where it has not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import EthogramError
from ..ingest.batch import EventSequence
from ..models import micros, moment
from .blocks import RowColumns, decode_block, encode_block, joined
from .columns import columns_of, row_columns
from .events import measured_readings
from .imports import PURGES
from .numbers import get_meta
from .records import Who
from .row_store import by_source, in_pieces
from .rows import COLUMNS

if TYPE_CHECKING:
    from .sql import SqlReader, SqlStore

ROW = ", ".join(f"e.{name}" for name in COLUMNS)
LAST = 2**63 - 1
"""The latest time a row can have."""
MANY, MOST = 1_000, 100_000
"""Events of a block."""
WORTH = 16
"""A block is read for at least one in so many of its events: a row takes that much longer than one in it."""
MOVED = 10
"""A block is written where at least one in so many of its events was in none that counts."""


class SubjectKey(NamedTuple):
    """A subject, and how far it has come."""

    who: Who
    events: int
    changed: int
    last_us: int


Subjects = Mapping[int, SubjectKey]


def read_columns(
    store: SqlStore,
    subjects: Iterable[Who] | None,
    until: datetime | None,
    mates: bool,
    without: Collection[str],
    scorers: Mapping[str, str],
) -> EventSequence:
    """Events of all or some subjects in order, as `Store.columns` promises them."""
    limit = LAST if until is None else micros(until)
    with store.snapshot() as view:
        wanted = _wanted(view, subjects)
        blocks = list(_from_blocks(view, wanted, limit))
        in_blocks = {int(key) for part in blocks for key in np.unique(part.numbers["subject"])}
        purges = get_meta(view, PURGES)
        rest = [key for key in wanted if key not in in_blocks]
        every = subjects is None and not blocks
        new = row_columns(list(_rows(view, ["1 = 1"] if every else _of(rest), limit)))
        own = joined([*blocks, new])
        rows, others = own, dict[int, SubjectKey]()
        if mates:
            rows = joined([own, row_columns(_mates(view, list(wanted), limit))])
            keys = set(np.unique(rows.numbers["subject"]).tolist()) - wanted.keys()
            others = _by_keys(view, sorted(keys))
        keys_of_events = None if subjects is None else rows.numbers["key"].tolist()
        measured = measured_readings(view, keys_of_events, without)
    if MANY <= len(own) <= MOST and MOVED * len(new) >= len(own) and new.is_light:
        keep_block(store, own, {key: row for key, row in wanted.items() if row.last_us <= limit}, purges)
    whose = {key: row.who for key, row in (*wanted.items(), *others.items())}
    with store.named_errors():
        _check_times(rows)
        return columns_of(rows, whose, store.sources(), measured, without, scorers)


def keep_block(store: SqlStore, rows: RowColumns, subjects: Subjects, purges: int | None) -> None:
    """Write a block of these subjects' events, unless somebody else is writing."""
    whole = rows.chosen(np.isin(rows.numbers["subject"], list(subjects)))
    text = store.dialect.text
    insert = text("INSERT INTO blocks (events, data) VALUES (?, ?) RETURNING number")
    place = text("""INSERT INTO block_subjects (subject, block, changed) VALUES (?, ?, ?)
      ON CONFLICT (subject) DO UPDATE SET block = excluded.block, changed = excluded.changed""")
    data = encode_block(whole)
    # A copy only: who may not write, or would have to wait, does without.
    with suppress(EthogramError), store.writing(wait=False) as raw:
        view = store.view(raw)
        if get_meta(view, PURGES) != purges:
            return
        # Of subjects that were removed since, nothing may stay.
        if _by_keys(view, list(subjects)).keys() != subjects.keys():
            return
        (block,) = raw.execute(insert, (len(whole), data)).fetchone()
        raw.cursor().executemany(place, [(key, block, row.changed) for key, row in subjects.items()])
        raw.execute("DELETE FROM blocks WHERE number NOT IN (SELECT block FROM block_subjects)")


def _check_times(rows: RowColumns) -> None:
    """Raise OverflowError where a damaged row has a time that is none."""
    if len(rows):
        moment(int(rows.numbers["at_us"].min()))
        moment(int(rows.numbers["at_us"].max()))


def _wanted(view: SqlReader, subjects: Iterable[Who] | None) -> Subjects:
    if subjects is None:
        return _subjects(view, "1 = 1", [])
    is_one_of, listed = view.dialect.is_one_of("u.name"), view.dialect.listed
    found: dict[int, SubjectKey] = {}
    for source, names in by_source(subjects):
        found |= _subjects(view, f"o.name = ? AND {is_one_of}", [source, listed(names)])
    return found


def _by_keys(view: SqlReader, keys: Sequence[int]) -> dict[int, SubjectKey]:
    found: dict[int, SubjectKey] = {}
    for piece in in_pieces(keys):
        found |= _subjects(view, f"u.key IN ({', '.join(map(str, piece))})", [])
    return found


def _subjects(view: SqlReader, where: str, values: Sequence[Any]) -> dict[int, SubjectKey]:
    query = f"""SELECT u.key, o.name, u.name, u.events, u.changed, u.last_us
      FROM subjects u JOIN sources o ON o.key = u.source WHERE {where}"""
    return {key: SubjectKey((source, name), *row) for key, source, name, *row in view.run(query, values)}


def _from_blocks(view: SqlReader, wanted: Subjects, limit: int) -> Iterator[RowColumns]:
    """The events of wanted subjects in blocks, where these are worth reading for them."""
    if not view.run("SELECT 1 FROM blocks LIMIT 1"):
        return
    in_block: dict[int, list[int]] = {}
    for piece in in_pieces(list(wanted)):
        own = f"subject IN ({', '.join(map(str, piece))})"
        for subject, block, changed in view.run(
            f"SELECT subject, block, changed FROM block_subjects WHERE {own}"
        ):
            if wanted[subject].changed == changed:
                in_block.setdefault(block, []).append(subject)
    for block, keys in sorted(in_block.items()):
        ((size,),) = view.run("SELECT events FROM blocks WHERE number = ?", [block])
        if WORTH * sum(wanted[key].events for key in keys) < size:
            continue
        ((data,),) = view.run("SELECT data FROM blocks WHERE number = ?", [block])
        columns = decode_block(data)
        chosen = np.isin(columns.numbers["subject"], keys) & (columns.numbers["at_us"] <= limit)
        yield columns.chosen(chosen)


def _of(keys: Sequence[int]) -> list[str]:
    return [f"e.subject IN ({', '.join(map(str, piece))})" for piece in in_pieces(keys)]


def _rows(view: SqlReader, conditions: Iterable[str], limit: int) -> Iterator[tuple[object, ...]]:
    for where in conditions:
        yield from view.run(f"SELECT {ROW} FROM events e WHERE e.at_us <= ? AND {where}", [limit])


def _mates(view: SqlReader, keys: Sequence[int], limit: int) -> list[tuple[object, ...]]:
    """The rows of others in the threads of these subjects."""
    if not view.run("SELECT 1 FROM events WHERE thread IS NOT NULL LIMIT 1"):
        return []
    own = set(keys)
    conditions = [
        f"""(e.source, e.thread) IN (SELECT DISTINCT e.source, e.thread FROM events e
          WHERE {where} AND e.thread IS NOT NULL)"""
        for where in _of(keys)
    ]
    rows = {row[0]: row for row in _rows(view, conditions, limit) if row[1] not in own}
    return list(rows.values())
