"""Events as messages of a graph: their properties, and the links between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from ...models import INPUT_SCORER, TRAITS, is_indicator_name
from ..kinds import KINDS, Row
from ..row_store import in_pieces
from ..rows import event_of, reading_of
from .connection import Transaction
from .queries import ADDED, FIRST

BATCH = 1000
"""Events in one query."""
COLUMNS = KINDS["events"].names
Who = tuple[str, str]
AddedReading = tuple[str, float | None, str | None, str, int | None]
"""A reading that was added to an event: the columns ADDED."""


class StoredMessage(NamedTuple):
    """A row of `events`, and the readings that were added to it."""

    row: Row
    added: Sequence[AddedReading] = ()

    @property
    def key(self) -> int:
        return int(self.row[0])

    @property
    def who(self) -> Who:
        """Its subject: source and name."""
        return self.row[1], self.row[2]

    @property
    def order(self) -> tuple[int, int, str]:
        """Its place in a history: time, seq, id."""
        return self.row[5], self.row[6], self.row[3]

    @property
    def at_us(self) -> int:
        return int(self.row[5])

    @property
    def properties(self) -> dict[str, Any]:
        """Its columns, and each reading and attribute by name, for queries.

        `trait_x` and `signal_x` are numbers, `category_x` texts; `scorer_x` is who measured, unless it was
        given. `attribute_x` are numbers, `tag_x` texts.
        """
        out = dict(zip(COLUMNS, self.row, strict=True))
        out["content"] = out["content"].hex()
        added = sorted(self.added, key=lambda item: (item[0], item[3]))
        event = event_of(*self.who, self.row[3:], [reading_of(*item) for item in added])
        for name, value in event.readings.items():
            if isinstance(value, str):
                out[f"category_{name}"] = value
            elif isfinite(value):
                out[f"trait_{name}" if name in TRAITS else f"signal_{name}"] = float(value)
            if (scorer := event.scorers.get(name, INPUT_SCORER)) != INPUT_SCORER:
                out[f"scorer_{name}"] = scorer
        for name, value in event.attributes.items():
            if isinstance(value, str):
                out[f"tag_{name}"] = value
            elif isinstance(value, bool | int | float) and abs(value) < 1e300:
                out[f"attribute_{name}"] = float(value)
        # Whoever scored an indicator; the highest score.
        shown: dict[str, float] = {}
        for name, score in (*event.readings.items(), *((item[0], item[1]) for item in added)):
            if is_indicator_name(name) and isinstance(score, int | float) and isfinite(score) and score != 0:
                shown[name] = max(float(score), shown.get(name, float(score)))
        out["shows"] = sorted(shown) or None
        out["scores"] = [shown[name] for name in sorted(shown)] or None
        out |= added_lists(added)
        return {name: value for name, value in out.items() if value is not None}


def added_lists(added: Sequence[AddedReading]) -> dict[str, list[Any]]:
    """The properties of a message with the readings that were added to it; none where there are none."""
    if not added:
        return {}
    columns = zip(*(_storable(*item) for item in added), strict=True)
    return {f"measured_{name}s": list(column) for name, column in zip(ADDED, columns, strict=True)}


def _storable(signal: str, number: float | None, text: str | None, scorer: str, width: int | None) -> Row:
    """A reading for lists, which have no place for what is absent."""
    value = (0.0 if number is None else float(number), "" if text is None else f"={text}")
    return (signal, *value, scorer, -1 if width is None else width)


def known_positions(tx: Transaction, events: Sequence[Row]) -> list[int]:
    """The positions of events whose source has their id already."""
    find = """UNWIND $keys AS key MATCH (m:Message {source: key[0], id: key[1]}) RETURN key[2]"""
    keys = [[row[1], row[3], position] for position, row in enumerate(events)]
    return sorted(position for (position,) in tx.run(find, keys=keys))


def create_messages(tx: Transaction, messages: Iterable[StoredMessage]) -> None:
    """Make messages of new events, and link them to their subjects, neighbours and indicators."""
    histories: dict[Who, list[StoredMessage]] = {}
    for message in messages:
        histories.setdefault(message.who, []).append(message)
    lows: dict[Who, int] = {}
    highs: dict[Who, int] = {}
    for who, history in histories.items():
        history.sort(key=lambda message: message.order)
        lows[who], highs[who] = history[0].at_us, history[-1].at_us
    touched = []
    for source, subject, last in tx.run(_LAST, who=[list(who) for who in histories], first=FIRST):
        who = (source, subject)
        # Where all are later than what was there, only the first is linked to what is before it.
        high = lows[who] if last < lows[who] else highs[who]
        touched.append([source, subject, lows[who], high])
    group: list[list[Any]] = []
    count = 0
    for who, history in histories.items():
        group.append([*who, [message.properties for message in history]])
        count += len(history)
        if count >= BATCH:
            tx.stream(_CREATE, histories=group)  # the next are made while the server writes these
            group, count = [], 0
    if group:
        tx.stream(_CREATE, histories=group)
    link_messages(tx, touched)


def replace_messages(tx: Transaction, messages: Sequence[StoredMessage]) -> None:
    """Write messages that are there again, known by their keys."""
    for piece in in_pieces(messages, BATCH):
        tx.run(_REPLACE, rows=[message.properties for message in piece])
        # A message of a renamed source is its new subject's.
        tx.run(_MOVE, keys=[message.key for message in piece])


def delete_messages(tx: Transaction, found: str, values: Mapping[str, Any]) -> int:
    """Remove the messages `n` that a query finds, link those around them, and return how many."""
    where = f"{found} RETURN n.source, n.subject, min(n.at_us), max(n.at_us)"
    touched = tx.run(where, **values)
    count: int = tx.value(f"{found} DETACH DELETE n RETURN count(n)", **values)
    link_messages(tx, touched)
    return count


def link_messages(tx: Transaction, touched: Sequence[Sequence[Any]]) -> None:
    """Link the messages of subjects anew: source, subject, and from and until when, ends included."""
    for piece in in_pieces(touched, BATCH):
        tx.run(_PRECEDES, touched=[list(item) for item in piece], first=FIRST)


_AT = "datetime({{epochMillis: 0}}) + duration({{microseconds: {}.at_us}})"
"""The time of a message; the driver takes long to send one."""
_MARK = "FOREACH (_ IN CASE WHEN row.measured_signals IS NULL THEN [] ELSE [1] END | SET m:Measured)"
"""Marks messages with added readings: they are found without looking at others."""
_SHOW = """WHERE m.shows IS NOT NULL
  UNWIND range(0, size(m.shows) - 1) AS i
  MERGE (of:Indicator {name: m.shows[i]})
  CREATE (m)-[:SHOWS {score: m.scores[i]}]->(of)"""
_LINK = """UNWIND range(0, size(line) - 2) AS i
  WITH line[i] AS earlier, line[i + 1] AS later
  CREATE (earlier)-[:PRECEDES]->(later)"""
_CREATE = f"""UNWIND $histories AS history
  MATCH (s:Subject {{source: history[0], id: history[1]}})
  CALL (s, history) {{
    UNWIND history[2] AS row
    CREATE (s)-[:SENT]->(m:Message)
    SET m = row, m.at = {_AT.format("row")}
    {_MARK}
    RETURN collect(m) AS line
  }}
  CALL (line) {{ UNWIND line AS m WITH m {_SHOW} }}
  {_LINK}"""
"""Makes messages of histories: source, subject and rows each."""
_REPLACE = f"""UNWIND $rows AS row MATCH (m:Message {{key: row.key}})
  SET m = row, m.at = {_AT.format("row")}
  REMOVE m:Measured {_MARK}
  WITH m CALL (m) {{ MATCH (m)-[r:SHOWS]->() DELETE r }}
  WITH m {_SHOW}"""
_MOVE = """UNWIND $keys AS key MATCH (s:Subject)-[r:SENT]->(m:Message {key: key})
  WHERE s.source <> m.source OR s.id <> m.subject
  MATCH (other:Subject {source: m.source, id: m.subject}) CREATE (other)-[:SENT]->(m) DELETE r"""
_LAST = """UNWIND $who AS who CALL (who) {
    MATCH (m:Message {source: who[0], subject: who[1]}) WHERE m.at_us >= $first
    RETURN m.at_us AS at ORDER BY m.source DESC, m.subject DESC, m.at_us DESC LIMIT 1
  } RETURN who[0], who[1], at"""
_PRECEDES = f"""UNWIND $touched AS t
  CALL (t) {{
    OPTIONAL MATCH (b:Message {{source: t[0], subject: t[1]}}) WHERE b.at_us >= $first AND b.at_us < t[2]
    RETURN b ORDER BY b.source DESC, b.subject DESC, b.at_us DESC, b.seq DESC, b.id DESC LIMIT 1
  }}
  CALL (t) {{
    OPTIONAL MATCH (a:Message {{source: t[0], subject: t[1]}}) WHERE a.at_us > t[3]
    RETURN a ORDER BY a.source, a.subject, a.at_us, a.seq, a.id LIMIT 1
  }}
  CALL (t) {{
    MATCH (m:Message {{source: t[0], subject: t[1]}}) WHERE t[2] <= m.at_us <= t[3]
    WITH m ORDER BY m.at_us, m.seq, m.id
    RETURN collect(m) AS between
  }}
  WITH [x IN [b] + between + [a] WHERE x IS NOT NULL] AS line
  CALL (line) {{
    UNWIND line[..-1] AS m
    MATCH (m)-[r:PRECEDES]->()
    DELETE r
  }}
  {_LINK}"""
"""Links the messages of subjects anew between two moments, and to those before and after."""
