"""Unfinished imports of stores up to schema 4, which staged every event as a row of its own."""

from __future__ import annotations

from typing import Any

from .imports import PIECE, Piece, encode_piece, hashes_of
from .kinds import EVENT_FIELDS, Row
from .row_store import in_pieces

LAST_VERSION = 4
"""The last schema that has such rows."""
EVENTS = f"""SELECT n, import, source, subject, file, line, {", ".join(EVENT_FIELDS)} FROM staged
  WHERE import <> 0 ORDER BY import, n"""
READINGS = "SELECT n, signal, number, text, scorer, width FROM staged_readings WHERE n IN ({}) ORDER BY n"


def take_staged(raw: Any) -> list[Row]:
    """What is staged, as rows of the kind `staged`: in memory, since the tables change next."""
    found: dict[int, list[Row]] = {}
    for row in raw.execute(EVENTS).fetchall():
        found.setdefault(row[1], []).append(row)
    staged: list[Row] = []
    for number, rows in found.items():
        first = 1
        for some in in_pieces(rows, PIECE):
            places = {row[0]: place for place, row in enumerate(some)}
            readings = [
                (places[n], *reading)
                for keys in in_pieces(list(places))
                for n, *reading in raw.execute(READINGS.format(", ".join(map(str, keys)))).fetchall()
            ]
            piece = Piece.of([tuple(row[1:]) for row in some], readings)
            staged.append((number, first, len(piece), hashes_of(piece), encode_piece(piece)))
            first += len(piece)
    return staged
