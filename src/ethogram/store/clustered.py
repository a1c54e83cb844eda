"""Read events as columns, from blocks where the store has them and from rows where it has not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from ..errors import EthogramError
from ..ingest.batch import EventSequence
from ..models import micros, moment
from .blocks import RowColumns, decode_block, encode_block, joined
from .columns import columns_of, row_columns
from .events import Events, measured_readings
from .imports import PURGES, get_meta
from .records import NO_SCORERS, Who
from .rows import COLUMNS
from .sql import in_pieces, run, run_many

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
Condition = tuple[str, dict[str, str]]
"""SQL and its values."""


class Clustered(Events):
    """Events as columns."""

    def columns(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        mates: bool = False,
        without: Collection[str] = (),
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> EventSequence:
        """Events of all or some subjects in order, as columns where that is possible. `until` is included."""
        limit = LAST if until is None else micros(until)
        with self.reading() as connection:
            wanted = _wanted(connection, subjects)
            blocks = list(_from_blocks(connection, wanted, limit))
            in_blocks = {int(key) for part in blocks for key in np.unique(part.numbers["subject"])}
            purges = get_meta(connection, PURGES)
            rest = [key for key in wanted if key not in in_blocks]
            every = subjects is None and not blocks
            new = row_columns(list(_rows(connection, ["1 = 1"] if every else _of(rest), limit)))
            own = joined([*blocks, new])
            rows, others = own, dict[int, SubjectKey]()
            if mates:
                rows = joined([own, row_columns(_mates(connection, list(wanted), limit))])
                keys = set(np.unique(rows.numbers["subject"]).tolist()) - wanted.keys()
                others = _subjects(connection, _keys(sorted(keys)))
            keys_of_events = None if subjects is None else rows.numbers["key"].tolist()
            measured = measured_readings(connection, keys_of_events, without)
        if MANY <= len(own) <= MOST and MOVED * len(new) >= len(own) and new.is_light:
            self._keep(own, {key: row for key, row in wanted.items() if row.last_us <= limit}, purges)
        whose = {key: row.who for key, row in (*wanted.items(), *others.items())}
        with self.named_errors():
            _check_times(rows)
            return columns_of(rows, whose, self.sources(), measured, without, scorers)

    def _keep(self, rows: RowColumns, subjects: Subjects, purges: int | None) -> None:
        """Write a block of these subjects' events, unless somebody else is writing."""
        whole = rows.chosen(np.isin(rows.numbers["subject"], list(subjects)))
        insert = "INSERT INTO blocks (events, data) VALUES (:events, :data) RETURNING number"
        place = """INSERT INTO block_subjects (subject, block, changed) VALUES (:subject, :block, :changed)
          ON CONFLICT (subject) DO UPDATE SET block = excluded.block, changed = excluded.changed"""
        data = encode_block(whole)
        # A copy only: who may not write, or would have to wait, does without.
        with suppress(EthogramError), self.writing(wait=False) as connection:
            if get_meta(connection, PURGES) != purges:
                return
            # Of subjects that were removed since, nothing may stay.
            known = _subjects(connection, _keys(list(subjects)))
            if known.keys() != subjects.keys():
                return
            block = run(connection, insert, events=len(whole), data=data).scalar()
            rows_of = [
                {"subject": key, "block": block, "changed": row.changed} for key, row in subjects.items()
            ]
            run_many(connection, place, rows_of)
            run(connection, "DELETE FROM blocks WHERE number NOT IN (SELECT block FROM block_subjects)")


def _check_times(rows: RowColumns) -> None:
    """Raise OverflowError where a damaged row has a time that is none."""
    if len(rows):
        moment(int(rows.numbers["at_us"].min()))
        moment(int(rows.numbers["at_us"].max()))


def _wanted(connection: Connection, subjects: Iterable[Who] | None) -> Subjects:
    if subjects is None:
        return _subjects(connection, [("1 = 1", {})])
    conditions = []
    for source, group in groupby(sorted(subjects), key=lambda who: who[0]):
        for piece in in_pieces([name for _, name in group]):
            names = {f"n{number}": name for number, name in enumerate(piece)}
            where = f"o.name = :source AND u.name IN ({', '.join(f':{name}' for name in names)})"
            conditions.append((where, {"source": source, **names}))
    return _subjects(connection, conditions)


def _keys(keys: Sequence[int]) -> list[Condition]:
    return [(f"u.key IN ({', '.join(map(str, piece))})", {}) for piece in in_pieces(keys)]


def _subjects(connection: Connection, conditions: Sequence[Condition]) -> dict[int, SubjectKey]:
    query = """SELECT u.key, o.name, u.name, u.events, u.changed, u.last_us
      FROM subjects u JOIN sources o ON o.key = u.source WHERE """
    rows = chain.from_iterable(run(connection, query + where, **values).all() for where, values in conditions)
    return {key: SubjectKey((source, name), *row) for key, source, name, *row in rows}


def _from_blocks(connection: Connection, wanted: Subjects, limit: int) -> Iterator[RowColumns]:
    """The events of wanted subjects in blocks, where these are worth reading for them."""
    if not run(connection, "SELECT EXISTS (SELECT 1 FROM blocks)").scalar():
        return
    query = "SELECT subject, block, changed FROM block_subjects u WHERE "
    in_block: dict[int, list[int]] = {}
    for where, _ in _keys(list(wanted)):
        for subject, block, changed in run(connection, query + where.replace("u.key", "u.subject")).all():
            if wanted[subject].changed == changed:
                in_block.setdefault(block, []).append(subject)
    for block, keys in sorted(in_block.items()):
        size = run(connection, "SELECT events FROM blocks WHERE number = :n", n=block).scalar()
        if WORTH * sum(wanted[key].events for key in keys) < size:
            continue
        columns = decode_block(run(connection, "SELECT data FROM blocks WHERE number = :n", n=block).scalar())
        chosen = np.isin(columns.numbers["subject"], keys) & (columns.numbers["at_us"] <= limit)
        yield columns.chosen(chosen)


def _of(keys: Sequence[int]) -> list[str]:
    return [f"e.subject IN ({', '.join(map(str, piece))})" for piece in in_pieces(keys)]


def _rows(connection: Connection, conditions: Iterable[str], limit: int) -> Iterator[tuple[object, ...]]:
    for where in conditions:
        query = f"SELECT {ROW} FROM events e WHERE e.at_us <= :until AND {where}"
        yield from run(connection, query, until=limit).all()


def _mates(connection: Connection, keys: Sequence[int], limit: int) -> list[tuple[object, ...]]:
    """The rows of others in the threads of these subjects."""
    if not run(connection, "SELECT EXISTS (SELECT 1 FROM events WHERE thread IS NOT NULL)").scalar():
        return []
    own = set(keys)
    conditions = [
        f"""(e.source, e.thread) IN (SELECT DISTINCT e.source, e.thread FROM events e
          WHERE {where} AND e.thread IS NOT NULL)"""
        for where in _of(keys)
    ]
    rows = {row[0]: row for row in _rows(connection, conditions, limit) if row[1] not in own}
    return list(rows.values())
