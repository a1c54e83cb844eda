"""Import files of events into a store, all or nothing, resumable."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from ..config import Settings
from ..errors import BadEvents, Fault
from ..fields import Count, RecordStruct
from ..ingest import Limits
from ..ingest.batch import Place, PlacedFault
from ..ingest.collector import NO_TIME, NOT_EVENTS, Collector, latest_time
from ..ingest.errors import Unreadable
from ..ingest.event_parser import CATEGORY, NUMBER, Rules
from ..ingest.format import Record
from ..ingest.reader import STDIN, InputFile, OpenFile, Progress, find_files, open_file, records_of
from ..models import Event, stable_hash
from ..models.slotted import dataclass, field, replace
from ..patterns.catalogue import known_ranges, load_vocabulary
from ..store.protocol import Clash, Clashes, Import, Source, Staged, Store
from ..usage.pseudonym import Keys
from .readings import TextSignals, text_signals
from .stored_events import check_private, private_event, private_source

# Staging: files read bit by bit into the store's waiting room, with how far it came after each batch.

BATCH = 5000
"""Events in one commit to the waiting room."""
IN_STORE = Place(0, 0, "the store")


class Reader(Collector):
    """A collector that keeps only one batch in memory, and remembers in the store how far it came."""

    def __init__(
        self,
        store: Store,
        of: Import,
        options: Options,
        rules: Rules,
        sources: Mapping[str, Source],
        at: datetime,
        measure: TextSignals | None,
    ) -> None:
        self._keys = options.pseudonyms
        super().__init__(self._named(options.source), rules)
        self.of = of
        self.first_seq: dict[str, int] = dict(of.state.get("next_seq", {}))
        self._store, self._options, self._at, self._measure = store, options, at, measure
        self._names: list[str] = []
        self._done: list[int] = list(of.state.get("done", []))
        self._per_file: Counter[int] = Counter()
        self._doomed = False
        self._begin(sources, of.state)

    # --- reading ----------------------------------------------------------------------------

    def read(
        self, input_files: Sequence[InputFile], stdin: BinaryIO | None, progress: Progress | None
    ) -> None:
        """Stage the events of all files, from where the import stands."""
        self._names = [item.name for item in input_files]
        total, before = sum(item.size for item in input_files), 0
        for number, item in enumerate(input_files):
            self._done += [0] * (number + 1 - len(self._done))
            self._read_file(number, item, stdin, _from(progress, before, total))
            before += item.size
        self._flush()

    def _read_file(
        self, number: int, input_file: InputFile, stdin: BinaryIO | None, tell: Callable[[int], None]
    ) -> None:
        place = Place(number, 0, input_file.name)
        try:
            with open_file(input_file, stdin, self._rules.limits) as file:
                records = records_of(place, input_file, file, self._rules, self)
                self._read_records(place, records or (), file, tell)
        except OSError as error:
            self.add_fault(place, f"cannot be read: {error.strerror or error}")
        except Unreadable as error:
            self.add_fault(place, str(error))

    def _read_records(
        self, place: Place, records: Iterable[Record], file: OpenFile, tell: Callable[[int], None]
    ) -> None:
        number, path = place.file, place.path
        passed = self._done[number]
        for count, (line, value, column) in enumerate(records, 1):
            if count <= passed:
                continue
            self.add_record(Place(number, line, path), value, column)
            self._done[number] = count
            if len(self._events) >= self._options.batch:
                self._flush()
                tell(file.handle.tell() if file.handle.seekable() else 0)

    def add(self, place: Place, line: Mapping[str, Any]) -> None:
        """Make an event of a line, under the name its source has in the store."""
        self._per_file[place.file] += 1
        super().add(place, self._with_source(line))

    # --- batches ----------------------------------------------------------------------------

    def _flush(self) -> None:
        """Send what is in memory to the waiting room, with how far this came, in one commit."""
        skip = self._options.skip_bad
        batch = (
            []
            if self._doomed
            else [self._staged(*pair) for pair in zip(self._events, self._places, strict=True)]
        )
        self._events, self._places = [], []
        for state in self._sources.values():
            state.by_id.clear()
        # Once a line is bad nothing will go in: read on, to tell of every bad line at once.
        self._doomed = self._doomed or (bool(self.faults.count) and not skip)
        try:
            self.of, clashes = self._store.stage(
                self.of,
                [] if self._doomed else batch,
                self._state_now(),
                keep_text=self._options.keep_text,
                skip_clashes=skip,
                received_at=self._at,
            )
        except Clashes as error:
            self._doomed, clashes = True, error.clashes
        for clash in clashes:
            other = clash.other.removeprefix("at ").partition(":")
            where = f"at {self._names[int(other[0])]}:{other[2]}"
            message = f"the id {clash.id!r:.60} has other content {where}"
            self.add_fault(self.place(clash.file, clash.line), message)

    def _with_source(self, line: Mapping[str, Any]) -> Mapping[str, Any]:
        source = line.get("source")
        return {**line, "source": self._named(source)} if isinstance(source, str) and source else line

    def _named(self, source: str) -> str:
        return source if self._keys is None else private_source(source, self._keys)

    def _staged(self, event: Event, place: Place) -> Staged:
        measured = self._measure(event) if self._measure else ()
        if self._keys is not None:
            event = private_event(event, self._keys)
        return Staged(event, place.file, place.line, measured)

    # --- what a later run has to know --------------------------------------------------------

    def _begin(self, sources: Mapping[str, Source], state: Mapping[str, Any]) -> None:
        kinds = {name: dict(source.kinds) for name, source in sources.items()} | state.get("kinds", {})
        for name, known in kinds.items():
            types = {"number": float, "text": str}
            self._state(name).kinds = {signal: (types[kind], IN_STORE) for signal, kind in known.items()}
        for name, seq in {**self.first_seq, **state.get("seq", {})}.items():
            self._state(name).next_seq = seq
        for name, (is_timed, is_untimed) in state.get("timed", {}).items():
            self._state(name).is_timed, self._state(name).is_untimed = is_timed, is_untimed
        self.repeated, self.faults.count = state.get("repeated", 0), state.get("bad", 0)
        # Files that are not of events are met again, and counted then.
        known = {what: n for what, n in state.get("skipped", {}).items() if what != NOT_EVENTS}
        self.skipped.update(known)
        self._per_file.update({int(file): n for file, n in state.get("per_file", {}).items()})
        self._good = self._per_file.total()
        self.faults.first = [(Place(*place), column, text) for place, column, text in state.get("faults", [])]

    def _state_now(self) -> dict[str, Any]:
        return {
            "next_seq": self.first_seq,
            "done": self._done,
            "seq": {name: source.next_seq for name, source in self._sources.items()},
            "timed": {name: (source.is_timed, source.is_untimed) for name, source in self._sources.items()},
            "kinds": self.kinds(),
            "repeated": self.repeated,
            "bad": self.faults.count,
            "skipped": dict(self.skipped),
            "per_file": dict(self._per_file),
            "faults": [(tuple(place), column, text) for place, column, text in self._faults_kept()],
        }

    def _faults_kept(self) -> list[PlacedFault]:
        # What is wrong with a line may name a person, whom no file of a private store may.
        return [] if self._options.pseudonyms is not None else self.faults.first

    # --- what came of it --------------------------------------------------------------------

    @property
    def bad_count(self) -> int:
        """How many faults there are."""
        return self.faults.count

    def bad(self) -> tuple[Fault, ...]:
        """The first faults by place."""
        return self.faults.as_tuple()

    def add_told(self, fault: Fault) -> None:
        """Count a fault that has its place already."""
        self.add_fault(Place(len(self._names), fault.line, fault.path), fault.message)

    def add_untold(self, count: int) -> None:
        """Count faults that are not kept one by one."""
        self.faults.count += count

    def place(self, file: int, line: int) -> Place:
        """A line of one of the files."""
        return Place(file, line, self._names[file])

    def kinds(self) -> dict[str, dict[str, str]]:
        """Source to signal to 'number' or 'text'."""
        return {
            name: {
                signal: "number" if kind is float else "text" for signal, (kind, _) in source.kinds.items()
            }
            for name, source in self._sources.items()
        }

    def counts(self, files: int) -> list[int]:
        """Events per file."""
        return [self._per_file[number] for number in range(files)]

    def untimed(self) -> list[str]:
        """Sources of this import without times."""
        return [name for name, source in self._sources.items() if source.is_untimed and not source.is_timed]


def _from(progress: Progress | None, before: int, total: int) -> Callable[[int], None]:
    """What tells how far a file was read, as bytes of all files."""

    def tell(within: int) -> None:
        if progress is not None:
            progress(before + within, total)

    return tell


# Import: files of events into a store, all or nothing, and resumable where it was interrupted.

BOUNDS = frozenset({"ratio", "density", "blank", "bad"})
"""Limits that refuse a file and do not change what is read from one."""
FORMAT = 2
"""Counted up where the same file would be read into other events than before."""


class ImportRecord(RecordStruct):
    """What an import did."""

    RECORD = "import"

    store: str
    added: Count
    repeated: Count
    files: Count
    files_known: Count
    resumed_after: Count
    bad: Count
    skipped: Mapping[str, Count]
    not_events: tuple[str, ...]
    strays: Mapping[str, Count]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did. `known` counts files that the store has already; their events are repeats."""

    added: int
    repeated: int
    files: int
    known: int = 0
    resumed: int = 0
    bad: tuple[Fault, ...] = ()
    bad_count: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    not_events: tuple[str, ...] = ()
    strays: Mapping[str, int] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """What a Batch says beside its events."""
        names = ("bad", "bad_count", "repeated", "files", "skipped", "not_events", "strays")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Options:
    """How files are read into a store; other options are another import."""

    source: str = "input"
    skip_bad: bool = False
    keep_text: bool = False
    batch: int = BATCH
    pseudonyms: Keys | None = None
    """The key by which people get other names on their way in; no text of theirs is kept then."""


def import_events(
    store: Store,
    paths: Sequence[str | Path],
    *,
    at: datetime,
    options: Options | None = None,
    settings: Settings | None = None,
    stdin: BinaryIO | None = None,
    progress: Progress | None = None,
) -> Imported:
    """What became of the events of files and folders, which are in the store now, all of them in one commit.

    A bad line drops it all (BadEvents), unless `skip_bad`. Interrupted, what was read stays aside, unseen,
    and the same call goes on from there. `at` is when this happens; events are received then.
    """
    settings = settings or Settings()
    options = options or Options(source=settings.source)
    options = check_private(store, options)
    rules = Rules(
        Limits(**settings.limits),
        known_kinds(settings),
        ranges=known_ranges(),
        latest=latest_time(at, settings.max_future),
    )
    found = find_files(paths)
    text = options_key(options, rules, settings.max_future)
    hashes = {item.path: file_hash(item, at) for item in found}
    known = store.known_files(text)
    new = [item for item in found if hashes[item.path] not in known]
    again = sum(known.get(hashes[item.path], 0) for item in found)
    if not new:
        return Imported(0, again, len(found), known=len(found))
    held = store.lock(f"import {stable_hash(text, [hashes[item.path] for item in new])[:16]}", at)
    try:
        run = _Run(store, options, rules, new, [hashes[item.path] for item in new], text, at)
        done = run.all(stdin, text_signals(settings, keep_text=options.keep_text), progress)
    finally:
        store.unlock(held)
    return replace(done, repeated=done.repeated + again, known=len(found) - len(new), files=len(found))


def known_kinds(settings: Settings) -> dict[str, str]:
    """Which signals must be numbers and which categories."""
    kinds = load_vocabulary(settings.signals).signals
    return {name: kind for name, kind in kinds.items() if kind in (NUMBER, CATEGORY)}


def options_key(options: Options, rules: Rules, max_future: int | None) -> str:
    """Everything beside its content that decides which events a file gives."""
    limits = {name: getattr(rules.limits, name) for name in Limits.__dataclass_fields__ if name not in BOUNDS}
    return stable_hash(
        "import",
        FORMAT,
        options.source,
        options.skip_bad,
        options.keep_text if options.pseudonyms is None else options.pseudonyms.check().hex(),
        limits,
        sorted(rules.kinds.items()),
        sorted(rules.ranges.items()),
        *([max_future] if options.skip_bad else []),  # what is too far ahead is left out then
    )[:32]


def file_hash(input_file: InputFile, at: datetime) -> str:
    """SHA-256 of a file's bytes. Standard input is read once only, so it never is the same as before."""
    if input_file.path == STDIN:
        return stable_hash("stdin", os.getpid(), at)
    try:
        with open(input_file.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadEvents(
            [Fault(input_file.name, 0, 0, f"cannot be read: {error.strerror or error}")]
        ) from None


@dataclass(frozen=True, slots=True)
class _Run:
    """One import from its first batch, or from the one after the last that was kept, to its commit."""

    store: Store
    options: Options
    rules: Rules
    found: Sequence[InputFile]
    hashes: Sequence[str]
    told: str
    at: datetime

    def all(self, stdin: BinaryIO | None, signals: TextSignals | None, progress: Progress | None) -> Imported:
        sources = self.store.sources()
        begin = {
            "next_seq": {source.name: source.next_seq for source in sources.values() if not source.timed}
        }
        of = self.store.begin_import(stable_hash(self.told, list(self.hashes)), begin, self.at)
        reader = Reader(self.store, of, self.options, self.rules, sources, self.at, signals)
        try:
            reader.read(self.found, stdin, progress)
            self._check(reader)
            return self._finish(reader, of.staged)
        except (BadEvents, Clashes):
            self.store.drop_import(of)
            raise
        except KeyboardInterrupt:
            if any(item.path == STDIN for item in self.found):
                self.store.drop_import(of)  # what came through a pipe will not come again
            raise

    def _check(self, reader: Reader) -> None:
        """Nothing, where all that was read may go in; else BadEvents."""
        for name in reader.mixed_sources():
            self._drop_untimed(reader, name)
        if reader.bad_count and not self.options.skip_bad:
            raise BadEvents(reader.bad(), more=reader.bad_count - len(reader.bad()))
        now = self.store.sources()
        begun = reader.first_seq
        moved = [name for name in reader.untimed() if _next_seq(now, name) not in (None, begun.get(name, 0))]
        if moved:
            named = ", ".join(repr(name) for name in moved)
            raise BadEvents(f"the source {named} has no times, and grew meanwhile; run the import again")

    def _drop_untimed(self, reader: Reader, name: str) -> None:
        count, places = self.store.staged_untimed(reader.of, name, drop=self.options.skip_bad)
        for file, line in places:
            reader.add_fault(reader.place(file, line), NO_TIME)
        reader.add_untold(count - len(places))

    def _finish(self, reader: Reader, resumed: int) -> Imported:
        skip = self.options.skip_bad
        files = dict(zip(self.hashes, reader.counts(len(self.hashes)), strict=True))
        files = {} if any(item.path == STDIN for item in self.found) else files
        try:
            done = self.store.finish_import(
                reader.of, reader.kinds(), files=files, options=self.told, at=self.at, skip_clashes=skip
            )
        except Clashes as error:
            raise BadEvents(list(clash_faults(error.clashes, self.found))) from None
        for fault in clash_faults(done.clashes, self.found):
            reader.add_told(fault)
        return Imported(
            done.added,
            done.repeated + reader.repeated,
            len(self.found),
            resumed=resumed,
            bad=reader.bad(),
            bad_count=reader.bad_count,
            skipped=dict(reader.skipped),
            not_events=tuple(reader.not_events),
            strays=dict(reader.strays),
        )


def _next_seq(sources: Mapping[str, Source], name: str) -> int | None:
    """Where a source without times goes on; None where it has times, which is told elsewhere."""
    if name not in sources:
        return 0
    return None if sources[name].timed else sources[name].next_seq


def clash_faults(clashes: Iterable[Clash], input_files: Sequence[InputFile]) -> Iterable[Fault]:
    """Faults that name both places where an id has been seen."""
    for clash in clashes:
        other = clash.other
        if other.startswith("at "):
            file, _, line = other.removeprefix("at ").partition(":")
            other = f"at {input_files[int(file)].name}:{line}"
        yield Fault(
            input_files[clash.file].name, clash.line, 0, f"the id {clash.id!r:.60} has other content {other}"
        )
