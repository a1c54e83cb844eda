"""The Store protocol and its records.

Times are arguments; nothing here reads the clock. The records can be imported without SQLAlchemy.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Annotated, Any, NamedTuple, Protocol

from ..errors import Conflict
from ..fields import Count, Name, RecordStruct, one_of
from ..ingest.batch import EventSequence
from ..models import Detection, Event, Reading, Verdict, moment
from ..models.record import Record
from ..models.slotted import dataclass, field
from ..risk.verdicts import Counts, Item, Slot

Who = tuple[str, str]
"""A subject: (source, name)."""
Place = tuple[int, int]
"""(file, line) of something staged."""
TALKS = "conversation"
"""The source of turns that `Conversation` follows, of which no event is stored."""


class Clash(NamedTuple):
    """An event whose id is taken by an event with other content; `other` says where that is."""

    id: str
    file: int
    line: int
    other: str


class Clashes(Conflict):
    """Ids with two contents. Nothing of their batch is stored."""

    def __init__(self, clashes: Iterable[Clash]) -> None:
        self.clashes = tuple(clashes)
        super().__init__(
            "; ".join(f"the id {item.id!r:.60} has other content {item.other}" for item in self.clashes)
        )


class Added(NamedTuple):
    """How many events are new in the store, and how many it had already with the same content."""

    added: int
    repeated: int
    clashes: tuple[Clash, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A source. `next_seq` follows the last sequence number; `kinds`: signal -> number or text."""

    name: str
    timed: bool
    next_seq: int
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Import:
    """An unfinished import. `state` is what the last batch left to continue from."""

    number: int
    key: str
    staged: int
    repeated: int
    state: Mapping[str, Any]


class Staged(NamedTuple):
    """An event to import: where it was read, and what was measured before its text is dropped."""

    event: Event
    file: int
    line: int
    measured: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """A subject without its events. `changed` grows with every change."""

    source: str
    name: str
    events: int
    first_at: datetime
    last_at: datetime
    changed: int

    @property
    def who(self) -> Who:
        return (self.source, self.name)


class SweptDetection(NamedTuple):
    """A detection of a sweep. `part`: only a combination needs its pattern."""

    detection: Detection
    part: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a detection: new, risen, closed, withdrawn, superseded or found again."""

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


class SourceRow(RecordStruct):
    """A source of events, and whether its events have times."""

    name: str
    timed: bool


class StoreRecord(RecordStruct):
    """What is in a store."""

    RECORD = "store"

    store: str
    schema: Count
    bytes: Count
    events: Count
    subjects: Count
    readings: Count
    detections: Count
    verdicts: Count
    runner_states: Count
    first_at: datetime | None
    last_at: datetime | None
    sources: list[SourceRow]
    unfinished_imports: list[Count]
    last_sweep: datetime | None


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


@dataclass(frozen=True, slots=True)
class Try:
    """An attempt to learn from verdicts, and its result (`record`).

    `version` is the pattern's, `data` a hash of the verdicts that were used. The store sets `key`.
    """

    at: datetime
    pattern: str
    version: str
    data: str
    record: Mapping[str, Any]
    key: int = 0


@dataclass(frozen=True, slots=True)
class Purged(Record):
    """What was removed from a store for good.

    `states` are of conversations: where each stood, and what was remembered across them. Where there is a
    `placeholder`, the rows that mention the id have that instead now.
    """

    RECORD = "purge"

    events: Count
    detections: Count
    clean: bool
    """False: another program keeps copies in its files still."""
    states: Count = 0
    mentions: Mapping[str, Count] = field(default_factory=dict)
    """Rows of others that have the id of the subject, or had it before, by kind."""
    placeholder: str | None = None
    """What --redact put in place of the id."""


class SavedState(RecordStruct):
    """What a store keeps of a subject's conversations."""

    RECORD = "kept_state"

    subject: Name
    name: Annotated[str, one_of("conversation", "conversation_memory")]
    key: Name
    saved_at: datetime
    state: dict[str, Any] | list[Any]


class StateRow(NamedTuple):
    """A state that belongs to a subject."""

    name: str
    key: str
    saved_us: int
    state: bytes

    def to_dict(self, subject: str) -> dict[str, object]:
        """The JSON form."""
        return SavedState(
            subject=subject,
            name=self.name,
            key=self.key,
            saved_at=moment(self.saved_us),
            state=json.loads(self.state),
        ).to_dict()


class LookRow(NamedTuple):
    """A line of the audit. `person` is None where no person was named, or after their removal."""

    at_us: int
    what: str
    person: str | None
    who: str
    why: str

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        from ..usage.records import UsageLook

        look = UsageLook(
            at=moment(self.at_us), what=self.what, person=self.person, who=self.who, why=self.why
        )
        return look.to_dict()


class Store(Protocol):
    """What a method has written when it returns survives the end of the process."""

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
        with_text: bool = False,
    ) -> Iterator[Event]: ...
    def columns(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        mates: bool = False,
        without: Collection[str] = (),
    ) -> EventSequence: ...
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
    def save_sweep(
        self,
        selection: str,
        versions: str,
        as_of: datetime,
        *,
        detections: Sequence[tuple[str, SweptDetection]] = (),
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
    def unreported(self) -> list[Change]: ...
    def mark_reported(self, changes: Iterable[int]) -> None: ...
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
    def add_try(self, item: Try) -> int: ...
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
