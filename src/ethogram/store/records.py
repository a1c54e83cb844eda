"""Records of a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ..errors import BadUsage, Conflict
from ..fields import Count, Name, RecordStruct, one_of
from ..models import Detection, Event, Reading
from ..models.record import Record
from ..models.slotted import dataclass, field

if TYPE_CHECKING:
    from .base import Store as Store
else:
    Store = Any  # which names these records

Who = tuple[str, str]
"""A subject: (source, name)."""
Place = tuple[int, int]
"""(file, line) of something staged."""
TALKS = "conversation"
LITELLM, PROXY = "litellm", "proxy"
"""The sources of turns: told by programs, by LiteLLM, and of what passed through a gateway."""
TALK_SOURCES = frozenset((TALKS, LITELLM, PROXY))
NO_SCORERS: Mapping[str, str] = {}
COUNTED = ("events", "subjects", "readings", "detections", "verdicts", "runner_states")
"""Tables whose rows are counted."""


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


class Locked(BadUsage):
    """Another process holds a lock."""


class Added(NamedTuple):
    """How many events are new in the store, and how many it had already with the same content.

    `again`: the lines of those it had, where events were added at once.
    """

    added: int
    repeated: int
    clashes: tuple[Clash, ...] = ()
    again: tuple[int, ...] = ()


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


class LinkRow(NamedTuple):
    """Events of a kind by one subject towards one target."""

    source: str
    subject: str
    target: str
    kind: str
    events: int
    first_at: datetime
    last_at: datetime


class ShownRow(NamedTuple):
    """An indicator that events of a subject show: on how many, since when, and the highest score."""

    source: str
    subject: str
    indicator: str
    events: int
    first_at: datetime
    score: float


class SharedRow(NamedTuple):
    """An event that has its target or text (`value`) in common with another subject's."""

    source: str
    value: str
    subject: str
    event: str
    at: datetime


class SweptDetection(NamedTuple):
    """A detection of a sweep. `part`: only combinations needed its pattern so far, nobody chose it."""

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


class Info(RecordStruct):
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
    """False: another program, or a full disk, kept copies from going; the next purge removes them."""
    states: Count = 0
    mentions: Mapping[str, Count] = field(default_factory=dict)
    """Rows of others that have the id of the subject, or had it before, by kind."""
    placeholder: str | None = None
    """What --redact put in place of the id."""


class SavedState(RecordStruct):
    """What a store keeps of a subject's conversations."""

    RECORD = "kept_state"

    subject: Name
    name: Annotated[str, one_of("conversation", "conversation_memory", "chat")]
    key: Name
    saved_at: datetime
    state: dict[str, Any] | list[Any]
