"""Replay: what the rows on disk come to one after the other, where one depends on those before it.

An id may have come before, a reading may have changed its kind, an event may lack the time that others of its
source have. While rows are written nobody knows the ids before; afterwards only the few that came twice have
to be remembered.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..records import content_hash
from .batch import Place
from .buckets import (
    AT,
    FILE,
    ID,
    LINE,
    NUMBER,
    SOURCE,
    TIMED,
    Buckets,
    Row,
    event_of_row,
    rows_of,
    write_rows,
)
from .collect import NO_TIME, Seen, check_kinds, clash, too_many
from .errors import BadLine
from .faults import Faults

READINGS = 17
"""Where the readings are in a row."""
First = tuple[bool, str, Place]
"""What the first event of an id said (whether it has a time, and its content), and where."""


@dataclass(slots=True)
class Replayed:
    """What came of the rows. `dropped` has a 1 at the number of every row that does not count."""

    dropped: bytearray
    faults: Faults
    repeated: int = 0
    kept: int = 0
    sources: dict[str, Seen] = field(default_factory=dict)


def twice(hashes: array[int]) -> set[int]:
    """The hashes that are there more than once.

    >>> twice(array("q", [3, 1, 3]))
    {3}
    """
    import numpy as np

    found = np.sort(np.frombuffer(hashes, np.int64)) if hashes else np.empty(0, np.int64)
    return set(found[1:][found[1:] == found[:-1]].tolist())


def replay(
    buckets: Buckets, names: Mapping[int, str], suspects: set[int], *, most: int, told: int
) -> Replayed:
    """What would have come of the same events in memory. BadEvents where more than `most` are kept."""
    done = Replayed(bytearray(buckets.total), Faults(told))
    first: dict[tuple[str, str], First] = {}
    for row in buckets.all_rows():
        place = Place(row[FILE], row[LINE], names[row[FILE]])
        state = done.sources.setdefault(row[SOURCE], Seen())
        try:
            counts = _counts(row, place, state, suspects, first)
        except BadLine as bad:
            counts = False
            done.faults.add(place, bad.message)
        else:
            done.repeated += not counts
        if not counts:
            done.dropped[row[NUMBER]] = 1
            continue
        if done.kept >= most:
            raise too_many(place, most)
        done.kept += 1
        state.saw(row[TIMED])
    _drop_untimed(buckets, names, done)
    return done


def _counts(
    row: Row, place: Place, state: Seen, suspects: set[int], first: dict[tuple[str, str], First]
) -> bool:
    """Whether a row is an event of its own: false for a repeat, BadLine where it does not fit."""
    key = (row[SOURCE], row[ID])
    if hash(key) not in suspects:
        check_kinds(state, row[READINGS], place)
        return True
    said = (row[TIMED], content_hash(event_of_row(row).to_dict()))
    if (known := first.get(key)) is not None:
        if known[:2] != said:
            raise BadLine(clash(row[ID], known[2]))
        return False
    check_kinds(state, row[READINGS], place)
    first[key] = (*said, place)
    return True


def _drop_untimed(buckets: Buckets, names: Mapping[int, str], done: Replayed) -> None:
    mixed = {name for name, one in done.sources.items() if one.is_timed and one.is_untimed}
    for row in buckets.all_rows() if mixed else ():
        if not row[TIMED] and row[SOURCE] in mixed and not done.dropped[row[NUMBER]]:
            done.dropped[row[NUMBER]] = 1
            done.kept -= 1
            done.faults.add(Place(row[FILE], row[LINE], names[row[FILE]]), NO_TIME)
    for name in mixed:
        done.sources[name].is_untimed = False


def rewrite(buckets: Buckets, dropped: bytearray) -> None:
    """The buckets without the rows that do not count."""
    newest = buckets.newest = -(2**63)
    for path in buckets.paths:
        if not path.exists():
            continue
        new = path.with_suffix(".new")
        write_rows(new, (row for row in rows_of(path) if not dropped[row[NUMBER]]))
        new.replace(path)
        newest = max(newest, max((row[AT] for row in rows_of(path)), default=newest))
    buckets.newest, buckets.total = newest, dropped.count(0)
