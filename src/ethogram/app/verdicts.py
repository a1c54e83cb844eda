"""Verdicts checked against a store and saved, all or none."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from ..config import Settings
from ..config.settings import learning_in
from ..errors import BadInput, BadUsage, Fault, did_you_mean
from ..fields import Count, RecordStruct
from ..models import Detection, Verdict, format_time, parse_time
from ..models.detection import STANDING, base_pattern
from ..models.verdict import VERDICTS
from ..risk.verdicts import Item, item_of
from ..store.protocol import Store, Who
from .backtest import replayer, stored_chunks, variant
from .risk import newest
from .sweep import reaches_others

# Judging: verdicts checked against what a store holds, and kept, all or none.

ON_DETECTIONS = ("confirmed", "false_alarm")
ON_SILENCES = ("missed", "correct_silence")
Replayed = dict[tuple[str, Who | None], list[Detection]]
"""What patterns in force find, by pattern and subject; None for all subjects."""
Judged = tuple[Item, str]
"""What is judged, and by whom."""
Content = tuple[str, str, bool]
"""What is said of it."""
LONGEST = 2_000
"""Characters of a reason, and of a judge's name."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A stretch in which nothing was detected: a pattern, whose history, from which event to which."""

    pattern: str
    subject: str
    first_event: str
    last_event: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody says of a detection or a silence, before it is checked against a store."""

    verdict: str
    by: str
    at: datetime
    of: str | Silence
    why: str = ""
    blind: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of some verdicts: how many are new, how many say what their judge said already."""

    added: int
    repeated: int


def verdict_of(
    store: Store,
    verdict_input: Said,
    settings: Settings,
    about: Mapping[str, Detection] | None = None,
    replayed: Replayed | None = None,
    *,
    now: datetime | None = None,
) -> Verdict:
    """The verdict, where what it is about is in the store; else BadUsage with what would be right.

    `about` has detections by id that were looked up before, where there are many verdicts, and `replayed`
    keeps what was replayed for the next one. What is dated later than `now` is refused: it would go before
    whatever its judge says until then.
    """
    if now is not None and verdict_input.at > now:
        raise BadUsage(f"the verdict is dated {format_time(verdict_input.at)}, which is still to come")
    if not verdict_input.by.strip():
        raise BadUsage("whose verdict is it? Give --by NAME")
    if max(len(verdict_input.why), len(verdict_input.by)) > LONGEST:
        raise BadUsage(f"a reason, or a judge's name, has at most {LONGEST} characters")
    if isinstance(verdict_input.of, Silence):
        return _on_silence(
            store, verdict_input, verdict_input.of, settings, {} if replayed is None else replayed
        )
    if verdict_input.verdict not in ON_DETECTIONS:
        near = did_you_mean(verdict_input.verdict, ON_DETECTIONS)
        raise BadUsage(
            f"of a detection one says confirmed or false_alarm, not {verdict_input.verdict!r:.40}{near}"
        )
    found = (about or {}).get(verdict_input.of) or detection_of(store, verdict_input.of)
    return Verdict(
        verdict_input.verdict,
        verdict_input.by.strip(),
        verdict_input.at,
        found.pattern,
        found.version,
        found.id,
        why=verdict_input.why,
        blind=verdict_input.blind,
        source=found.source,
    )


def detection_of(store: Store, name: str) -> Detection:
    """The detection of that id; BadUsage where the store has none."""
    found = store.detections(ids=[name])
    if not found:
        raise BadUsage(
            f"there is no detection {name!r:.60} in the store; `ethogram sweep` finds and keeps them, "
            "and tells their ids"
        )
    return found[0]


def _on_silence(store: Store, text: Said, of: Silence, settings: Settings, replayed: Replayed) -> Verdict:
    if text.verdict not in ON_SILENCES:
        near = did_you_mean(text.verdict, ON_SILENCES)
        raise BadUsage(f"of a silence one says missed or correct_silence, not {text.verdict!r:.40}{near}")
    version = _version(of.pattern, settings)
    rows = store.subjects(of.subject, of.source or None)
    if not rows:
        near = did_you_mean(of.subject, [subject.name for subject in store.subjects()])
        raise BadUsage(f"no subject {of.subject!r:.60} is in the store{near}")
    if len(rows) > 1:
        raise BadUsage(
            f"{of.subject!r:.60} is in several sources: {', '.join(row.source for row in rows)}; name one"
        )
    (row,) = rows
    start, end = _ends(store, row.who, of)
    kept = store.detections(subjects=[row.who], states=STANDING)
    if inside := _inside(kept, of.pattern, start, end):
        raise BadUsage(
            f"{of.pattern} was detected there (id {inside[0].id}): say confirmed or false_alarm of that"
        )
    if _inside(_replayed(store, of.pattern, row.who, settings, replayed), of.pattern, start, end):
        raise BadUsage(
            f"{of.pattern} as it is now does find something there, and no sweep has kept it yet: "
            "`ethogram sweep`, and then say confirmed or false_alarm of that"
        )
    return Verdict(
        text.verdict,
        text.by.strip(),
        text.at,
        of.pattern,
        version,
        subject=of.subject,
        first_event=of.first_event,
        last_event=of.last_event,
        why=text.why,
        blind=text.blind,
        source=row.source,
    )


def _inside(detections: Iterable[Detection], pattern: str, start: datetime, end: datetime) -> list[Detection]:
    return [
        item
        for item in detections
        if base_pattern(item.pattern) == base_pattern(pattern)
        and item.opened_at <= end
        and item.held_at >= start
    ]


def _replayed(
    store: Store, pattern: str, who: Who, settings: Settings, replayed: Replayed
) -> Iterable[Detection]:
    """What a pattern in force finds of a subject, whether or not a sweep has kept it."""
    library = variant(base_pattern(pattern), settings)
    assert library is not None
    everybody = any(reaches_others(program, library.programs) for program in library.programs)
    key = (base_pattern(pattern), None if everybody else who)
    if key not in replayed:
        at = newest(store)
        events = stored_chunks(store, library, settings, at, [who])
        (found,) = replayer(base_pattern(pattern), settings, events, at)([{}])
        replayed[key] = found or []
    return [item for item in replayed[key] if (item.source, item.subject) == who]


def _version(pattern: str, settings: Settings) -> str:
    """The version of a pattern in force, by the name of its file or of one of its programs."""
    library = variant(base_pattern(pattern), settings)
    assert library is not None
    programs = [
        program for program in library.programs if library.is_chosen(program) and "@" not in program.name
    ]
    own = [program for program in programs if pattern in (program.name, base_pattern(program.name))]
    if len(own) != 1:
        names = ", ".join(program.name for program in programs)
        raise BadUsage(f"{pattern!r:.60} is not one pattern; name one of {names}")
    return own[0].version


def _ends(store: Store, who: tuple[str, str], of: Silence) -> tuple[datetime, datetime]:
    """When the stretch begins and ends; BadUsage where its events are not there, or the wrong way round."""
    if not of.first_event or not of.last_event:
        raise BadUsage("from which event to which? Give --from EVENT and --to EVENT")
    orders = {event.id: event for event in store.events([who])}
    for name in (of.first_event, of.last_event):
        if name not in orders:
            near = did_you_mean(name, orders)
            raise BadUsage(f"{of.subject!r:.60} has no event {name!r:.60} in the store{near}")
    first, last = orders[of.first_event], orders[of.last_event]
    if first.order > last.order:
        raise BadUsage(f"the event {of.first_event!r:.60} comes after {of.last_event!r:.60}; turn them round")
    return first.at, last.at


class VerdictsAdded(RecordStruct):
    """How many verdicts of a file are new."""

    RECORD = "verdicts_added"

    added: Count
    repeated: Count


def keep_verdicts(store: Store, verdicts: Sequence[Verdict]) -> Kept:
    """Keep all of them in one commit; what a judge said last, and says again, is left out.

    So is what they said at that very moment, or in these very steps: the same file can be given twice.
    BadUsage where one is about something whose verdicts were counted long ago: it would count twice.
    """
    gone = store.settled(verdicts)
    if gone:
        what = gone[0].detection or f"{gone[0].pattern} of {gone[0].subject}"
        raise BadUsage(
            f"the verdicts on {what!r:.80} are so old that they were added up and removed; "
            "it cannot be judged again"
        )
    known: dict[Judged, list[Content]] = {}
    dated = set()
    for verdict in store.verdicts():
        known.setdefault(_judged(verdict), []).append(_content(verdict))
        dated.add((_judged(verdict), verdict.at, _content(verdict)))
    record: dict[Judged, list[Verdict]] = {}
    for verdict in verdicts:
        if (_judged(verdict), verdict.at, _content(verdict)) not in dated:
            record.setdefault(_judged(verdict), []).append(verdict)
    new = {id(news_) for who, own in record.items() for news_ in _news(own, known.get(who, []))}
    store.add_verdicts([verdict for verdict in verdicts if id(verdict) in new])
    return Kept(len(new), len(verdicts) - len(new))


def _news(own: Sequence[Verdict], known: Sequence[Content]) -> list[Verdict]:
    """What one judge says of one thing in order, less what says the same as the one before it.

    Nothing, where they changed their mind in just these steps before.
    """
    steps = [
        item for place, item in enumerate(own) if not place or _content(item) != _content(own[place - 1])
    ]
    if list(known[-len(steps) :]) == [_content(step) for step in steps]:
        return []
    return steps[1:] if known and _content(steps[0]) == known[-1] else steps


def _judged(verdict: Verdict) -> Judged:
    return (item_of(verdict), verdict.by)


def _content(verdict: Verdict) -> Content:
    return (verdict.verdict, verdict.why, verdict.blind)


def settle(store: Store, settings: Settings, now: datetime) -> int:
    """How many things were judged so long ago that only the counts of their verdicts are kept from now on."""
    return store.settle_verdicts(now - timedelta(days=learning_in(settings)["history_retention_days"]))


# Verdicts from a CSV file: every fault of the file at once, and all of it kept or nothing.

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
    about = {detection.id: detection for detection in store.detections(ids=wanted)}
    check = partial(verdict_of, store, settings=settings, about=about, replayed={}, now=now)
    verdicts: list[Verdict] = []
    lines: list[int] = []
    for line, row in rows:
        try:
            verdicts.append(check(verdict_input=_said(row, by=by, at=at)))
        except BadInput as error:
            faults += [Fault(path, line, 0, fault.message) for fault in error.faults]
        else:
            lines.append(line)
    gone = set(store.settled(verdicts))
    faults += [
        Fault(path, line, 0, "its verdicts are so old that they were added up; it cannot be judged again")
        for line, item in zip(lines, verdicts, strict=True)
        if item in gone
    ]
    if faults:
        faults.sort()
        raise BadInput(faults[:MOST_FAULTS], more=max(0, len(faults) - MOST_FAULTS))
    return verdicts


def _said(row: Row, *, by: str, at: datetime) -> Said:
    verdict = row["verdict"]
    if verdict not in VERDICTS:
        near = did_you_mean(verdict, VERDICTS)
        raise BadUsage(f"verdict must be one of {', '.join(VERDICTS)}; here is {verdict!r:.40}{near}")
    blind = YES_NO.get(row.get("blind", "").lower())
    if blind is None:
        raise BadUsage(f"blind must be true or false; here is {row['blind']!r:.40}")
    try:
        when = parse_time(row["at"]) if row.get("at") else at
    except ValueError as error:
        raise BadUsage(f"at: {error}") from None
    return Said(verdict, row.get("by") or by, when, _of(row, verdict), row.get("why", ""), blind)


def _of(row: Row, text: str) -> str | Silence:
    """What a row is about; BadUsage where it is about two things, or lacks what its verdict needs."""
    names = ("pattern", "subject", "first_event", "last_event")
    if text in ON_DETECTIONS:
        if not row.get("detection"):
            raise BadUsage(f"{text} needs a detection: its id")
        return row["detection"]
    lacking = [name for name in names if not row.get(name)]
    if lacking:
        raise BadUsage(f"{text} needs {', '.join(lacking)}")
    if row.get("detection"):
        raise BadUsage(f"{text} is said where nothing was detected, and this row names a detection")
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
            faults += [Fault(path, begun, 0, item) for item in wrong]
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
