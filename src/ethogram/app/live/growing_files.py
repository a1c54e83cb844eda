"""Follow growing files: look again when they change, and report what changed in the detections.

Every look analyses the files as they are, so that the last one finds what `analyze` finds. Lines that are
still being written wait for the next look.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from errno import EACCES
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...config import Settings
from ...errors import BadEvents, Fault
from ...ingest import Batch, Limits, OnDisk
from ...ingest.collector import latest_time
from ...ingest.reader import InputFile, find_files, gather_events
from ...ingest.streams import GZIP
from ...models import Detection, micros
from ...models.mute import Mute
from ...models.slotted import replace
from ...patterns.catalogue import known_ranges
from ...patterns.library import Library
from ...store.records import Store
from ..analyze import analyze_gathered
from ..changes import compare
from ..mute import mute
from ..run_record import Run, RunEpisode
from ..runs import run_report

if TYPE_CHECKING:
    from ..evaluation.scoring import Evaluate

HEAD = 4096
"""Bytes at the start of a file by which it is known again."""
BLOCK = 65_536
MOST_OLDER = 20
"""Rotated files that are still read; the newest."""


class Stamp(NamedTuple):
    """What tells whether a file is the same, and whether it has changed."""

    device: int
    inode: int
    size: int
    modified: int
    head: bytes
    """Digest of its first bytes."""
    start: int
    """How many bytes that are."""


class Look(NamedTuple):
    """What changed since the look before; '' stands for a detection that only grew and is not reported."""

    changes: list[tuple[str, Detection]]
    detections: list[Detection]
    events: int
    bad: int
    skipped: Mapping[str, int]
    """What was left out of the files, by what it was."""
    not_events: Sequence[str]
    """The names of the first files that are not events."""
    untimed: frozenset[str]
    """Sources without times."""
    episodes: Mapping[str, tuple[RunEpisode, Run]]
    """Where in a run the changed detections lie, by their ids."""


class Follower:
    """Looks at files and folders again and again.

    With a store, what was reported is remembered there, and not reported again by the next one. A file that
    was rotated is still read under its new name in the same folder. What was found in content that is gone
    stays as it was reported. `scoring` makes what scores messages, from the dollars spent so far.
    """

    def __init__(
        self,
        paths: Sequence[str],
        library: Library,
        settings: Settings,
        *,
        store: Store | None = None,
        skip_bad: bool = False,
        mutes: Sequence[Mute] = (),
        scoring: Callable[[float], Evaluate | None] | None = None,
    ) -> None:
        self._paths, self._library, self._settings = list(paths), library, settings
        self._scoring, self._spent = scoring, 0.0
        self._store, self._skip_bad, self._mutes = store, skip_bad, tuple(mutes)
        self._stamps: dict[str, Stamp] = {}
        self._older: dict[tuple[int, int], str] = {}
        self._told: dict[str, Detection] = {}
        self._newest: datetime | None = None
        self._lost_before: int | None = None
        # BadEvents where one is missing or may not be read from the start.
        denied = [file.name for file in find_files(self._paths) if not os.access(file.path, os.R_OK)]
        if denied:
            why = f"cannot be read: {os.strerror(EACCES)}"
            raise BadEvents([Fault(name, 0, 0, why) for name in denied])

    def has_changed(self) -> bool:
        """Whether a file has changed, come or gone since the last look."""
        status: dict[str, tuple[int, ...]] = {}
        for file in self._files():
            try:
                status[file.path] = _status(os.stat(file.path))  # noqa: PTH116 (as fstat below)
            except OSError:
                continue
        return status != {path: stamp[:4] for path, stamp in self._stamps.items()}

    def look(self, now: datetime, *, whole: bool = False) -> Look:
        """Analyse the files as they are; `whole` reads a last line without an end too.

        BadEvents where a line is bad, unless `skip_bad`. Call `mark` once the changes are reported.
        """
        gathered = self._gathered(self._note_rotation(), now, whole=whole)
        try:
            evaluate = None if self._scoring is None else self._scoring(self._spent)
            analysis = analyze_gathered(gathered, self._library, settings=self._settings, evaluate=evaluate)
            self._spent += 0.0 if analysis.evaluated is None else analysis.evaluated["spent"]
            analysis = mute(analysis, self._mutes, gathered.events, now=now)
            found = analysis.listed()
            changes = self._changes(found)
            changed = [item for change, item in changes if change]
            runs = run_report(changed, gathered.events, settings=self._settings) if changed else ()
        finally:
            if isinstance(gathered, OnDisk):
                gathered.close()
        if analysis.as_of is not None:
            self._newest = max(self._newest or analysis.as_of, analysis.as_of)
        episodes = {item.detection: (item, run) for run in runs for item in run.episodes}
        skipped = gathered.skipped, gathered.not_events
        return Look(changes, found, analysis.events, gathered.bad_count, *skipped, analysis.untimed, episodes)

    def _changes(self, found: Sequence[Detection]) -> list[tuple[str, Detection]]:
        before = dict(self._told)
        if self._store is not None:
            stored = self._store.detections(ids={item.id for item in found} | set(before), parts=False)
            before |= {item.id: item for item in stored}
        return list(compare(before.values(), found, self._library.programs, self._lost_before))

    def mark(self, look: Look, at: datetime) -> None:
        """Remember what was reported."""
        self._told = {item.id: item for item in look.detections}
        if self._store is not None and look.changes:
            self._store.save_found(look.changes, at, reported=True)

    def _files(self) -> list[InputFile]:
        """The files in the order in which they are read: rotated ones first."""
        files: list[InputFile] = []
        for path in self._paths:
            if Path(path).exists():  # not between a rotation and the next line
                files += find_files([path])
        unique = {os.path.realpath(file.path): file for file in sorted(files, key=lambda file: file.path)}
        older = {os.path.realpath(path): path for path in self._older.values() if Path(path).exists()}
        first = [InputFile(path, named=True) for path in older.values()]
        return [*first, *(file for real, file in unique.items() if real not in older)]

    def _note_rotation(self) -> list[InputFile]:
        """The files, after finding out where the content went of those that are others now."""
        now = _stamps(self._files(), self._stamps)
        for path, old in self._stamps.items():
            new, own = now.get(path), (old.device, old.inode)
            is_same = new is not None and (new.device, new.inode) == own
            if is_same and new is not None and new.size >= old.size and new.head == old.head:
                continue
            moved = None if is_same else _moved_to(path, old)
            if moved is not None:
                self._older[own] = moved
            else:
                self._older.pop(own, None)
                self._lose()
        while len(self._older) > MOST_OLDER:
            del self._older[next(iter(self._older))]
            self._lose()
        files = self._files()
        self._stamps = _stamps(files, {})
        return [
            replace(file, size=self._stamps[file.path].size) for file in files if file.path in self._stamps
        ]

    def _lose(self) -> None:
        """Note that content is gone: what was found in it stays as it was."""
        if self._newest is not None:
            self._lost_before = micros(self._newest) + 1

    def _gathered(self, files: Sequence[InputFile], now: datetime, *, whole: bool) -> Batch | OnDisk:
        """The events of whole lines; of the whole files where lines make no sense, as in a document."""
        full = [replace(file, end=None if whole else file.size) for file in files]
        cut = full if whole else [replace(file, end=_whole_lines(file)) for file in files]
        if cut == full:
            return self._read(full, now)
        try:
            part = self._read(cut, now)
            if not part.bad_count:
                return part
        except BadEvents:
            return self._read(full, now)
        everything = self._read(full, now)
        better, worse = (everything, part) if everything.bad_count < part.bad_count else (part, everything)
        if isinstance(worse, OnDisk):
            worse.close()
        return better

    def _read(self, files: Sequence[InputFile], now: datetime) -> Batch | OnDisk:
        settings = self._settings
        return gather_events(
            [],
            settings.memory,
            files=files,
            source=settings.source,
            skip_bad=self._skip_bad,
            kinds=self._library.kinds,
            ranges=known_ranges(),
            limits=Limits(**settings.limits),
            latest=latest_time(now, settings.max_future),
        )


def _status(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _stamps(files: Sequence[InputFile], known: Mapping[str, Stamp]) -> dict[str, Stamp]:
    """The stamps of files by path; the head of each as far as it was read for the known one."""
    stamps: dict[str, Stamp] = {}
    for file in files:
        before = known.get(file.path)
        try:
            if not os.access(file.path, os.R_OK):
                status, start, first = os.stat(file.path), 0, b""  # noqa: PTH116 (the reader says what is wrong)
            else:
                with open(file.path, "rb") as content:
                    status = os.fstat(content.fileno())
                    start = min(HEAD, status.st_size) if before is None else before.start
                    first = content.read(start)
        except OSError:
            continue  # gone since it was found
        head = hashlib.blake2b(first, digest_size=16).digest()
        stamps[file.path] = Stamp(*_status(status), head, start)
    return stamps


def _moved_to(path: str, old: Stamp) -> str | None:
    """Where a file is now that was at a path: another name in the same folder."""
    folder = os.path.dirname(path) or "."  # noqa: PTH120 (a Path would change './a' to 'a')
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if (status.st_dev, status.st_ino) == (old.device, old.inode) and entry.is_file():
                    return os.path.join(os.path.dirname(path), entry.name)  # noqa: PTH118, PTH120
    except OSError:
        return None
    return None


def _whole_lines(file: InputFile) -> int:
    """How many bytes are whole lines; all, where the last one is a whole JSON value without an end."""
    size = file.size
    if not os.access(file.path, os.R_OK):
        return size
    with open(file.path, "rb") as content:
        if content.read(2) == GZIP or file.path.endswith(".parquet"):
            return size
        at, tail = size, b""
        while at > 0 and b"\n" not in tail:
            start = max(0, at - BLOCK)
            content.seek(start)
            tail = content.read(at - start) + tail
            at = start
    last = tail.rpartition(b"\n")[2]
    try:
        is_whole = not last.strip() or isinstance(json.loads(last), dict | list)
    except (ValueError, RecursionError):
        is_whole = False
    return size if is_whole else size - len(last)
