"""Verdicts on detections and silences, counts that stay when they go, and attempts to learn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from ..models import Verdict, micros, moment
from ..risk.verdicts import Counts, Item, Slot, consensus_by_item, count_verdicts, item_of
from .events import highest
from .kinds import KINDS, Row
from .numbers import next_numbers
from .records import Try
from .row_store import Condition, Reader, RowStore, atomic, in_pieces
from .rows import encode, stored_detection

ITEM = ("detection", "pattern", "source", "subject", "first_event", "last_event")
"""The columns that identify what is judged."""
FIELDS = ("verdict", "version", "why", *ITEM)
SLOT = ("pattern", "version", "source", "month", "percent")


class Verdicts(RowStore):
    """Verdicts on detections and silences."""

    @atomic
    def add_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Add all verdicts, or none."""
        numbers = next_numbers(self, "verdicts", len(verdicts))
        names = KINDS["verdicts"].names[1:]
        values = [verdict_values(verdict) for verdict in verdicts]
        self.write(
            "verdicts",
            [(key, *(own[name] for name in names)) for key, own in zip(numbers, values, strict=True)],
        )

    def verdicts(
        self, detection: str | None = None, *, detections: Sequence[str] | None = None
    ) -> list[Verdict]:
        """Verdicts, oldest first: all, or those of one detection or of some."""
        ids = detections if detection is None else [detection]
        with self.snapshot() as view:
            rows = verdict_rows(view, [] if ids is None else [("detection", "in", ids)])
            return [verdict_of(row) for row in rows]

    @atomic
    def settle_verdicts(self, before: datetime) -> int:
        """Count and remove the verdicts on items last judged before a moment; return how many items."""
        record: dict[Item, list[dict[str, Any]]] = {}
        for row in verdict_rows(self):
            record.setdefault(item_of(verdict_of(row)), []).append(row)
        # An item goes as a whole: half of its judges would make another standing.
        old = [own for own in record.values() if max(row["at_us"] for row in own) < micros(before)]
        settle(self, [row for own in old for row in own], remember=True)
        return len(old)

    def settled(self, verdicts: Iterable[Verdict]) -> list[Verdict]:
        """The verdicts on items whose earlier verdicts were counted and removed."""
        with self.snapshot() as view:
            return [
                verdict
                for verdict in verdicts
                if view.count("settled", [(name, "=", value) for name, value in item_values(verdict).items()])
            ]

    def settled_verdicts(self) -> dict[str, str]:
        """The joint verdict on detections whose verdicts were counted and removed, by their ids."""
        rows = self.rows("settled", [("detection", "!=", "")], columns=("detection", "verdict"))
        return dict(tuple(row) for row in rows)

    def has_verdicts(self) -> bool:
        """Whether there are verdicts or counts of removed ones."""
        with self.snapshot() as view:
            return any(
                next(view.rows(kind, columns=("pattern",), limit=1), None) is not None
                for kind in ("verdicts", "verdict_counts")
            )

    def verdict_counts(self) -> dict[Slot, Counts]:
        """The counts of removed verdicts."""
        out: dict[Slot, Counts] = {}
        for *slot, verdict, count in self.rows("verdict_counts"):
            where = Slot(*slot)
            out[where] = out.get(where, Counts()) + Counts(**{verdict: count})
        return out

    def silence_ends(self) -> dict[Item, datetime]:
        """When each judged silence ends, where its last event is still stored."""
        with self.snapshot() as view:
            return _ends(view, [verdict_of(row) for row in verdict_rows(view, [("detection", "=", None)])])

    @atomic
    def add_try(self, item: Try) -> int:
        """Add an attempt to learn, and return its key."""
        (key,) = next_numbers(self, "tries")
        row = (key, micros(item.at), item.pattern, item.version, item.data, encode(item.record))
        self.write("tries", [row])
        return key

    def tries(self, pattern: str | None = None) -> list[Try]:
        """Attempts to learn, oldest first: all, or those about one pattern."""
        where = () if pattern is None else [("pattern", "=", pattern)]
        with self.snapshot() as view:
            return [
                Try(moment(at), name, version, data, json.loads(record), key)
                for key, at, name, version, data, record in view.rows("tries", where, order=("key",))
            ]


def verdict_rows(view: Reader, where: Sequence[Condition] = ()) -> list[dict[str, Any]]:
    """Rows of verdicts by column, oldest first."""
    names = KINDS["verdicts"].names
    return [
        dict(zip(names, row, strict=True)) for row in view.rows("verdicts", where, order=("at_us", "key"))
    ]


def settle(store: RowStore, rows: Sequence[dict[str, Any]], *, remember: bool) -> None:
    """Count the items of these rows of verdicts, and remove the rows.

    `remember` records the items, so that none is counted twice when it is judged again.
    """
    if not rows:
        return
    going = [verdict_of(row) for row in rows]
    ids = sorted({item.detection for item in going if item.detection is not None})
    detections = [
        stored_detection(record)
        for piece in in_pieces(ids)
        for (record,) in store.rows("detections", [("id", "in", list(piece))], columns=("record",))
    ]
    untimed = [name for (name,) in store.rows("sources", [("timed", "=", 0)], columns=("name",))]
    counts = count_verdicts(going, detections, ends=_ends(store, going), untimed=untimed)
    stored = {row[:-1]: row[-1] for row in map(tuple, store.rows("verdict_counts"))}
    new: list[Row] = []
    for slot, own in sorted(counts.items()):
        for verdict in Counts.__slots__:
            if count := getattr(own, verdict):
                key = (*(getattr(slot, name) for name in SLOT), verdict)
                new.append((*key, stored.get(key, 0) + count))
    store.write("verdict_counts", new)
    if remember:
        _remember(store, going)
    for piece in in_pieces([row["key"] for row in rows]):
        store.delete("verdicts", [("key", "in", list(piece))])


def _remember(store: RowStore, going: Sequence[Verdict]) -> None:
    """Record that these items were counted, unless they are recorded already."""
    consensus = consensus_by_item(going)
    gone = {item_of(verdict): verdict for verdict in going}
    known = {tuple(row[:-1]) for row in store.rows("settled")}
    rows = [(*item_values(verdict).values(), consensus[item].verdict) for item, verdict in gone.items()]
    store.write("settled", [row for row in rows if row[:-1] not in known])


def _ends(view: Reader, verdicts: Iterable[Verdict]) -> dict[Item, datetime]:
    record: dict[Item, datetime] = {}
    for verdict in verdicts:
        item = item_of(verdict)
        if verdict.detection is None and item not in record:
            at = highest(view, "events", "at_us", event_conditions(verdict, verdict.last_event))
            record |= {} if at is None else {item: moment(at)}
    return record


def event_conditions(verdict: Verdict, event: str | None) -> list[Condition]:
    """Conditions for an event that a verdict names."""
    where: list[Condition] = [("source", "=", verdict.source)] if verdict.source else []
    return [*where, ("subject", "=", verdict.subject), ("id", "=", event)]


def verdict_of(row: Any) -> Verdict:
    """The verdict of a row."""
    fields = {name: row[name] for name in FIELDS}
    return Verdict(by=row["judge"], at=moment(row["at_us"]), blind=bool(row["blind"]), **fields)


def verdict_values(verdict: Verdict) -> dict[str, Any]:
    """The columns of a verdict but its key."""
    fields = {name: getattr(verdict, name) for name in FIELDS}
    return {**fields, "judge": verdict.by, "at_us": micros(verdict.at), "blind": int(verdict.blind)}


def item_values(verdict: Verdict) -> dict[str, str]:
    """The columns of ITEM: a detection by its id alone, a silence by all but that."""
    if verdict.detection is not None:
        return {name: verdict.detection if name == "detection" else "" for name in ITEM}
    return {name: getattr(verdict, name) or "" for name in ITEM}
