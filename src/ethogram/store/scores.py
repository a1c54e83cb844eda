"""Scores of messages by an evaluator: readings of events that are in the store already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..models import Event, Reading
from .events import reading_row
from .kinds import Row
from .numbers import LAST_KEY, last_key, set_meta
from .records import Who
from .row_store import RowStore, atomic, by_source, in_pieces
from .rows import event_values


class Scored(NamedTuple):
    """An event as it was read, with its text, and the scores of its message."""

    event: Event
    readings: tuple[Reading, ...]


Place = tuple[int, str, str]
"""The key, source and subject of an event."""
PLACE = ("key", "source", "subject")


class Scores(RowStore):
    """Scores of stored events."""

    def scored_by(self, scorer: str) -> set[tuple[str, str]]:
        """The events (source, id) that have scores by this scorer."""
        with self.snapshot() as view:
            keys = [key for key, *_ in view.groups("readings", ("event",), [("scorer", "=", scorer)])]
            return {
                (source, name)
                for piece in in_pieces(keys)
                for source, name in view.rows(
                    "events", [("key", "in", list(piece))], columns=("source", "id")
                )
            }

    def has_texts(self) -> bool:
        """Whether an event has a text."""
        return next(self.rows("events", [("text", "!=", None)], columns=("key",), limit=1), None) is not None

    def measured(self, signal: str) -> bool:
        """Whether a reading of this signal was added to an event that came without one."""
        rows = self.rows("readings", [("signal", "=", signal)], columns=("event",), limit=1)
        return next(rows, None) is not None

    @atomic
    def add_scores(self, scored: Sequence[Scored]) -> int:
        """Add or replace scores in one commit; return how many events got some.

        An event is found by its source and id; where a file has no ids, by its source and content. The
        subjects count as changed, so that the next sweep checks them again.
        """
        changed: set[Who] = set()
        events = 0
        for piece in in_pieces(scored):
            rows: list[Row] = []
            scored_keys: dict[tuple[str, ...], list[int]] = {}
            for item, places in zip(piece, self._places([item.event for item in piece]), strict=True):
                scorers = tuple(sorted({reading.scorer for reading in item.readings}))
                for key, source, subject in places:
                    scored_keys.setdefault(scorers, []).append(key)
                    rows += [reading_row(key, reading) for reading in item.readings]
                    changed.add((source, subject))
                    events += 1
            for scorers, keys in scored_keys.items():
                self.delete("readings", [("event", "in", keys), ("scorer", "in", scorers)])
            self.write("readings", rows)
        if changed:
            number = last_key(self) + 1
            set_meta(self, LAST_KEY, number)
            for source, names in by_source(changed):
                found = list(self.rows("subjects", [("source", "=", source), ("name", "in", names)]))
                self.write("subjects", [(*row[:-1], number) for row in found])
        return events

    def _places(self, events: Sequence[Event]) -> list[list[Place]]:
        """Where each event is; nowhere where it is not in the store."""
        by_id: dict[tuple[str, str], Place] = {}
        for source, names in by_source({(event.source, event.id) for event in events}):
            where = [("source", "=", source), ("id", "in", names)]
            for name, *place in self.rows("events", where, columns=("id", *PLACE)):
                by_id[source, name] = (place[0], place[1], place[2])
        found = [[by_id[key]] if (key := (event.source, event.id)) in by_id else [] for event in events]
        missing = {
            (events[place].source, event_values(events[place], keep_text=False)[1]): place
            for place, own in enumerate(found)
            if not own
        }
        contents = sorted({content for _, content in missing})
        if contents:
            for content, *place in self.rows(
                "events", [("content", "in", contents)], columns=("content", *PLACE)
            ):
                if (at := missing.get((place[1], bytes(content)))) is not None:
                    found[at].append((place[0], place[1], place[2]))
        return found
