"""What goes into a store and comes out of it, beside events and detections."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from ..errors import Conflict
from ..models import Detection, Event, Reading, format_time, moment

Who = tuple[str, str]
"""A subject: (source, name)."""
Place = tuple[int, int]
"""(file, line) of something staged."""
TALKS = "conversation"
"""The source of turns that `Conversation` follows, of which no event is kept."""


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


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt to learn from verdicts, and what came of it (`record`).

    `version` is that of the pattern then in force, `data` stands for the verdicts that were looked at. `key`
    is given by the store.
    """

    at: datetime
    pattern: str
    version: str
    data: str
    record: Mapping[str, Any]
    key: int = 0


class Purged(NamedTuple):
    """What was removed for good. `clean` is false where another program kept old pages from going.

    `states` are of conversations: where each stood, and what was remembered across them. `mentions` counts
    the rows of others that have the id, by kind; where there is a `placeholder`, they have that instead now.
    """

    events: int
    detections: int
    clean: bool
    states: int = 0
    mentions: Mapping[str, int] = {}
    placeholder: str | None = None


class StateRow(NamedTuple):
    """A state that is a subject's own: what it is, of what, when it was saved, and itself."""

    name: str
    key: str
    saved_us: int
    state: bytes

    def to_dict(self, subject: str) -> dict[str, object]:
        """The JSON form. What was saved is JSON, since it is for somebody to read."""
        head = {"record": "kept_state", "subject": subject, "name": self.name, "key": self.key}
        return {**head, "saved_at": format_time(moment(self.saved_us)), "state": json.loads(self.state)}


class LookRow(NamedTuple):
    """One line of the audit. `person` is None where it was nobody in particular, or one removed since."""

    at_us: int
    what: str
    person: str | None
    who: str
    why: str

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        at = format_time(moment(self.at_us))
        return {"record": "usage_look", "at": at, **{name: getattr(self, name) for name in self._fields[1:]}}
