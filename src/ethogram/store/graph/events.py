"""Events as messages of a graph: their properties, and reading them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any

from ...ingest.batch import EventSequence
from ...models import INPUT_SCORER, TRAITS, Event, Reading, is_indicator_name, micros, moment
from .. import schema
from ..records import NO_SCORERS, Source, SubjectRow, Who
from ..rows import COLUMNS, MARK, STEPS, Row, event_of, reading_of
from ..sql import in_pieces
from .connection import Graph

FIELDS = schema.EVENT_FIELDS
FIRST = -(2**63)
FIELD_LIST = ", ".join(f"m.{name}" for name in FIELDS)
ORDER = "ORDER BY m.at_us, m.seq, m.id, m.key"
ROW = ", ".join(f"m.{name}" for name in COLUMNS if name not in ("key", "subject"))


# --- properties -----------------------------------------------------------------------------


def properties_of(row: Mapping[str, Any], measured: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The properties of a message: its row, and each reading and attribute by name, for queries.

    `trait_x` and `signal_x` are numbers, `category_x` texts; `scorer_x` is who measured, unless it was given.
    `attribute_x` are numbers, `tag_x` texts. `other_scorers` measured what others had measured before them.
    """
    event = event_of(row["source"], row["subject"], _row(row), [reading_of(*item) for item in measured])
    out = dict(row)
    out["content"] = row["content"].hex() if isinstance(row["content"], bytes) else row["content"]
    out["measured"] = encode_measured(measured)
    evaluated: set[str] = set()
    for name, value in event.readings.items():
        scorer = event.scorers.get(name, INPUT_SCORER)
        if isinstance(value, str):
            out[f"category_{name}"] = value
        elif isfinite(value):
            out[number_property(name)] = float(value)
        if scorer != INPUT_SCORER:
            out[f"scorer_{name}"] = scorer
        if name in TRAITS or is_indicator_name(name):
            evaluated.add(scorer)
    out["evaluated_by"] = sorted(evaluated) or None
    out["other_scorers"] = (
        sorted({item[3] for item in measured if event.scorers.get(item[0]) != item[3]}) or None
    )
    # Whoever scored an indicator; the highest score.
    shown: dict[str, float] = {}
    for name, value in (*event.readings.items(), *((item[0], item[1]) for item in measured)):
        if is_indicator_name(name) and isinstance(value, int | float) and isfinite(value) and value != 0:
            shown[name] = max(float(value), shown.get(name, float(value)))
    out["shows"] = sorted(shown) or None
    out["scores"] = [shown[name] for name in sorted(shown)] or None
    for name, value in event.attributes.items():
        if isinstance(value, str):
            out[f"tag_{name}"] = value
        elif isinstance(value, bool | int | float) and abs(value) < 1e300:
            out[f"attribute_{name}"] = float(value)
    out["bare"] = True if event.kind in STEPS and MARK in event.attributes else None
    return out


def number_property(name: str) -> str:
    """The property with the number that a signal reads."""
    return f"trait_{name}" if name in TRAITS else f"signal_{name}"


def encode_measured(measured: Sequence[Sequence[Any]]) -> str | None:
    """Readings that were added to an event, as `reading_values` gives them, by signal and scorer."""
    return json.dumps(sorted(measured, key=lambda item: (item[0], item[3]))) if measured else None


def decode_measured(text: str | None) -> list[Any]:
    """The values of readings that were added to an event."""
    return json.loads(text) if text else []


def _row(values: Mapping[str, Any]) -> Row:
    return tuple(values.get(name) for name in FIELDS)


def readings_of(text: str | None) -> list[Reading]:
    """The readings of `measured`."""
    return [reading_of(*item) for item in decode_measured(text)]


# --- read -----------------------------------------------------------------------------------


class Events(Graph):
    """Events, sources and subjects."""

    def totals(self) -> tuple[dict[str, int], tuple[int | None, int | None], int | None]:
        """How much there is of everything, the first and last time, and the newest sweep."""
        queries = {
            "events": "MATCH (m:Message) RETURN count(m)",
            "subjects": "MATCH (s:Subject) WHERE s.events > 0 RETURN count(s)",
            # `measured` is a list in JSON, each item of which is one in brackets.
            "readings": """MATCH (m:Message) WHERE m.measured IS NOT NULL
              RETURN sum(size(split(m.measured, '], [')))""",
            "detections": "MATCH ()-[r:EXHIBITS_PATTERN]->() RETURN count(r)",
            "verdicts": "MATCH (v:Verdict) RETURN count(v)",
            "runner_states": "MATCH (s:State) RETURN count(s)",
        }
        counts = self.read(lambda tx: {name: tx.value(query) for name, query in queries.items()})
        span = "MATCH (m:Message {timed: 1}) RETURN min(m.at_us), max(m.at_us)"
        ((first, last),) = self.read(lambda tx: tx.run(span))
        swept = self.read(lambda tx: tx.value("MATCH (w:Sweep) RETURN max(w.as_of_us)"))
        return counts, (first, last), swept

    def events(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        ordered: bool = True,
        with_text: bool = False,
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> Iterator[Event]:
        """Events of all or some subjects in the order (at, seq, id), read in batches. `until` is included.

        Subjects are read a few hundred at a time; only within these the order holds. Not `ordered`: unsorted.
        `with_text`: only events with a text. `scorers`: signal (or '*') to the scorer whose readings come
        before all others.
        """
        where = "m.at_us >= $first AND m.at_us <= $until" + (" AND m.text IS NOT NULL" if with_text else "")
        tail = f"RETURN m.source, m.subject, m.measured, {FIELD_LIST} {ORDER if ordered else ''}"
        values: dict[str, Any] = {"first": FIRST, "until": _until(until)}
        queries = [(f"MATCH (m:Message) WHERE {where} {tail}", values)]
        if subjects is not None:
            some = f"{OF_SUBJECTS} WHERE {where} {tail}"
            queries = [(some, {**values, "who": _pairs(piece)}) for piece in in_pieces(list(subjects))]
        for query, given in queries:
            with self.streaming() as tx:
                for record in tx.stream(query, **given):
                    source, subject, measured, *row = record.values()
                    yield event_of(source, subject, tuple(row), readings_of(measured), scorers)

    def columns(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        mates: bool = False,
        without: Collection[str] = (),
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> EventSequence:
        """Events of all or some subjects in order, as columns where that is possible. `until` is included.

        `mates` adds the events of others in the threads of these subjects. Stored readings of our own signals
        that `without` names are left out; steps of a run without their texts get another kind.
        """
        from ..columns import columns_of, row_columns

        tail = f"WHERE m.at_us <= $until RETURN m.source, m.subject, m.measured, m.key, {ROW}"
        queries: list[tuple[str, dict[str, Any]]] = [(f"MATCH (m:Message) {tail}", {})]
        if subjects is not None:
            pieces = [{"who": _pairs(piece)} for piece in in_pieces(list(subjects))]
            queries = [(f"{OF_SUBJECTS} {tail}", piece) for piece in pieces]
            if mates:
                queries += [(f"{OF_MATES} {tail}", piece) for piece in pieces]
        rows: dict[int, Row] = {}
        numbers: dict[Who, int] = {}
        measured: dict[int, list[Reading]] = {}
        for query, given in queries:
            with self.streaming() as tx:
                for record in tx.stream(query, until=_until(until), **given):
                    source, subject, later, key, *row = record.values()
                    rows[key] = (key, numbers.setdefault((source, subject), len(numbers)), *row)
                    if later:
                        # Our own readings of these signals are measured anew, or not read.
                        measured[key] = [
                            item
                            for item in readings_of(later)
                            if not (item.signal in without and item.scorer.startswith(f"{item.signal}@"))
                        ]
        whose = {number: who for who, number in numbers.items()}
        columns = row_columns(list(rows.values()))
        return columns_of(columns, whose, self.sources(), measured, without, scorers)

    def sources(self) -> dict[str, Source]:
        """Every source by name."""
        query = "MATCH (o:Source) RETURN o.name, o.timed, o.next_seq, o.kinds ORDER BY o.name"
        rows = self.read(lambda tx: tx.run(query))
        return {name: Source(name, bool(timed), seq, json.loads(kinds)) for name, timed, seq, kinds in rows}

    def subjects(self, name: str | None = None, source: str | None = None) -> list[SubjectRow]:
        """Subjects with events, by source and name; `name` and `source` select."""
        query = f"""MATCH (s:Subject) WHERE s.events > 0 AND ($name IS NULL OR s.id = $name)
          AND ($source IS NULL OR s.source = $source) {SUBJECT}"""
        return self.read(lambda tx: subject_rows(tx.run(query, name=name, source=source)))


OF_SUBJECTS = """UNWIND $who AS who MATCH (:Subject {source: who[0], id: who[1]})-[:SENT]->(m:Message)"""
OF_MATES = """UNWIND $who AS who MATCH (:Subject {source: who[0], id: who[1]})-[:SENT]->(o:Message)
  WHERE o.thread IS NOT NULL WITH DISTINCT o.source AS source, o.thread AS thread
  MATCH (m:Message {source: source, thread: thread})"""
SUBJECT = """RETURN s.source AS source, s.id AS name, s.events AS events, s.first_us AS first,
  s.last_us AS last, s.changed AS changed ORDER BY source, name"""


def subject_rows(rows: Iterable[Sequence[Any]]) -> list[SubjectRow]:
    return [
        SubjectRow(source, name, events, moment(first), moment(last), changed)
        for source, name, events, first, last, changed in rows
    ]


def _pairs(subjects: Sequence[Who]) -> list[list[str]]:
    return [list(who) for who in subjects]


def _until(until: datetime | None) -> int:
    return 2**63 - 1 if until is None else micros(until)
