"""Store: what every store can do. Times are arguments; nothing here reads the clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol

from ..models import Detection, Event, Reading, Verdict
from ..risk.verdicts import Counts, Item, Slot
from .kept import (
    Added,
    Change,
    Clash,
    Clashes,
    Found,
    Held,
    Import,
    Info,
    LookRow,
    Place,
    Purged,
    Source,
    Staged,
    StateRow,
    SubjectRow,
    Swept,
    Try,
    Who,
)

__all__ = [
    "Added",
    "Change",
    "Clash",
    "Clashes",
    "Found",
    "Held",
    "Import",
    "Info",
    "LookRow",
    "Place",
    "Purged",
    "Source",
    "Staged",
    "StateRow",
    "Store",
    "SubjectRow",
    "Swept",
    "Try",
    "Who",
]


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
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        ordered: bool = True,
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
    def reset_sweeps(self, after: datetime) -> int: ...
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

    # detections, verdicts on them, and what was learned from these
    def detections(
        self,
        *,
        subjects: Iterable[Who] | None = None,
        sources: Iterable[str] | None = None,
        patterns: Iterable[str] | None = None,
        states: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        parts: bool = True,
    ) -> list[Detection]: ...
    def untold(self) -> list[Change]: ...
    def mark_told(self, changes: Iterable[int]) -> None: ...
    def history(self, detection: str) -> list[dict[str, Any]]: ...
    def add_verdict(self, verdict: Verdict) -> None: ...
    def add_verdicts(self, verdicts: Sequence[Verdict]) -> None: ...
    def verdicts(self, detection: str | None = None) -> list[Verdict]: ...
    def settle_verdicts(self, before: datetime) -> int: ...
    def settled(self, verdicts: Iterable[Verdict]) -> list[Verdict]: ...
    def has_verdicts(self) -> bool: ...
    def settled_detections(self) -> frozenset[str]: ...
    def settled_verdicts(self) -> dict[str, str]: ...
    def verdict_counts(self) -> dict[Slot, Counts]: ...
    def silence_ends(self) -> dict[Item, datetime]: ...
    def add_try(self, one: Try) -> int: ...
    def tries(self, pattern: str | None = None) -> list[Try]: ...

    # states of runners
    def save_state(
        self, name: str, key: str, state: bytes | None, at: datetime, *, subject: str | None = None
    ) -> None: ...
    def load_state(self, name: str, key: str) -> bytes | None: ...
    def states_of(self, subject: str) -> list[StateRow]: ...

    # the whole
    def lock(self, name: str, at: datetime) -> Held: ...
    def beat(self, held: Held, at: datetime) -> None: ...
    def unlock(self, held: Held) -> None: ...
    def purge(
        self, *, subject: Who | str | None = None, before: datetime | None = None, redact: bool = False
    ) -> Purged: ...
    def purged_before(self) -> int | None: ...
    def info(self) -> Info: ...

    # pseudonyms
    def private(self) -> int | None: ...
    def private_salt(self) -> int | None: ...
    def make_private(self, check: int, salt: int | None = None) -> None: ...
    def add_looks(self, looks: Iterable[LookRow]) -> None: ...
    def looks(self, person: str | None = None) -> list[LookRow]: ...
