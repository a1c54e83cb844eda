"""Store: what every store can do. Times are arguments; nothing here reads the clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from ..errors import Conflict
from ..records import Detection, Event, Reading, Verdict

Who = tuple[str, str]
"""A subject: (source, name)."""
Place = tuple[int, int]
"""(file, line) of something staged."""


class Clash(NamedTuple):
    """An event whose id is taken by one with other content; `other` says by which."""

    id: str
    file: int
    line: int
    other: str


class Clashes(Conflict):
    """Ids that came with two contents. Nothing of the batch they were in is kept."""

    def __init__(self, found: Iterable[Clash]) -> None:
        self.found = tuple(found)
        super().__init__(
            "; ".join(f"the id {one.id!r:.60} has other content {one.other}" for one in self.found)
        )


class Added(NamedTuple):
    """How many events are new in the store, and how many it had already with the same content."""

    added: int
    repeated: int
    clashes: tuple[Clash, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """One source as the store knows it. `next_seq` is behind the last; `kinds`: signal -> number or text."""

    name: str
    timed: bool
    next_seq: int
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Import:
    """An import under way. `state` is what the last batch left for whoever goes on with it."""

    number: int
    key: str
    staged: int
    repeated: int
    state: Mapping[str, Any]


class Staged(NamedTuple):
    """An event on its way in: where it was read, and what was measured on it before its text went."""

    event: Event
    file: int
    line: int
    measured: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """What the store knows of a subject without reading its events. `changed` grows with every change."""

    source: str
    name: str
    events: int
    first_at: datetime
    last_at: datetime
    changed: int

    @property
    def who(self) -> Who:
        return (self.source, self.name)


class Found(NamedTuple):
    """A detection to keep. `part`: it was looked for only because a combination needs it."""

    detection: Detection
    part: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to a detection: new, risen, closed, withdrawn, superseded or found again."""

    key: int
    change: str
    as_of: datetime
    detection: Detection


@dataclass(frozen=True, slots=True)
class Swept:
    """How far a subject was swept. `due_us` is when a silence would begin if nothing came."""

    who: Who
    changed: int
    due_us: int | None


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that is held: only who has its token may write under it."""

    name: str
    token: str


@dataclass(frozen=True, slots=True)
class Info:
    """What is in a store."""

    url: str
    schema: int
    bytes: int
    counts: Mapping[str, int]
    sources: tuple[Source, ...]
    first_at: datetime | None
    last_at: datetime | None
    imports: tuple[Import, ...] = ()
    last_sweep: datetime | None = None


class Purged(NamedTuple):
    """What was removed for good. `clean` is false where another program kept old pages from going."""

    events: int
    detections: int
    clean: bool


class Store(Protocol):
    """Everything that is acknowledged by returning is kept, whatever becomes of the process."""

    def __init__(self, url: str, *, create: bool = False) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Store: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    # events
    def add(self, events: Sequence[Event], *, keep_text: bool = False) -> Added: ...
    def add_readings(self, event: tuple[str, str], readings: Iterable[Reading]) -> int: ...
    def events(
        self, subjects: Iterable[Who] | None = None, *, until: datetime | None = None
    ) -> Iterator[Event]: ...
    def thread_mates(self, subjects: Sequence[Who], until: datetime) -> list[Event]: ...
    def authors(self, source: str, ids: Iterable[str]) -> dict[str, str]: ...
    def sources(self) -> dict[str, Source]: ...

    # imports
    def imports(self) -> list[Import]: ...
    def begin_import(self, key: str, state: Mapping[str, Any], at: datetime) -> Import: ...
    def stage(
        self,
        of: Import,
        batch: Sequence[Staged],
        state: Mapping[str, Any],
        *,
        keep_text: bool = False,
        skip_clashes: bool = False,
        received_at: datetime | None = None,
    ) -> tuple[Import, tuple[Clash, ...]]: ...
    def finish_import(
        self,
        of: Import,
        kinds: Mapping[str, Mapping[str, str]],
        *,
        files: Mapping[str, int],
        options: str,
        at: datetime,
        skip_clashes: bool = False,
    ) -> Added: ...
    def drop_import(self, of: Import) -> None: ...
    def staged_untimed(self, of: Import, source: str, *, drop: bool) -> tuple[int, list[Place]]: ...
    def known_files(self, options: str) -> dict[str, int]: ...

    # subjects and sweeps
    def subjects(self, name: str | None = None, source: str | None = None) -> list[SubjectRow]: ...
    def touched(
        self,
        selection: str,
        versions: str,
        as_of: datetime,
        *,
        since: datetime | None = None,
        min_events: int = 1,
        threads: bool = False,
    ) -> list[SubjectRow]: ...
    def last_sweep(self) -> datetime | None: ...
    def keep_sweep(
        self,
        selection: str,
        versions: str,
        as_of: datetime,
        *,
        found: Sequence[tuple[str, Found]] = (),
        swept: Sequence[Swept] = (),
        lock: Held | None = None,
        at: datetime | None = None,
    ) -> None: ...
    def close_sweep(self, selection: str, versions: str, as_of: datetime, at: datetime) -> None: ...

    # detections and verdicts
    def detections(
        self,
        *,
        subjects: Iterable[Who] | None = None,
        sources: Iterable[str] | None = None,
        patterns: Iterable[str] | None = None,
        states: Iterable[str] | None = None,
        parts: bool = True,
    ) -> list[Detection]: ...
    def untold(self) -> list[Change]: ...
    def mark_told(self, changes: Iterable[int]) -> None: ...
    def history(self, detection: str) -> list[dict[str, Any]]: ...
    def add_verdict(self, verdict: Verdict) -> None: ...
    def verdicts(self, detection: str | None = None) -> list[Verdict]: ...

    # states of runners
    def save_state(self, name: str, key: str, state: bytes | None, at: datetime) -> None: ...
    def load_state(self, name: str, key: str) -> bytes | None: ...

    # the whole
    def lock(self, name: str, at: datetime) -> Held: ...
    def beat(self, held: Held, at: datetime) -> None: ...
    def unlock(self, held: Held) -> None: ...
    def purge(self, *, subject: Who | str | None = None, before: datetime | None = None) -> Purged: ...
    def purged_before(self) -> int | None: ...
    def info(self) -> Info: ...
