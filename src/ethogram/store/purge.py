"""Purge: remove events and everything derived from them; count or redact mentions of a removed subject.

A subject or target is a mention if it equals the id. In texts, JSON and other ids the id counts as a whole
word: `ann` in `chat/ann` and `ask ann.`, not in `joanna`. Names of others that contain it, such as a subject
`ann-2`, are left alone everywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from ..models import micros
from .imports import PURGES
from .kinds import KINDS, Row
from .numbers import LAST_KEY, get_meta, last_key, set_meta
from .records import TALK_SOURCES, Purged, Who
from .row_store import READ_AHEAD, Condition, RowStore, by_source, in_pieces
from .verdicts import settle, verdict_of, verdict_rows

PURGED_BEFORE = "purged_before_us"
REDACTIONS = "redactions"
WHOLE, WORD, JSON = "whole", "word", "json"


class Purges(RowStore):
    """Removal of stored data."""

    def purge(
        self, *, subject: Who | str | None = None, before: datetime | None = None, redact: bool = False
    ) -> Purged:
        """Remove a subject (in all sources, or in one), or what lies before a moment, or both.

        Detections go with their subject; before a moment, those that were over by then, and all of subjects
        without events left. Verdicts on removed detections, and on silences whose events go, are counted and
        go too. Runner states that can be rebuilt go; of conversations those of the subject, or those last
        saved before the moment. Unfinished imports go.

        Where a subject goes as a whole, rows of others that mention it are counted; `redact` puts a
        placeholder there.
        """
        self.check_integrity()
        source, name = (None, subject) if subject is None or isinstance(subject, str) else subject
        purge = _Purge(self, source, name, None if before is None else micros(before))
        done = self.transact(lambda: purge.run(redact=redact))
        return Purged(
            done.events, done.detections, self.scrub(), done.states, done.mentions, done.placeholder
        )

    def purged_before(self) -> int | None:
        """Microseconds since 1970 before which something was purged, if anything was."""
        return get_meta(self, PURGED_BEFORE)


class _Purge:
    """Removes a subject, in one source or all, or what lies before a moment, inside a transaction."""

    def __init__(self, store: RowStore, source: str | None, name: str | None, before_us: int | None) -> None:
        self._store, self._source, self._name, self._before = store, source, name, before_us

    def run(self, *, redact: bool) -> Purged:
        """Remove everything, and count it."""
        store, counts, placeholder = self._store, dict[str, int](), None
        set_meta(store, LAST_KEY, last_key(store))
        set_meta(store, PURGES, (get_meta(store, PURGES) or 0) + 1)
        events, gone = self._events()
        detections = self._detections()
        if self._before is not None:
            for source, names in by_source(gone):
                detections += self._remove([("source", "=", source), ("subject", "in", names)], [])
            self._silences()
        for kind in ("staged", "imports", "files"):
            store.delete(kind)
        self._triage()
        states = self._states()
        if self._name is not None and self._before is None:
            if self._source is None:
                for kind, column in (("uses", "person"), ("reported", "person"), ("people", "name")):
                    store.delete(kind, [(column, "=", self._name)])
            if redact:
                counts, placeholder = self._replace_mentions(self._name)
            self._remove_name(self._name)
            if not redact:
                counts = self._mentions(self._name, None)
        if self._before is not None:
            earlier = get_meta(store, PURGED_BEFORE)
            set_meta(store, PURGED_BEFORE, max(self._before, earlier or self._before))
        return Purged(events, detections, True, states, counts, placeholder)

    def _where(self, name: str, before: str) -> list[Condition]:
        """Conditions for the source, the subject (column `name`) and the time (column `before`)."""
        where: list[Condition] = [] if self._source is None else [("source", "=", self._source)]
        if self._name is not None and name:
            where.append((name, "=", self._name))
        if self._before is not None and before:
            where.append((before, "<", self._before))
        return where

    # --- events -------------------------------------------------------------------------------

    def _events(self) -> tuple[int, list[Who]]:
        """Remove events; return how many, and the subjects that have none left."""
        where = self._where("subject", "at_us")
        touched = [
            (source, name) for source, name, *_ in self._store.groups("events", ("source", "subject"), where)
        ]
        removed = self._store.delete("events", where)
        gone: list[Who] = []
        for source, names in by_source(touched):
            gone += [(source, name) for name in self._recount(source, names)]
        return removed, gone

    def _recount(self, source: str, names: Sequence[str]) -> list[str]:
        """Update subjects after their events went; remove and return those where none is left."""
        store = self._store
        own: Condition = ("source", "=", source)
        left = {
            name: numbers
            for _, name, *numbers in store.groups(
                "events", ("source", "subject"), [own, ("subject", "in", names)], low="at_us", high="at_us"
            )
        }
        rows = list(store.rows("subjects", [own, ("name", "in", names)]))
        store.write("subjects", [(*row[:2], *left[row[1]], row[5]) for row in rows if row[1] in left])
        gone = [name for name in names if name not in left]
        if gone:
            store.delete("swept", [own, ("subject", "in", gone)])
            store.delete("subjects", [own, ("name", "in", gone)])
        return gone

    # --- detections and verdicts ----------------------------------------------------------------

    def _detections(self) -> int:
        columns = ("subject", "target") if self._name is not None else ("",)
        judged: list[list[Condition]] = []
        if self._name is not None:
            sources = [("source", "in", ["", self._source])] if self._source is not None else []
            judged = [[("subject", "=", self._name), *sources]]
        removed = 0
        for column in columns:
            where = self._where(column, "")
            if self._before is None:
                removed += self._remove(where, judged)
                continue
            where.append(("state", "!=", "opened"))
            removed += self._remove([*where, ("closed_us", "<", self._before)], judged)
            open_end: list[Condition] = [("closed_us", "=", None), ("detected_us", "<", self._before)]
            removed += self._remove([*where, *open_end], judged)
        return removed

    def _remove(self, where: Sequence[Condition], judged: Sequence[Sequence[Condition]]) -> int:
        """Remove detections, and count and remove the verdicts on them and those that `judged` names."""
        store = self._store
        ids = [name for (name,) in store.rows("detections", where, columns=("id",))]
        wheres: list[Sequence[Condition]] = [[("detection", "in", list(piece))] for piece in in_pieces(ids)]
        rows = {row["key"]: row for own in (*wheres, *judged) for row in verdict_rows(store, own)}
        settle(store, sorted(rows.values(), key=lambda row: (row["at_us"], row["key"])), remember=False)
        for own in (*wheres, *judged):
            store.delete("settled", own)
        for own in wheres:
            store.delete("changes", own)
        for piece in in_pieces(ids):
            store.delete("detections", [("id", "in", list(piece))])
        return len(ids)

    def _silences(self) -> None:
        """Count and remove verdicts on silences that begin or end at a removed event."""
        store = self._store
        rows = verdict_rows(store, [("detection", "=", None)])
        lost = [row for row in rows if self._is_lost(verdict_of(row))]
        settle(store, lost, remember=False)
        names = KINDS["settled"].names
        for row in list(store.rows("settled", [("detection", "=", "")])):
            values = dict(zip(names, row, strict=True))
            if self._is_lost(values):
                store.delete("settled", [(name, "=", values[name]) for name in KINDS["settled"].key])

    def _is_lost(self, item: Any) -> bool:
        """Whether an event of a silence (a verdict, or a row by column) is not stored."""
        get = item.get if isinstance(item, dict) else lambda name: getattr(item, name)
        where: list[Condition] = [("subject", "=", get("subject"))]
        if get("source"):
            where.append(("source", "=", get("source")))
        ends = {get("first_event"), get("last_event")} - {None}
        return any(not self._store.count("events", [*where, ("id", "=", end)]) for end in ends)

    def _triage(self) -> None:
        """Remove the notes on detections that are gone."""
        keys = [key for (key,) in self._store.rows("notes", [("kind", "=", "triage")], columns=("key",))]
        for piece in in_pieces(keys):
            where = [("id", "in", list(piece))]
            known = {name for (name,) in self._store.rows("detections", where, columns=("id",))}
            gone = [key for key in piece if key not in known]
            self._store.delete("notes", [("kind", "=", "triage"), ("key", "in", gone)])

    def _states(self) -> int:
        """Remove states, and return how many of subjects; all without a subject go: they can be rebuilt.

        Of a subject in a source, only where that is one of conversations; before a moment, those that were
        saved last before it.
        """
        store = self._store
        store.delete("runner_states", [("subject", "=", None)])
        if self._source is not None and self._source not in TALK_SOURCES:
            return 0
        where: list[Condition] = [("subject", "!=", None)]
        if self._name is not None:
            where.append(("subject", "=", self._name))
        if self._before is not None:
            where.append(("saved_us", "<", self._before))
        return store.delete("runner_states", where)

    # --- mentions -------------------------------------------------------------------------------

    def _remove_name(self, name: str) -> None:
        """Remove the name from the events of others and from the audit."""
        store, place = self._store, KINDS["events"].names.index("target")
        where: list[Condition] = [] if self._source is None else [("source", "=", self._source)]
        for rows in _batches(store.rows("events", [*where, ("target", "=", name)])):
            store.write("events", [(*row[:place], None, *row[place + 1 :]) for row in rows])
        looks = list(store.rows("looks", [("person", "=", name)]))
        store.write("looks", [(key, at, what, None, who, "") for key, at, what, _, who, _ in looks])

    def _replace_mentions(self, name: str) -> tuple[dict[str, int], str]:
        """Replace the id everywhere; return how many rows of each kind had it, and the placeholder.

        It is `[purged]`, then `[purged-2]` and so on, so that two ids of events never become the same.
        """
        number = get_meta(self._store, REDACTIONS) or 0
        taken: Any = True
        while taken:
            number += 1
            placeholder = "[purged]" if number == 1 else f"[purged-{number}]"
            taken = next(
                self._store.rows("events", [("id", "contains", placeholder)], columns=("key",), limit=1), None
            )
        record = self._mentions(name, placeholder)
        if record:
            set_meta(self._store, REDACTIONS, number)
        return record, placeholder

    def _mentions(self, name: str, placeholder: str | None) -> dict[str, int]:
        """How many rows of each kind mention a subject, for kinds with any; a placeholder is put there."""
        replace = replacer(name, self._others(name), placeholder or "\0")
        record: dict[str, int] = {}
        for place in PLACES:
            if self._source is not None and place.sources is None:
                continue  # the same name in another source is another subject
            count = self._in_kind(place, name, replace, write=placeholder is not None)
            if count:
                record[place.name] = count
        return record

    def _in_kind(self, place: Place, name: str, replace: Callable[[str], str], *, write: bool) -> int:
        """Count the rows of a kind that mention the name; with `write`, replace it."""
        count = 0
        for rows in _batches(self._may_mention(place, name)):
            changed: list[tuple[Row, Row]] = []
            for row in rows:
                new = place.changed(row, name, replace)
                if new != row:
                    changed.append((row, new))
            count += len(changed)
            if write and changed:
                self._rewrite(place.kind, changed)
        return count

    def _may_mention(self, place: Place, name: str) -> list[Row]:
        """Rows of a kind that may have the name, which JSON may escape and bytes may have either way."""
        where: list[Condition] = []
        if self._source is not None and place.kind != "readings":
            where = [("source", "in", [self._source, *(place.sources or ())])]
        if any(KINDS[place.kind].columns[column] is bytes for column in place.columns):
            return list(self._store.rows(place.kind, where))
        written = {name, json.dumps(name)[1:-1]} if JSON in place.columns.values() else {name}
        texts = tuple(place.columns)
        key = [KINDS[place.kind].names.index(column) for column in KINDS[place.kind].key]
        found = {
            tuple(row[i] for i in key): row
            for text in sorted(written)
            for row in self._store.rows(place.kind, [*where, (texts, "contains", text)])
        }
        rows = list(found.values())
        return self._of_source(rows) if self._source is not None and place.kind == "readings" else rows

    def _of_source(self, readings: Sequence[Row]) -> list[Row]:
        """Those of the readings whose event is of the source."""
        own: set[int] = set()
        for piece in in_pieces(sorted({row[0] for row in readings})):
            where: list[Condition] = [("key", "in", list(piece)), ("source", "=", self._source)]
            own |= {key for (key,) in self._store.rows("events", where, columns=("key",))}
        return [row for row in readings if row[0] in own]

    def _rewrite(self, kind: str, changed: Sequence[tuple[Row, Row]]) -> None:
        """Write rows with other texts; where the key has them, in place of the rows before."""
        store, names, key = self._store, KINDS[kind].names, KINDS[kind].key
        if kind == "sources":
            for old, new in changed:
                self._rename_source(old, new)
            return
        for old, new in changed:
            own = [(name, "=", old[names.index(name)]) for name in key]
            if [(name, "=", new[names.index(name)]) for name in key] != own:
                store.delete(kind, own)
        store.write(kind, [new for _, new in changed])

    def _rename_source(self, old: Row, new: Row) -> None:
        """Give a source another name, and with it all that belongs to it."""
        store = self._store
        own: Condition = ("source", "=", old[0])
        store.write("sources", [new])
        store.write("subjects", [(new[0], *row[1:]) for row in list(store.rows("subjects", [own]))])
        for rows in _batches(store.rows("events", [own])):
            store.write("events", [(row[0], new[0], *row[2:]) for row in rows])
        store.write("swept", [(row[0], new[0], *row[2:]) for row in list(store.rows("swept", [own]))])
        store.delete("swept", [own])
        store.delete("subjects", [own])
        store.delete("sources", [("name", "=", old[0])])

    def _others(self, name: str) -> list[str]:
        """Names of others that contain the name, longest first."""
        store = self._store
        names = {
            other for (other,) in store.rows("subjects", [("name", "contains", name)], columns=("name",))
        }
        names |= {other for other, *_ in store.groups("events", ("target",), [("target", "contains", name)])}
        return sorted(names - {name}, key=lambda item: (-len(item), item))


def _batches(rows: Iterable[Row]) -> Iterable[list[Row]]:
    """Rows a few thousand at a time."""
    source = iter(rows)
    while batch := list(islice(source, READ_AHEAD)):
        yield batch


class Place(NamedTuple):
    """A kind that may mention a subject: the name of its rows, and how each column is read.

    `sources`: what a row's source may be beside the subject's own; None where rows belong to no source.
    """

    name: str
    kind: str
    columns: dict[str, str]
    sources: Sequence[str] | None = None

    def changed(self, row: Row, name: str, replace: Callable[[str], str]) -> Row:
        """The row with the name replaced."""
        names = KINDS[self.kind].names
        return tuple(
            value if value is None or column not in self.columns
            else replaced(value, self.columns[column], name, replace)
            for column, value in zip(names, row, strict=True)
        )  # fmt: skip


def _place(name: str, sources: Sequence[str] | None = None, *, kind: str = "", **columns: str) -> Place:
    """A Place; `columns` are names by how they are read (whole, word or json)."""
    kinds = {column: how for how, names in columns.items() for column in names.split()}
    return Place(name, kind or name, kinds, sources)


PLACES = (
    _place(
        "events", (), whole="target", word="id thread session reply_to kind text", json="attributes readings"
    ),
    _place("readings", (), word="text"),
    _place("sources", word="name"),
    _place("detections", (), whole="subject target", word="source thread", json="record"),
    _place("verdicts", ("",), whole="judge subject", word="first_event last_event why source"),
    _place("settled", ("",), whole="subject", word="source first_event last_event"),
    _place("counts", kind="verdict_counts", word="source"),
    _place("tries", json="record"),
    _place("states", kind="runner_states", whole="subject", word="name key", json="state"),
    _place("looks", whole="person", word="who why"),
    _place("notes", json="record"),
)
"""All columns with texts that a purge leaves, except names of patterns, signals and scorers."""


def replacer(name: str, others: list[str], placeholder: str) -> Callable[[str], str]:
    """A function that replaces the name in a text, as a word and not as a part of another's name.

    >>> replacer("ann", ["ann-2"], "[purged]")("ann asked ann-2 and joanna: Ann? ann.")
    '[purged] asked ann-2 and joanna: Ann? [purged].'
    """
    pattern = re.compile("|".join([*(f"({_word(other)})" for other in others), _word(name)]))
    return lambda text: pattern.sub(lambda match: match[0] if match.lastindex else placeholder, text)


def _word(name: str) -> str:
    """An expression for a name as a word of its own."""
    before = r"(?<!\w)" if re.match(r"\w", name) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", name) else ""
    return f"{before}{re.escape(name)}{after}"


def replaced(value: Any, how: str, name: str, replace: Callable[[str], str]) -> Any:
    """A value with the name replaced; `how` it is read: whole, word or json."""
    if how == WHOLE:
        return replace(name) if value == name else value
    if isinstance(value, bytes):
        return replaced(value.decode("utf-8", "surrogateescape"), how, name, replace).encode(
            "utf-8", "surrogateescape"
        )
    if how == WORD:
        return replace(value)
    try:
        record = json.loads(value)
    except ValueError:
        return replace(value)  # saved by another program
    new = _walked(record, replace)
    return value if new == record else json.dumps(new, separators=(",", ":"))


def _walked(value: Any, replace: Callable[[str], str]) -> Any:
    """JSON data with the name replaced in every text, keys included."""
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [_walked(item, replace) for item in value]
    if isinstance(value, dict):
        return {replace(name): _walked(item, replace) for name, item in value.items()}
    return value
