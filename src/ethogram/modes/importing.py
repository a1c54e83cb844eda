"""Import: files of events into a store, all or nothing, and resumable where it was interrupted."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from ..config import Settings
from ..errors import BadEvents, Fault
from ..ingest import Limits
from ..ingest.collect import NO_TIME
from ..ingest.files import STDIN, Found, find
from ..ingest.future import latest_time
from ..ingest.readings import CATEGORY, NUMBER, Rules
from ..library.vocabulary import known_ranges, load_vocabulary
from ..records import stable_hash
from ..stores.protocol import Clash, Clashes, Source, Store
from ..usage.pseudonym import Keys
from .private import check_private
from .staging import BATCH, Progress, Reader
from .text_signals import TextSignals, text_signals

BOUNDS = frozenset({"ratio", "density", "blank", "bad"})
"""Limits that refuse a file and do not change what is read from one."""
FORMAT = 2
"""Counted up where the same file would be read into other events than before."""


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
    found, missing = find(paths)
    if missing:
        raise BadEvents([Fault(path, 0, 0, "no such file or folder") for path in missing])
    told = options_key(options, rules, settings.max_future)
    hashes = {one.path: file_hash(one, at) for one in found}
    known = store.known_files(told)
    new = [one for one in found if hashes[one.path] not in known]
    again = sum(known.get(hashes[one.path], 0) for one in found)
    if not new:
        return Imported(0, again, len(found), known=len(found))
    held = store.lock(f"import {stable_hash(told, [hashes[one.path] for one in new])[:16]}", at)
    try:
        run = _Run(store, options, rules, new, [hashes[one.path] for one in new], told, at)
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


def file_hash(found: Found, at: datetime) -> str:
    """SHA-256 of a file's bytes. Standard input is read once only, so it never is the same as before."""
    if found.path == STDIN:
        return stable_hash("stdin", os.getpid(), at)
    try:
        with open(found.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadEvents([Fault(found.name, 0, 0, f"cannot be read: {error.strerror or error}")]) from None


@dataclass(frozen=True, slots=True)
class _Run:
    """One import from its first batch, or from the one after the last that was kept, to its commit."""

    store: Store
    options: Options
    rules: Rules
    found: Sequence[Found]
    hashes: Sequence[str]
    told: str
    at: datetime

    def all(self, stdin: BinaryIO | None, signals: TextSignals | None, progress: Progress | None) -> Imported:
        sources = self.store.sources()
        begin = {"next_seq": {one.name: one.next_seq for one in sources.values() if not one.timed}}
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
            if any(one.path == STDIN for one in self.found):
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
        files = {} if any(one.path == STDIN for one in self.found) else files
        try:
            done = self.store.finish_import(
                reader.of, reader.kinds(), files=files, options=self.told, at=self.at, skip_clashes=skip
            )
        except Clashes as error:
            raise BadEvents(list(clash_faults(error.found, self.found))) from None
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


def clash_faults(clashes: Iterable[Clash], found: Sequence[Found]) -> Iterable[Fault]:
    """Faults that name both places where an id has been seen."""
    for one in clashes:
        other = one.other
        if other.startswith("at "):
            file, _, line = other.removeprefix("at ").partition(":")
            other = f"at {found[int(file)].name}:{line}"
        yield Fault(found[one.file].name, one.line, 0, f"the id {one.id!r:.60} has other content {other}")
