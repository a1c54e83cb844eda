"""Import files of events into a store: all or nothing, continued where it was interrupted."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from ..config import Settings
from ..errors import BadEvents, Fault
from ..fields import Count
from ..ingest import Limits
from ..ingest.batch import Place
from ..ingest.collector import NO_TIME, NOT_EVENTS, Collector, latest_time
from ..ingest.errors import Unreadable
from ..ingest.event_parser import CATEGORY, NUMBER, Rules
from ..ingest.reader import STDIN, InputFile, Progress, find_files, open_file, records_of, unread_reason
from ..models import Event, stable_hash
from ..models.record import Record
from ..models.slotted import dataclass, field, replace
from ..patterns.catalogue import known_ranges, load_vocabulary
from ..store.records import Clash, Clashes, Staged, Store
from ..usage.pseudonym import Keys
from .readings import TextSignals, text_signals
from .stored_events import check_private, private_event, private_source

BATCH = 5000
"""Events staged in one commit."""
IN_STORE = Place(0, 0, "the store")
BOUNDS = frozenset({"ratio", "density", "blank", "bad"})
"""Limits that refuse a file and do not change what is read from one."""
FORMAT = 2
"""To be raised where the same file would be read into other events than before."""


@dataclass(frozen=True, slots=True)
class Imported(Record):
    """What an import did.

    `files_known` counts files that the store has already; their events are repeats.
    """

    RECORD = "import"
    HIDDEN = ("faults",)

    store: str
    added: Count
    repeated: Count
    files: Count
    files_known: Count = 0
    resumed_after: Count = 0
    bad: Count = 0
    skipped: Mapping[str, Count] = field(default_factory=dict)
    not_events: tuple[str, ...] = ()
    strays: Mapping[str, Count] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """How files are read into a store; with other options it is another import."""

    source: str = "input"
    skip_bad: bool = False
    keep_text: bool = False
    batch: int = BATCH
    pseudonyms: Keys | None = None
    """The key that replaces names; texts are not stored then."""


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
    """Import the events of files and folders into a store, in one commit.

    A bad line drops it all (BadEvents), unless `skip_bad`. After an interruption the staged events stay,
    invisible, and the same call continues from there. `at` is the time at which events are received.
    """
    settings = settings or Settings()
    options = check_private(store, options or Options(source=settings.source))
    rules = Rules(
        Limits(**settings.limits),
        known_kinds(settings),
        ranges=known_ranges(),
        latest=latest_time(at, settings.max_future),
    )
    files = find_files(paths)
    key = options_key(options, rules, settings.max_future)
    hashes = {item.path: file_hash(item, at) for item in files}
    known = store.known_files(key)
    new = [item for item in files if hashes[item.path] not in known]
    again = sum(known.get(hashes[item.path], 0) for item in files)
    if not new:
        return Imported(store.url, 0, again, len(files), files_known=len(files))
    own = [hashes[item.path] for item in new]
    lock = store.lock(f"import {stable_hash(key, own)[:16]}", at)
    try:
        measure = text_signals(settings, keep_text=options.keep_text)
        done = Importer(store, options, rules, new, own, key, at, measure).run(stdin, progress)
    finally:
        store.unlock(lock)
    return replace(done, repeated=done.repeated + again, files_known=len(files) - len(new), files=len(files))


def known_kinds(settings: Settings) -> dict[str, str]:
    """Which signals must be numbers and which categories."""
    kinds = load_vocabulary(settings.signals).signals
    return {name: kind for name, kind in kinds.items() if kind in (NUMBER, CATEGORY)}


def options_key(options: Options, rules: Rules, max_future: int | None) -> str:
    """A hash of everything beside its content that decides which events a file yields."""
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
        *([max_future] if options.skip_bad else []),  # events too far ahead are skipped then
    )[:32]


def file_hash(input_file: InputFile, at: datetime) -> str:
    """SHA-256 of a file's bytes; of standard input, which can be read only once, always a new one."""
    if input_file.path == STDIN:
        return stable_hash("stdin", os.getpid(), at)
    try:
        with open(input_file.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        fault = Fault(input_file.name, 0, 0, f"cannot be read: {error.strerror or error}")
        raise BadEvents([fault]) from None


class Importer(Collector):
    """A collector that holds one batch in memory, and saves in the store how far it came."""

    def __init__(
        self,
        store: Store,
        options: Options,
        rules: Rules,
        files: Sequence[InputFile],
        hashes: Sequence[str],
        key: str,
        at: datetime,
        measure: TextSignals | None,
    ) -> None:
        self._keys = options.pseudonyms
        super().__init__(self._source_name(options.source), rules)
        self._store, self._options, self._at, self._measure = store, options, at, measure
        self._files, self._hashes, self._key = files, hashes, key
        self._doomed = False
        sources = store.sources()
        begin = {name: source.next_seq for name, source in sources.items() if not source.timed}
        self._import = store.begin_import(stable_hash(key, list(hashes)), {"next_seq": begin}, at)
        self._resumed, saved = self._import.staged, self._import.state
        self._first_seq: dict[str, int] = dict(saved.get("next_seq", {}))
        self._done: list[int] = list(saved.get("done", []))
        self._per_file = Counter({int(file): n for file, n in saved.get("per_file", {}).items()})
        self._good = self._per_file.total()
        kinds = {name: dict(source.kinds) for name, source in sources.items()} | saved.get("kinds", {})
        for name, known in kinds.items():
            types = {"number": float, "text": str}
            self._state(name).kinds = {signal: (types[kind], IN_STORE) for signal, kind in known.items()}
        for name, seq in {**self._first_seq, **saved.get("seq", {})}.items():
            self._state(name).next_seq = seq
        for name, (is_timed, is_untimed) in saved.get("timed", {}).items():
            self._state(name).is_timed, self._state(name).is_untimed = is_timed, is_untimed
        self.repeated, self.faults.count = saved.get("repeated", 0), saved.get("bad", 0)
        # Files that are not of events are met again, and counted then.
        skipped = saved.get("skipped", {}).items()
        self.skipped.update({reason: n for reason, n in skipped if reason != NOT_EVENTS})
        self.faults.first = [(Place(*place), column, text) for place, column, text in saved.get("faults", [])]

    def run(self, stdin: BinaryIO | None, progress: Progress | None) -> Imported:
        """Stage the events of all files from where the import stands, check and commit them."""
        try:
            total, before = sum(item.size for item in self._files), 0
            for number, item in enumerate(self._files):
                self._done += [0] * (number + 1 - len(self._done))
                start = before

                def report(within: int, start: int = start) -> None:
                    if progress is not None:
                        progress(start + within, total)

                self._read_file(number, item, stdin, report)
                before += item.size
            self._flush()
            self._check_all()
            return self._finish()
        except (BadEvents, Clashes):
            self._store.drop_import(self._import)
            raise
        except KeyboardInterrupt:
            if self._has_stdin:
                self._store.drop_import(self._import)  # a pipe cannot be read again
            raise

    @property
    def _has_stdin(self) -> bool:
        return any(item.path == STDIN for item in self._files)

    def _read_file(
        self, number: int, input_file: InputFile, stdin: BinaryIO | None, report: Callable[[int], None]
    ) -> None:
        place = Place(number, 0, input_file.name)
        try:
            with open_file(input_file, stdin, self._rules.limits) as file:
                records = records_of(place, input_file, file, self._rules, self) or ()
                done = self._done[number]
                for count, (line, value, column) in enumerate(records, 1):
                    if count <= done:
                        continue
                    self.add_record(Place(number, line, place.path), value, column)
                    self._done[number] = count
                    if len(self._events) >= self._options.batch:
                        self._flush()
                        report(file.handle.tell() if file.handle.seekable() else 0)
        except (OSError, Unreadable) as error:
            is_skippable = not (input_file.named or self._done[number])
            self.add_unread(place, unread_reason(error), is_skippable=is_skippable)

    def add(self, place: Place, line: Mapping[str, Any]) -> None:
        """Make an event of a line, under the name its source has in the store."""
        self._per_file[place.file] += 1
        source = line.get("source")
        if isinstance(source, str) and source:
            line = {**line, "source": self._source_name(source)}
        super().add(place, line)

    def _source_name(self, source: str) -> str:
        return source if self._keys is None else private_source(source, self._keys)

    def _flush(self) -> None:
        """Stage the events in memory, with how far this came, in one commit."""
        skip, batch = self._options.skip_bad, []
        if not self._doomed:
            batch = [self._staged(*pair) for pair in zip(self._events, self._places, strict=True)]
        self._events, self._places = [], []
        for state in self._sources.values():
            state.by_id.clear()
        # After a bad line nothing is imported, but the rest is read to list every bad line.
        self._doomed = self._doomed or (bool(self.faults.count) and not skip)
        try:
            self._import, clashes = self._store.stage(
                self._import,
                [] if self._doomed else batch,
                self._saved_state(),
                keep_text=self._options.keep_text,
                skip_clashes=skip,
                received_at=self._at,
            )
        except Clashes as error:
            self._doomed, clashes = True, error.clashes
        for clash in clashes:
            self.add_fault(self._place(clash.file, clash.line), self._clash_message(clash))

    def _staged(self, event: Event, place: Place) -> Staged:
        measured = self._measure(event) if self._measure else ()
        if self._keys is not None:
            event = private_event(event, self._keys)
        return Staged(event, place.file, place.line, measured)

    def _saved_state(self) -> dict[str, Any]:
        # A fault may contain a name, which a private store must not.
        faults = [] if self._keys is not None else self.faults.first
        return {
            "next_seq": self._first_seq,
            "done": self._done,
            "seq": {name: source.next_seq for name, source in self._sources.items()},
            "timed": {name: (source.is_timed, source.is_untimed) for name, source in self._sources.items()},
            "kinds": self._kinds(),
            "repeated": self.repeated,
            "bad": self.faults.count,
            "skipped": dict(self.skipped),
            "per_file": dict(self._per_file),
            "faults": [(tuple(place), column, text) for place, column, text in faults],
        }

    def _kinds(self) -> dict[str, dict[str, str]]:
        """Source to signal to 'number' or 'text'."""
        return {
            name: {
                signal: "number" if kind is float else "text" for signal, (kind, _) in source.kinds.items()
            }
            for name, source in self._sources.items()
        }

    def _place(self, file: int, line: int) -> Place:
        return Place(file, line, self._files[file].name)

    def _clash_message(self, clash: Clash) -> str:
        """Where an id has been seen with other content: in one of the files, or in the store."""
        other = clash.other
        if other.startswith("at "):
            file, _, line = other.removeprefix("at ").partition(":")
            other = f"at {self._files[int(file)].name}:{line}"
        return f"the id {clash.id!r:.60} has other content {other}"

    def _check_all(self) -> None:
        """Raise BadEvents where not everything that was read can be imported."""
        for name in self.mixed_sources():
            count, places = self._store.staged_untimed(self._import, name, drop=self._options.skip_bad)
            for file, line in places:
                self.add_fault(self._place(file, line), NO_TIME)
            self.faults.count += count - len(places)
        if self.faults.count and not self._options.skip_bad:
            faults = self.faults.as_tuple()
            raise BadEvents(faults, more=self.faults.count - len(faults))
        stored = self._store.sources()
        for name, source in self._sources.items():
            if not source.is_untimed or source.is_timed or (name in stored and stored[name].timed):
                continue
            if (stored[name].next_seq if name in stored else 0) != self._first_seq.get(name, 0):
                raise BadEvents(f"the source {name!r} has no times, and grew meanwhile; run the import again")

    def _finish(self) -> Imported:
        files = {} if self._has_stdin else {key: self._per_file[n] for n, key in enumerate(self._hashes)}
        try:
            done = self._store.finish_import(
                self._import,
                self._kinds(),
                files=files,
                options=self._key,
                at=self._at,
                skip_clashes=self._options.skip_bad,
            )
        except Clashes as error:
            raise BadEvents(
                [
                    Fault(self._files[clash.file].name, clash.line, 0, self._clash_message(clash))
                    for clash in error.clashes
                ]
            ) from None
        for clash in done.clashes:
            self.add_fault(self._place(clash.file, clash.line), self._clash_message(clash))
        return Imported(
            self._store.url,
            done.added,
            done.repeated + self.repeated,
            len(self._files),
            resumed_after=self._resumed,
            bad=self.faults.count,
            faults=self.faults.as_tuple(),
            skipped=self.left_out(),
            not_events=tuple(self.not_events),
            strays=dict(self.strays),
        )
