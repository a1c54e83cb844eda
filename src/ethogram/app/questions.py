"""Questions to a store: who did what to whom, who is alike, what comes early, who acts together.

The store counts (`links`, `shown`, `shared`); the answers are made here, so they are the same on every store.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from statistics import median
from typing import Annotated, Any

from ..errors import BadUsage, MissingExtra, NotFound, did_you_mean
from ..evaluators.base import dimensions
from ..fields import Amount, Count, Name, Ratio, RecordStruct, one_of
from ..models import TRAITS, Detection, Event
from ..models.detection import STANDING
from ..models.record import Record
from ..models.slotted import dataclass
from ..store.records import SharedRow, ShownRow, Store, Who
from .subject import SignalContext, signal_contexts

SHARED_BY = ("pattern", "target", "text")
CLOSE = timedelta(minutes=10)
"""How far apart two acts of a group may be."""


@dataclass(frozen=True, slots=True)
class HistorySummary(Record):
    """A subject's history, as the widest context of an evaluator has it."""

    RECORD = "history"

    source: str
    subject: Name
    messages: Count
    threads: Count
    signals: tuple[SignalContext, ...]
    dimensions: Mapping[str, Ratio]
    """Of the mean traits: ethos, logos, pathos and their balance, as far as the traits are there."""
    detections: Mapping[str, Count]
    """So far, by pattern."""


class Tie(RecordStruct):
    """What a subject did to a target: events by kind, and detections by pattern."""

    RECORD = "tie"

    source: str
    subject: Name
    target: Name
    events: Count
    kinds: dict[str, Count]
    patterns: dict[str, Count]
    first_at: datetime | None
    last_at: datetime | None


class Alike(RecordStruct):
    """A subject that shows indicators which another shows too."""

    RECORD = "alike"

    source: str
    subject: Name
    similarity: Ratio
    """Shared indicators, of all that one of the two shows."""
    shared: list[str]


class EarlySign(RecordStruct):
    """An indicator in histories before a pattern was detected there."""

    RECORD = "early_sign"

    pattern: Name
    indicator: Name
    histories: Count
    """Histories with the pattern that showed the indicator before it was detected."""
    share: Ratio
    """Of all histories with the pattern."""
    elsewhere: Ratio
    """Share of the other histories that show it at any time."""
    position: Ratio
    """Where it came first between the first event (0) and the detection (1); the median."""
    lead_s: Amount
    """Seconds from there to the detection; the median."""


class ActingGroup(RecordStruct):
    """Subjects who did the same close in time."""

    RECORD = "group"

    by: Annotated[str, one_of(*SHARED_BY)]
    value: str
    """The pattern, the target or the text."""
    source: str
    subjects: list[str]
    events: Count
    first_at: datetime
    last_at: datetime


def history_summary(store: Store, who: Who, until: datetime | None = None) -> HistorySummary:
    """A subject's history: counts, mean and trend of each signal, balance, and detections so far."""
    events: list[Event] = list(store.events([who], until=until))
    patterns = Counter(
        item.pattern for item in standing(store, subjects=[who]) if until is None or item.detected_at <= until
    )
    signals = tuple(signal_contexts(events))
    means = {item.signal: item.mean for item in signals if item.signal in TRAITS and item.mean is not None}
    threads = {event.thread for event in events if event.thread is not None}
    counts = dict(sorted(patterns.items()))
    return HistorySummary(*who, len(events), len(threads), signals, dimensions(means), counts)


def standing(store: Store, **which: Any) -> list[Detection]:
    """Current detections of patterns that are on, without parts and withdrawn ones."""
    detections = store.detections(states=STANDING, parts=False, **which)
    return [item for item in detections if item.status != "shadow"]


def who(store: Store, subject: str | None = None, target: str | None = None) -> list[Tie]:
    """Who did what to whom, most events first; `subject` and `target` select, NotFound if unknown."""
    ties: dict[tuple[str, str, str], Tie] = {}
    for row in store.links(subject, target):
        tie = ties.setdefault(row[:3], Tie(*row[:3], 0, {}, {}, row.first_at, row.last_at))
        tie.events += row.events
        tie.kinds[row.kind] = row.events
        tie.first_at = min(row.first_at, tie.first_at or row.first_at)
        tie.last_at = max(row.last_at, tie.last_at or row.last_at)
    for item in standing(store):
        if item.target is None or subject not in (None, item.subject) or target not in (None, item.target):
            continue
        place = (item.source, item.subject, item.target)
        tie = ties.setdefault(place, Tie(*place, 0, {}, {}, item.opened_at, item.held_at))
        tie.patterns[item.pattern] = tie.patterns.get(item.pattern, 0) + 1
    if not ties:
        _check_known(store, subject, target)
    return sorted(ties.values(), key=lambda tie: (-tie.events, tie.source, tie.subject, tie.target))


def _check_known(store: Store, subject: str | None, target: str | None) -> None:
    subjects = {row.name for row in (*store.subjects(), *store.detected_subjects())}
    targets = subjects if target is None else subjects | {row.target for row in store.links()}
    for role, name, known in (("subject", subject, subjects), ("target", target, targets)):
        if name is not None and name not in known:
            raise NotFound(f"no {role} {name!r:.80} in the store{did_you_mean(name, known)}")


def alike(store: Store, subject: Who) -> list[Alike]:
    """Subjects that share indicators with one, the most similar first."""
    shown: dict[Who, set[str]] = defaultdict(set)
    for row in store.shown():
        shown[row.source, row.subject].add(row.indicator)
    own = shown.pop(subject, set())
    out = [
        Alike(*other, round(len(own & theirs) / len(own | theirs), 6), sorted(own & theirs))
        for other, theirs in shown.items()
        if own & theirs
    ]
    return sorted(out, key=lambda item: (-item.similarity, item.source, item.subject))


def early(store: Store, pattern: str) -> list[EarlySign]:
    """Indicators shown before a pattern was first detected, the earliest of the most frequent first."""
    detected: dict[Who, datetime] = {}
    for item in standing(store, patterns=[pattern]):
        place = (item.source, item.subject)
        detected[place] = min(item.detected_at, detected.get(place, item.detected_at))
    if not detected:
        near = did_you_mean(pattern, {item.pattern for item in standing(store)})
        raise BadUsage(f"no detection of {pattern!r:.60} in the store{near}")
    rows = {row.who: row for row in store.subjects()}
    before: dict[str, list[tuple[float, float]]] = defaultdict(list)
    elsewhere: Counter[str] = Counter()
    for seen in store.shown():
        place = (seen.source, seen.subject)
        if place not in detected:
            elsewhere[seen.indicator] += 1
        elif place in rows and seen.first_at <= detected[place]:
            lead, whole = detected[place] - seen.first_at, detected[place] - rows[place].first_at
            before[seen.indicator].append((1 - lead / whole if whole else 1.0, lead.total_seconds()))
    others = len(rows.keys() - detected.keys())
    signs = [
        EarlySign(
            pattern=pattern,
            indicator=name,
            histories=len(places),
            share=round(len(places) / len(detected), 6),
            elsewhere=round(elsewhere[name] / others, 6) if others else 0.0,
            position=round(median(position for position, _ in places), 6),
            lead_s=median(lead for _, lead in places),
        )
        for name, places in before.items()
    ]
    return sorted(signs, key=lambda sign: (-sign.histories, sign.position, sign.indicator))


def groups(
    store: Store, *, by: Iterable[str] = SHARED_BY, within: timedelta = CLOSE, at_least: int = 2
) -> list[ActingGroup]:
    """Subjects of a source who share a pattern, a target or a text, each act `within` of the one before.

    Largest groups first. Texts are compared whole, where they are stored.
    """
    out: list[ActingGroup] = []
    for name in by:
        rows = store.shared(name) if name != "pattern" else _patterns(store)
        burst: list[SharedRow] = []
        for row in rows:
            if burst and (row[:2] != burst[-1][:2] or row.at - burst[-1].at > within):
                out += _group(name, burst, at_least)
                burst = []
            burst.append(row)
        out += _group(name, burst, at_least)
    return sorted(
        out, key=lambda item: (-len(item.subjects), -item.events, item.first_at, item.by, item.value)
    )


def _patterns(store: Store) -> Iterator[SharedRow]:
    rows = (
        SharedRow(item.source, item.pattern, item.subject, item.id, item.opened_at)
        for item in standing(store)
    )
    yield from sorted(rows, key=lambda row: (row.source, row.value, row.at, row.event))


def _group(by: str, burst: list[SharedRow], at_least: int) -> list[ActingGroup]:
    subjects = sorted({row.subject for row in burst})
    if len(subjects) < at_least:
        return []
    first, last = burst[0], burst[-1]
    return [ActingGroup(by, first.value, first.source, subjects, len(burst), first.at, last.at)]


def to_networkx(store: Store) -> Any:
    """A `networkx.MultiDiGraph` of a store (extra `graph`).

    Nodes are ("subject", source, name), ("pattern", name) and ("indicator", name); edges have a `type`:
    ACTED_ON (with events and kinds), EXHIBITS_PATTERN (a detection each) and SHOWS (with events and score).
    """
    try:
        import networkx
    except ImportError:
        raise MissingExtra("networkx", "graph", "a graph of a store") from None
    graph = networkx.MultiDiGraph()
    for row in store.subjects():
        graph.add_node(
            ("subject", *row.who), kind="subject", name=row.name, source=row.source, events=row.events
        )
    for tie in who(store):
        if tie.events:
            ends = [("subject", tie.source, name) for name in (tie.subject, tie.target)]
            graph.add_node(ends[1], kind="subject", name=tie.target, source=tie.source)
            graph.add_edge(*ends, type="ACTED_ON", events=tie.events, kinds=dict(tie.kinds))

    def add(row: Detection | ShownRow, kind: str, name: str, edge: str, *fields: str) -> None:
        graph.add_node((kind, name), kind=kind, name=name)
        values = {field: getattr(row, field) for field in fields}
        graph.add_edge(("subject", row.source, row.subject), (kind, name), type=edge, **values)

    for item in standing(store):
        fields = ("id", "severity", "confidence", "detected_at")
        add(item, "pattern", item.pattern, "EXHIBITS_PATTERN", *fields)
    for seen in store.shown():
        add(seen, "indicator", seen.indicator, "SHOWS", "events", "score", "first_at")
    return graph
