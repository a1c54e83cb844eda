"""Scores of messages by an evaluator: readings of events that are in the store already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from ..models import Event, Reading
from . import schema
from .imports import last_key, set_meta
from .rows import event_values, reading_values
from .sql import Sql, in_pieces, insert_rows, run


class Scored(NamedTuple):
    """An event as it was read, with its text, and the scores of its message."""

    event: Event
    readings: tuple[Reading, ...]


class Scores(Sql):
    """Scores of stored events."""

    def scored_by(self, scorer: str) -> set[tuple[str, str]]:
        """The events (source, id) that have scores by this scorer."""
        query = """SELECT DISTINCT o.name, e.id FROM readings r JOIN events e ON e.key = r.event
          JOIN sources o ON o.key = e.source WHERE r.scorer = :scorer"""
        with self.reading() as connection:
            return {(source, name) for source, name in run(connection, query, scorer=scorer).all()}

    def has_texts(self) -> bool:
        """Whether an event has a text."""
        with self.reading() as connection:
            return bool(
                run(connection, "SELECT EXISTS (SELECT 1 FROM events WHERE text IS NOT NULL)").scalar()
            )

    def measured(self, signal: str) -> bool:
        """Whether a reading of this signal was added to an event that came without one."""
        query = "SELECT EXISTS (SELECT 1 FROM readings WHERE signal = :signal)"
        with self.reading() as connection:
            return bool(run(connection, query, signal=signal).scalar())

    def add_scores(self, scored: Sequence[Scored]) -> int:
        """Add or replace scores in one commit; return how many events got some.

        An event is found by its source and id; where a file has no ids, by its source and content. The
        subjects count as changed, so that the next sweep checks them again.
        """
        drop = "DELETE FROM readings WHERE event = :key AND scorer = :scorer"
        changed: set[int] = set()
        events = 0
        with self.writing() as connection:
            for piece in in_pieces(scored):
                keys = _keys_of(connection, [item.event for item in piece])
                for item, found in zip(piece, keys, strict=True):
                    rows = [reading_values(reading) for reading in item.readings]
                    for key, subject in found:
                        for scorer in {reading.scorer for reading in item.readings}:
                            run(connection, drop, key=key, scorer=scorer)
                        insert_rows(connection, schema.readings, [(key, *row) for row in rows])
                        changed.add(subject)
                        events += 1
            if changed:
                number = last_key(connection) + 1
                set_meta(connection, "last_key", number)
                for some in in_pieces(sorted(changed)):
                    listed = ", ".join(map(str, some))
                    run(connection, f"UPDATE subjects SET changed = {number} WHERE key IN ({listed})")
        return events


def _keys_of(connection: Connection, events: Sequence[Event]) -> list[list[tuple[int, int]]]:
    """The keys of each event and its subject; none where it is not in the store."""
    by_id = """SELECT e.key, e.subject FROM events e JOIN sources o ON o.key = e.source
      WHERE o.name = :source AND e.id = :id"""
    found = [run(connection, by_id, source=event.source, id=event.id).all() for event in events]
    missing = [place for place, keys in enumerate(found) if not keys]
    if missing:
        contents = {event_values(events[place], keep_text=False)[1]: place for place in missing}
        names = ", ".join(f":c{n}" for n in range(len(contents)))
        by_content = f"""SELECT o.name, e.content, e.key, e.subject FROM events e
          JOIN sources o ON o.key = e.source WHERE e.content IN ({names})"""
        values = {f"c{n}": content for n, content in enumerate(contents)}
        for source, content, key, subject in run(connection, by_content, **values).all():
            if events[contents[content]].source == source:
                found[contents[content]].append((key, subject))
    return found
