"""Receive events that come one by one or in requests, and write them into a store."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from io import BytesIO
from typing import Any, NamedTuple

import msgspec

from ...config import Settings
from ...errors import BadEvents, Fault
from ...fields import Count, RecordStruct
from ...ingest.batch import EventList, Place
from ...ingest.collector import Collector, latest_time
from ...ingest.errors import BadLine, Unreadable
from ...ingest.event_parser import EventLine, Rules
from ...ingest.format import UTF_16, Adapter, Record, choose
from ...ingest.formats.json_array import JsonArray
from ...ingest.formats.jsonl import JsonLines
from ...ingest.reader import STDIN, InputFile, open_file, records_of
from ...models import EPOCH, Event
from ...models.limits import Limits
from ...patterns.catalogue import known_ranges
from ...patterns.library import Library
from ...store.records import Added, Clash, Clashes, Staged
from ..importing import known_kinds
from ..lost_texts import bare_events, without_texts
from ..readings import TextSignals, bare_event, text_signals

BODY = "body"
LINE_KEYS = frozenset(EventLine.__struct_fields__)
Kinds = Mapping[str, Mapping[str, str]]
"""Source to signal to 'number' or 'text'."""
_TYPES: Mapping[str, type] = {"number": float, "text": str}


class Ingested(RecordStruct):
    """What a request brought: how many events are new, and how many were there."""

    RECORD = "ingested"

    added: Count
    repeated: Count
    skipped: Mapping[str, Count]
    faults: tuple[Fault, ...]
    notes: tuple[str, ...] = ()
    """What should be known about these events."""


class Received(NamedTuple):
    """The events of a request, ready to be written, and the kinds of their signals."""

    staged: list[Staged]
    kinds: Kinds
    repeated: int
    skipped: Mapping[str, int]
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    first_wins: bool = False
    """Leave out events whose id the store has with other content, instead of refusing them all."""


NO_TEXTS = "texts are not stored, without which these patterns find nothing: {}; start with --keep-text"
UNKNOWN = (
    "unknown format: expected JSON lines, a JSON array, CSV with a column 'subject', Parquet, or the "
    "transcript of a known program"
)


class _Position(Place):
    """The place of a line that stands for itself; `line` is its number here and says nothing to anybody."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.path


class RequestCollector(Collector):
    """A collector for one request; with `fill`, an event without a time happened now and gets an id."""

    def __init__(self, source: str, rules: Rules, kinds: Kinds, now: datetime) -> None:
        super().__init__(source, rules)
        self.fill = False
        self._now = now
        self._known = kinds
        place = Place(0, 0, "the store")
        for name, signals in kinds.items():
            state = self._state(name)
            state.kinds = {signal: (_TYPES[kind], place) for signal, kind in signals.items()}

    def add(self, place: Place, line: Mapping[str, Any]) -> None:
        if self.fill:
            defaults: dict[str, Any] = {}
            if not line.get("at"):
                defaults["at"] = self._now
            if line.get("id") in (None, ""):
                defaults["id"] = uuid.uuid4().hex
            line = {**line, **defaults} if defaults else line
        super().add(place, line)

    def numbered(self) -> Iterable[tuple[int, Event]]:
        """The events as they came, each with the number of its line."""
        return ((place.line, event) for place, event in zip(self._places, self._events, strict=True))

    def new_kinds(self) -> dict[str, dict[str, str]]:
        """All kinds of every source that has events here with a signal not known before."""
        kinds = {
            name: {signal: "number" if kind is float else "text" for signal, (kind, _) in state.kinds.items()}
            for name, state in self._sources.items()
        }
        return {name: known for name, known in kinds.items() if known != self._known.get(name, {})}


class Receiver:
    """Reads requests and messages under some settings; with a `library`, notes say what it cannot judge."""

    def __init__(self, settings: Settings, *, keep_text: bool, library: Library | None = None) -> None:
        self._settings = settings
        self._kinds = known_kinds(settings)
        self._ranges = known_ranges()
        self._library = None if keep_text else library
        self._measure: TextSignals | None = text_signals(settings, keep_text=keep_text)

    def read(
        self, body: bytes, kinds: Kinds, *, source: str, now: datetime, skip_bad: bool = False
    ) -> Received:
        """The events of a body in any format that files may have; BadEvents with all its faults."""
        limits = Limits(**self._settings.limits)
        rules = self._rules(limits, now)
        collector = RequestCollector(source, rules, kinds, now)
        file = InputFile(STDIN, named=True)
        place = Place(0, 0, BODY)
        try:
            with open_file(file, BytesIO(body), limits) as opened:
                name = name_of_body(opened.head)
                adapter, named = adapter_of(opened.head, name), InputFile(name, named=True)
                if adapter is None and opened.head.strip() and not opened.head.startswith(UTF_16):
                    raise Unreadable(UNKNOWN)
                collector.fill = isinstance(adapter, JsonLines | JsonArray)
                records = records_of(place, named, opened, rules, collector, adapter)
                for line, value, column in records or ():
                    collector.add_record(Place(0, line, BODY), value, column)
        except Unreadable as error:
            collector.add_fault(place, str(error))
        return self._received(collector, skip_bad=skip_bad)

    def collect(
        self, records: Iterable[Record], kinds: Kinds, *, source: str, now: datetime, skip_bad: bool = False
    ) -> Received:
        """The events of lines that an adapter made; of two with one id, here or in the store, the first."""
        collector = RequestCollector(source, self._rules(Limits(**self._settings.limits), now), kinds, now)
        for line, value, column in records:
            collector.add_record(Place(0, line, BODY), value, column)
        return self._received(collector, skip_bad=skip_bad)._replace(first_wins=True)

    def accept(
        self,
        lines: Sequence[tuple[str, Mapping[str, Any] | str]],
        kinds: Kinds,
        *,
        source: str,
        now: datetime,
    ) -> tuple[Received, dict[int, str]]:
        """The events of lines that each stand for themselves, and why the others are refused, by number.

        A line comes with the name of its place; a str in place of one says what is wrong with it.
        """
        collector = RequestCollector(source, self._rules(Limits(**self._settings.limits), now), kinds, now)
        refused: dict[int, str] = {}
        for number, (name, line) in enumerate(lines):
            if isinstance(line, str):
                refused[number] = line
                continue
            try:
                collector.add(_Position(0, number, name), line)
            except BadLine as bad:
                refused[number] = bad.message
        staged = [
            Staged(event, 0, number, self._measure(event) if self._measure else ())
            for number, event in collector.numbered()
        ]
        return Received(staged, collector.new_kinds(), collector.repeated, {}), refused

    def warm(self) -> None:
        """Load what measures texts, so that the first request need not wait for it."""
        line = {"id": "1", "subject": "nobody", "kind": "message", "text": "Hello.", "at": EPOCH}
        self.collect([(1, line, 0)], {}, source=BODY, now=EPOCH)

    def _rules(self, limits: Limits, now: datetime) -> Rules:
        latest = latest_time(now, self._settings.max_future)
        return Rules(limits, self._kinds, ranges=self._ranges, latest=latest)

    def _received(self, collector: RequestCollector, *, skip_bad: bool) -> Received:
        batch = collector.batch(1)
        if batch.bad_count and not skip_bad:
            raise BadEvents(batch.bad, more=batch.bad_count - len(batch.bad))
        measure = self._measure
        staged = [
            Staged(event, 0, number, measure(event) if measure else ())
            for number, event in enumerate(batch.events)
        ]
        notes = self._notes(batch.events)
        return Received(staged, collector.new_kinds(), batch.repeated, batch.skipped, batch.bad, notes)

    def _notes(self, events: Sequence[Event]) -> tuple[str, ...]:
        if self._library is None:
            return ()
        lost = bare_events(EventList(event for event in map(bare_event, events) if event is not None))
        names = without_texts(self._library, lost)
        return (NO_TEXTS.format(", ".join(names)),) if names else ()


def add_first(
    add: Callable[[Sequence[Staged]], Added], staged: Sequence[Staged]
) -> tuple[Added, tuple[Clash, ...]]:
    """Add events without those whose id the store has with other content; these are returned."""
    clashes: tuple[Clash, ...] = ()
    while True:
        try:
            return add(staged), clashes
        except Clashes as error:
            taken = {clash.line for clash in error.clashes}
            kept = [item for item in staged if item.line not in taken]
            if len(kept) == len(staged):
                raise
            clashes, staged = (*clashes, *error.clashes), kept


def adapter_of(head: bytes, name: str) -> Adapter | None:
    """The adapter of a body. Most are event lines without actions of runs: one look tells that."""
    try:
        first = msgspec.json.decode(head.partition(b"\n")[0], type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        first = {}
    is_plain = "subject" in first and first.keys() <= LINE_KEYS and b'"action"' not in head
    return JsonLines() if is_plain else choose(head, name)


def name_of_body(head: bytes) -> str:
    """The name a body would have as a file: a table where its first line has columns.

    >>> name_of_body(b"person,at\\nann,2026-01-01"), name_of_body(b'{"subject": "ann", "kind": "login"}')
    ('body.csv', 'body')
    """
    first = head.lstrip().partition(b"\n")[0]
    is_table = first[:1].isalpha() and any(mark in first for mark in (b",", b";", b"\t"))
    return f"{BODY}.csv" if is_table else BODY
