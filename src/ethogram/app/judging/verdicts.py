"""Verdicts checked against a store and saved, all or none; one at a time or from a CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from ...config import Settings
from ...config.settings import learning_in
from ...errors import BadInput, BadUsage, Fault, NotFound, did_you_mean
from ...fields import Count, RecordStruct
from ...files import read_text
from ...ingest import BadLine
from ...language.history import common_fields, may_hold
from ...models import Detection, Event, Verdict, format_time, parse_time
from ...models.detection import STANDING, base_pattern
from ...models.verdict import VERDICTS
from ...risk.verdicts import Item, item_of
from ...store.records import Store, Who
from ..sweep_contagion import reaches_others
from .labels import BOOLEANS, table_rows
from .replay import replayer, stored_chunks, variant
from .risk import newest

ON_DETECTIONS = ("confirmed", "false_alarm")
ON_SILENCES = ("missed", "correct_silence")
SILENCE = ("pattern", "subject", "first_event", "last_event")
COLUMNS = ("verdict", "detection", *SILENCE, "source", "by", "at", "why", "blind")
SETTLED = "are so old that only their counts are left: it cannot be judged again"
MAX_TEXT = 2_000
"""Characters of a reason, and of a judge's name."""
MAX_BYTES = 64 * 2**20
MAX_FAULTS = 1_000
"""Faults of one file that are listed; the rest are counted."""
Replayed = dict[tuple[str, Who | None], list[Detection]]
"""Detections of the pattern in force, by pattern and subject; None for all subjects."""


@dataclass(frozen=True, slots=True)
class NonDetection:
    """A stretch without a detection: a pattern, a subject, and the first and last event."""

    pattern: str
    subject: str
    first_event: str
    last_event: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class VerdictInput:
    """A verdict on a detection (by id) or a non-detection, not yet checked against a store."""

    verdict: str
    by: str
    at: datetime
    item: str | NonDetection
    why: str = ""
    blind: bool = False


class SavedVerdicts(RecordStruct):
    """How many verdicts of a file are new.

    `repeated` are those that say what their judge said before.
    """

    RECORD = "verdicts_added"

    added: Count
    repeated: Count


def check_verdict(
    store: Store,
    verdict_input: VerdictInput,
    settings: Settings,
    detections: Mapping[str, Detection] | None = None,
    replayed: Replayed | None = None,
    *,
    now: datetime | None = None,
) -> Verdict:
    """The verdict, if the store has what it is about; else BadUsage.

    `detections` by id and `replayed` avoid repeated work for many verdicts. A verdict dated after `now` is
    refused: it would take precedence over later ones of its judge.
    """
    if now is not None and verdict_input.at > now:
        raise BadUsage(f"the verdict is dated {format_time(verdict_input.at)}, in the future")
    if not verdict_input.by.strip():
        raise BadUsage("the judge is missing: give --by NAME")
    if max(len(verdict_input.why), len(verdict_input.by)) > MAX_TEXT:
        raise BadUsage(f"a reason or a judge's name is too long: at most {MAX_TEXT} characters")
    item, word = verdict_input.item, verdict_input.verdict
    known = ON_DETECTIONS if isinstance(item, str) else ON_SILENCES
    if word not in known:
        raise BadUsage(
            f"invalid verdict {word!r:.40}: expected {' or '.join(known)}{did_you_mean(word, known)}"
        )
    by, at, why, blind = verdict_input.by.strip(), verdict_input.at, verdict_input.why, verdict_input.blind
    make = partial(Verdict, word, by, at, why=why, blind=blind)
    if isinstance(item, str):
        detection = (detections or {}).get(item) or find_detection(store, item)
        return make(detection.pattern, detection.version, detection.id, source=detection.source)
    version = _version(item.pattern, settings)
    source = _check_silence(store, item, settings, {} if replayed is None else replayed)
    return make(
        item.pattern,
        version,
        subject=item.subject,
        first_event=item.first_event,
        last_event=item.last_event,
        source=source,
    )


def find_detection(store: Store, name: str) -> Detection:
    """The detection of that id; NotFound where the store has none."""
    detections = store.detections(ids=[name])
    if not detections:
        raise NotFound(
            f"no detection {name!r:.60} in the store: `ethogram sweep` finds and saves detections, "
            "and prints their ids"
        )
    return detections[0]


def _check_silence(store: Store, item: NonDetection, settings: Settings, replayed: Replayed) -> str:
    """The source of a non-detection; BadUsage where the pattern fires in it, or its events are not there."""
    rows = store.subjects(item.subject, item.source or None)
    if not rows:
        near = did_you_mean(item.subject, [subject.name for subject in store.subjects()])
        raise BadUsage(f"no subject {item.subject!r:.60} in the store{near}")
    if len(rows) > 1:
        sources = ", ".join(row.source for row in rows)
        raise BadUsage(f"{item.subject!r:.60} is in several sources ({sources}): name one")
    who = rows[0].who
    first, last = _ends(store, who, item)
    fields = common_fields(first, last)
    pattern = base_pattern(item.pattern)

    def inside(detections: Iterable[Detection]) -> list[Detection]:
        own = (d for d in detections if base_pattern(d.pattern) == pattern and may_hold(d.history, fields))
        return [d for d in own if d.opened_at <= last.at and d.held_at >= first.at]

    if detections := inside(store.detections(subjects=[who], states=STANDING)):
        raise BadUsage(
            f"{item.pattern} was detected there (id {detections[0].id}): "
            "judge that detection as confirmed or false_alarm"
        )
    if inside(_replay(store, pattern, who, settings, replayed)):
        raise BadUsage(
            f"{item.pattern} fires there, but no sweep has saved it yet: "
            "run `ethogram sweep`, then judge that detection as confirmed or false_alarm"
        )
    return who[0]


def _replay(
    store: Store, pattern: str, who: Who, settings: Settings, replayed: Replayed
) -> Iterable[Detection]:
    """What the pattern in force finds of a subject, whether or not a sweep has saved it."""
    library = variant(pattern, settings)
    assert library is not None
    is_joint = any(reaches_others(program, library.programs) for program in library.programs)
    key = (pattern, None if is_joint else who)
    if key not in replayed:
        at = newest(store)
        events = stored_chunks(store, library, settings, at, [who])
        (detections,) = replayer(pattern, settings, events, at)([{}])
        replayed[key] = detections or []
    return [item for item in replayed[key] if (item.source, item.subject) == who]


def _version(pattern: str, settings: Settings) -> str:
    """The version of a pattern in force, by the name of its file or of one of its programs."""
    library = variant(base_pattern(pattern), settings)
    assert library is not None
    programs = [item for item in library.programs if library.is_chosen(item) and "@" not in item.name]
    own = [item for item in programs if pattern in (item.name, base_pattern(item.name))]
    if len(own) != 1:
        names = ", ".join(program.name for program in programs)
        raise BadUsage(f"{pattern!r:.60} is not one pattern: expected one of {names}")
    return own[0].version


def _ends(store: Store, who: Who, item: NonDetection) -> tuple[Event, Event]:
    """The first and last event; BadUsage where they are missing or in the wrong order."""
    if not item.first_event or not item.last_event:
        raise BadUsage("the first or last event is missing: give --from EVENT and --to EVENT")
    events = {event.id: event for event in store.events([who])}
    for name in (item.first_event, item.last_event):
        if name not in events:
            near = did_you_mean(name, events)
            raise BadUsage(f"{item.subject!r:.60} has no event {name!r:.60} in the store{near}")
    first, last = events[item.first_event], events[item.last_event]
    if first.order > last.order:
        raise BadUsage(f"the event {first.id!r:.60} comes after {last.id!r:.60}: swap them")
    return first, last


def save_verdicts(store: Store, verdicts: Sequence[Verdict]) -> SavedVerdicts:
    """Save verdicts in one transaction, without those that repeat what their judge said last.

    A verdict with the same time and content, or the same series of changes, is a repeat too, so that a file
    can be imported twice. BadUsage for an item whose verdicts were removed: it would count twice.
    """
    if settled := store.settled(verdicts):
        what = settled[0].detection or f"{settled[0].pattern} of {settled[0].subject}"
        raise BadUsage(f"the verdicts on {what!r:.80} {SETTLED}")
    known: dict[tuple[Item, str], list[tuple[str, str, bool]]] = {}
    dated = set()
    for verdict in store.verdicts():
        known.setdefault(_judgement(verdict), []).append(_content(verdict))
        dated.add((_judgement(verdict), verdict.at, _content(verdict)))
    by_judgement: dict[tuple[Item, str], list[Verdict]] = {}
    for verdict in verdicts:
        if (_judgement(verdict), verdict.at, _content(verdict)) not in dated:
            by_judgement.setdefault(_judgement(verdict), []).append(verdict)
    new = {id(item) for key, own in by_judgement.items() for item in _changes(own, known.get(key, []))}
    store.add_verdicts([verdict for verdict in verdicts if id(verdict) in new])
    return SavedVerdicts(len(new), len(verdicts) - len(new))


def _changes(own: Sequence[Verdict], known: Sequence[tuple[str, str, bool]]) -> list[Verdict]:
    """The verdicts of one judge on one item without repeats; none where `known` ends with the same series."""
    changes = [
        item for place, item in enumerate(own) if not place or _content(item) != _content(own[place - 1])
    ]
    if list(known[-len(changes) :]) == [_content(item) for item in changes]:
        return []
    return changes[1:] if known and _content(changes[0]) == known[-1] else changes


def _judgement(verdict: Verdict) -> tuple[Item, str]:
    return (item_of(verdict), verdict.by)


def _content(verdict: Verdict) -> tuple[str, str, bool]:
    return (verdict.verdict, verdict.why, verdict.blind)


def settle(store: Store, settings: Settings, now: datetime) -> int:
    """Replace verdicts on items judged long ago by their counts; returns how many items."""
    return store.settle_verdicts(now - timedelta(days=learning_in(settings)["history_retention_days"]))


def read_verdicts(
    path: str, store: Store, settings: Settings, *, by: str, at: datetime, now: datetime | None = None
) -> list[Verdict]:
    """The verdicts of a CSV file, checked against a store; BadInput with every fault and its line.

    The header names the columns: `verdict`, and `detection` or else `pattern`, `subject`, `first_event` and
    `last_event`. `by` and `at` are defaults for rows without.
    """
    text = read_text(Path(path), MAX_BYTES, BadUsage)
    faults: list[Fault] = []
    if not text.strip():
        faults.append(Fault(path, 1, 0, f"the file is empty: expected columns {', '.join(COLUMNS)}"))
    rows: list[tuple[int, Mapping[str, str]]] = []
    for line, row in table_rows(text, check_header=_header_faults):
        if isinstance(row, BadLine):
            faults.append(Fault(path, line, 0, row.message))
        else:
            rows.append((line, row))
    wanted = {row["detection"] for _, row in rows if row.get("detection")}
    detections = {detection.id: detection for detection in store.detections(ids=wanted)}
    check = partial(check_verdict, store, settings=settings, detections=detections, replayed={}, now=now)
    verdicts: list[tuple[int, Verdict]] = []
    for line, row in rows:
        try:
            verdicts.append((line, check(verdict_input=_verdict_input(row, by=by, at=at))))
        except BadInput as error:
            faults += [Fault(path, line, 0, fault.message) for fault in error.faults]
    settled = set(store.settled([verdict for _, verdict in verdicts]))
    faults += [Fault(path, line, 0, f"its verdicts {SETTLED}") for line, item in verdicts if item in settled]
    if faults:
        raise BadInput(sorted(faults)[:MAX_FAULTS], more=max(0, len(faults) - MAX_FAULTS))
    return [verdict for _, verdict in verdicts]


def _verdict_input(row: Mapping[str, str], *, by: str, at: datetime) -> VerdictInput:
    word = row.get("verdict", "")
    if word not in VERDICTS:
        near = did_you_mean(word, VERDICTS)
        raise BadUsage(f"invalid verdict {word!r:.40}: expected one of {', '.join(VERDICTS)}{near}")
    blind = BOOLEANS.get(row.get("blind", "no").lower())
    if blind is None:
        raise BadUsage(f"invalid value of blind {row['blind']!r:.40}: expected true or false")
    try:
        when = parse_time(row["at"]) if row.get("at") else at
    except ValueError as error:
        raise BadUsage(f"at: {error}") from None
    needed = ("detection",) if word in ON_DETECTIONS else SILENCE
    if missing := [name for name in needed if not row.get(name)]:
        raise BadUsage(f"{word} needs {', '.join(missing)}")
    item: str | NonDetection
    if word in ON_DETECTIONS:
        item = row["detection"]
    elif row.get("detection"):
        raise BadUsage(f"{word} is about a stretch without a detection, but the row names a detection")
    else:
        item = NonDetection(source=row.get("source", ""), **{name: row[name] for name in SILENCE})
    return VerdictInput(word, row.get("by") or by, when, item, row.get("why", ""), blind)


def _header_faults(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name not in COLUMNS:
            near = did_you_mean(name, COLUMNS) or f": expected {', '.join(COLUMNS)}"
            yield f"unknown column {name!r:.40}{near}"
    if "verdict" not in names:
        yield "there is no column verdict"
