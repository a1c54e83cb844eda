"""Verdicts from a CSV file: every fault of the file at once, and all of it kept or nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from ..config import Settings
from ..errors import BadInput, BadUsage, Fault, did_you_mean
from ..records import Verdict, parse_time
from ..records.verdict import VERDICTS
from ..stores.protocol import Store
from .judging import ON_DETECTIONS, Said, Silence, verdict_of

COLUMNS = (
    "verdict",
    "detection",
    "pattern",
    "subject",
    "first_event",
    "last_event",
    "source",
    "by",
    "at",
    "why",
    "blind",
)
MOST_BYTES = 64 * 2**20
MOST_FAULTS = 1_000
"""Of one file; what is more is counted."""
YES_NO = {"": False, "false": False, "no": False, "0": False, "true": True, "yes": True, "1": True}
Row = dict[str, str]


def read_verdicts(
    path: str, store: Store, settings: Settings, *, by: str, at: datetime, now: datetime | None = None
) -> list[Verdict]:
    """The verdicts of a file, checked against a store; BadInput carries every fault with its line.

    The first line names the columns: `verdict`, and `detection` or else `pattern`, `subject`, `first_event`
    and `last_event`. Where a row has no `by` or `at`, those given here are meant. What is dated later than
    `now` is a fault.
    """
    faults: list[Fault] = []
    rows = list(_rows(path, faults))
    wanted = {row["detection"] for _, row in rows if row.get("detection")}
    about = {one.id: one for one in store.detections(ids=wanted)}
    check = partial(verdict_of, store, settings=settings, about=about, replayed={}, now=now)
    found: list[Verdict] = []
    lines: list[int] = []
    for line, row in rows:
        try:
            found.append(check(said=_said(row, by=by, at=at)))
        except BadInput as error:
            faults += [Fault(path, line, 0, one.message) for one in error.faults]
        else:
            lines.append(line)
    gone = set(store.settled(found))
    faults += [
        Fault(path, line, 0, "its verdicts are so old that they were added up; it cannot be judged again")
        for line, one in zip(lines, found, strict=True)
        if one in gone
    ]
    if faults:
        faults.sort()
        raise BadInput(faults[:MOST_FAULTS], more=max(0, len(faults) - MOST_FAULTS))
    return found


def _said(row: Row, *, by: str, at: datetime) -> Said:
    said = row["verdict"]
    if said not in VERDICTS:
        near = did_you_mean(said, VERDICTS)
        raise BadUsage(f"verdict must be one of {', '.join(VERDICTS)}; here is {said!r:.40}{near}")
    blind = YES_NO.get(row.get("blind", "").lower())
    if blind is None:
        raise BadUsage(f"blind must be true or false; here is {row['blind']!r:.40}")
    try:
        when = parse_time(row["at"]) if row.get("at") else at
    except ValueError as error:
        raise BadUsage(f"at: {error}") from None
    return Said(said, row.get("by") or by, when, _of(row, said), row.get("why", ""), blind)


def _of(row: Row, said: str) -> str | Silence:
    """What a row is about; BadUsage where it is about two things, or lacks what its verdict needs."""
    names = ("pattern", "subject", "first_event", "last_event")
    if said in ON_DETECTIONS:
        if not row.get("detection"):
            raise BadUsage(f"{said} needs a detection: its id")
        return row["detection"]
    lacking = [name for name in names if not row.get(name)]
    if lacking:
        raise BadUsage(f"{said} needs {', '.join(lacking)}")
    if row.get("detection"):
        raise BadUsage(f"{said} is said where nothing was detected, and this row names a detection")
    return Silence(source=row.get("source", ""), **{name: row[name] for name in names})


def _rows(path: str, faults: list[Fault]) -> Iterator[tuple[int, Row]]:
    """Each row with the line it begins on; empty lines are left out."""
    reader = csv.reader(io.StringIO(_text(path), newline=None), strict=True)
    names: Sequence[str] | None = None
    line = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            faults.append(Fault(path, reader.line_num, 0, f"is no CSV from here on: {error}"))
            return
        if cells is None:
            if names is None:
                right = f"the first line names columns: {', '.join(COLUMNS)}"
                faults.append(Fault(path, 1, 0, f"is empty; {right}"))
            return
        cells, begun, line = [cell.strip() for cell in cells], line, reader.line_num + 1
        if not any(cells):
            continue
        if names is None:
            names = cells
            wrong = list(_bad_head(names))
            faults += [Fault(path, begun, 0, one) for one in wrong]
            if wrong:
                return
        elif len(cells) != len(names):
            wrong_count = f"cells: {len(cells)}; the first line has {len(names)}"
            faults.append(Fault(path, begun, 0, wrong_count))
        else:
            yield begun, dict(zip(names, cells, strict=True))


def _bad_head(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name not in COLUMNS:
            near = did_you_mean(name, COLUMNS) or f"; there are {', '.join(COLUMNS)}"
            yield f"unknown column {name!r:.40}{near}"
    if len(set(names)) != len(names):
        yield "a column is named twice"
    if "verdict" not in names:
        yield "there is no column verdict"


def _text(path: str) -> str:
    """The text of a file; BadInput where it cannot be read, is too large, or is not UTF-8."""
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise BadUsage(f"{path} has more than {MOST_BYTES // 2**20} MB; split it")
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadUsage(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        place = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        raise BadInput([Fault(path, *place, "is not UTF-8; save the file as UTF-8")]) from None
