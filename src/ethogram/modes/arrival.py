"""Arrival: what comes live becomes an event, once, in its place in the order."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ..errors import BadEvents, BadUsage, Conflict, Fault
from ..ingest import Limits
from ..ingest.complete import content_of
from ..ingest.errors import BadLine, shown
from ..ingest.event_line import fields_of
from ..ingest.future import future_message
from ..ingest.order import Buffer, flush, release
from ..ingest.readings import Rules
from ..library.vocabulary import known_ranges
from ..records import Event, content_hash, default_id, micros, moment

REMEMBERED = 2_000
"""So many of a source's newest ids are known again, and whose events they were."""

Known = Event | tuple[str, str]
"""An event, or the subject of one and the hash of its content."""


class Arrivals:
    """One source: its numbering, its newest ids, and the events that still wait for earlier ones."""

    __slots__ = ("buffer", "known", "last", "next_seq", "old")

    def __init__(self) -> None:
        self.next_seq = 0
        # Two halves: when the newer is full, the older is dropped whole, which costs nothing per event.
        self.known: dict[str, Known] = {}
        self.old: dict[str, Known] = {}
        self.buffer = Buffer()
        self.last: tuple[datetime, int, str] | None = None

    def recall(self, name: str) -> Known | None:
        """What is known of an id, if it is among the newest."""
        return self.known.get(name) or self.old.get(name)

    def remember(self, event: Event) -> None:
        """Know an event again."""
        if len(self.known) >= REMEMBERED:
            self.old, self.known = self.known, {}
        self.known[event.id] = event
        if event.seq >= self.next_seq:
            self.next_seq = event.seq + 1

    def whose(self, name: str) -> str | None:
        """The subject of an event that is known."""
        known = self.recall(name)
        return known.subject if isinstance(known, Event) else known[0] if known is not None else None

    def check_repeat(self, event: Event) -> None:
        """Raise Conflict where an event whose id is known said something else when it came before."""
        known = self.recall(event.id)
        said = hash_of(known) if isinstance(known, Event) else known and known[1]
        if said != hash_of(event):
            raise Conflict(f"the event id {shown(event.id)} came twice with different content")

    def let_go(self, came: Event | datetime, lateness: timedelta) -> tuple[Event, ...]:
        """The events that need not wait any longer, in order."""
        self.buffer, gone, _ = release(self.buffer, came, lateness)
        return gone

    def flush(self) -> tuple[Event, ...]:
        """Everything that still waits."""
        self.buffer, gone, _ = flush(self.buffer)
        return gone

    # Saving.

    def save(self) -> dict[str, Any]:
        """Everything as plain data."""
        known = (self.old | self.known).items()
        return {
            "next_seq": self.next_seq,
            "last": None if self.last is None else [micros(self.last[0]), *self.last[1:]],
            "known": [_known_to_json(name, one) for name, one in known][-REMEMBERED:],
            "newest": None if self.buffer.newest is None else micros(self.buffer.newest),
            "waiting": [event_to_json(event) for event in self.buffer.waiting],
        }

    @classmethod
    def load(cls, saved: Mapping[str, Any]) -> Arrivals:
        """What was saved."""
        one = cls()
        one.next_seq = saved["next_seq"]
        one.old = {name: (subject, said) for name, subject, said in saved["known"]}
        if saved["last"] is not None:
            us, seq, name = saved["last"]
            one.last = (moment(us), seq, name)
        waiting = tuple(event_from_json(data) for data in saved["waiting"])
        newest = None if saved["newest"] is None else moment(saved["newest"])
        one.buffer = Buffer(waiting, newest)
        return one


def _known_to_json(name: str, one: Known) -> list[str]:
    return [name, one.subject, hash_of(one)] if isinstance(one, Event) else [name, *one]


def hash_of(event: Event) -> str:
    """A hash of what an event says, and of whether it has a time."""
    return f"{content_hash(event.to_dict())[:32]}{'' if event.timed else '-'}"


def event_from_line(
    line: Mapping[str, Any], source: str, arrivals: Mapping[str, Arrivals], rules: Rules, now: datetime
) -> Event:
    """The event that a dict describes. Without a time it is now, without a number the next one."""
    try:
        fields = fields_of(line, rules)
    except BadLine as bad:
        raise BadEvents([Fault("event", 0, 0, str(bad))]) from None
    source = fields.setdefault("source", source)
    of_source = arrivals.get(source)
    seq = fields.setdefault("seq", of_source.next_seq if of_source else 0)
    known = of_source.recall(fields["id"]) if of_source and "id" in fields else None
    if "at" not in fields:
        # Told again without a time, an event keeps the time it was given first.
        again = known if isinstance(known, Event) else None
        fields["at"] = now if again is None else again.at
    if "id" not in fields:
        fields["id"] = default_id(source, seq, content_of(fields))
    return Event(**fields)


def in_future(at: datetime, latest: datetime) -> BadEvents:
    """What is wrong with an event that lies after the latest time allowed."""
    return BadEvents([Fault("event", 0, 0, future_message(at, latest))])


def rules_of(limits: Mapping[str, int], kinds: Mapping[str, str]) -> Rules:
    """What dicts are checked against."""
    return Rules(Limits(**limits), kinds, ranges=known_ranges())


def utc(at: datetime, what: str) -> datetime:
    """The moment in UTC; BadUsage where it has no zone."""
    if at.tzinfo is None:
        raise BadUsage(f"{what} needs a time zone: datetime(..., tzinfo=UTC)")
    return at.astimezone(UTC)


_TIMES = ("at", "received_at")


def event_to_json(event: Event) -> dict[str, Any]:
    """The whole event as plain data, with what an event line leaves out."""
    out = {name: getattr(event, name) for name in Event.__dataclass_fields__}
    for name in ("attributes", "readings", "scorers", "widths"):
        out[name] = dict(out[name])
    return out | {name: None if out[name] is None else micros(out[name]) for name in _TIMES}


def event_from_json(data: Mapping[str, Any]) -> Event:
    """The reverse of `event_to_json`."""
    times = {name: None if data[name] is None else moment(data[name]) for name in _TIMES}
    return Event(**{**data, **times})
