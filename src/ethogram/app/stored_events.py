"""Events of a store, and private stores: pseudonyms instead of names, no texts, an audit of every access."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from .. import registry
from ..errors import BadUsage
from ..ingest import Batch, OnDisk
from ..ingest.spill import EventsOnDisk
from ..language.program import Program
from ..models import Detection, Event
from ..models.mute import Mute
from ..models.roles import SERVICE_ROLES
from ..signals import plan
from ..signals.timing import is_zone
from ..store.records import Store, SubjectRow
from ..usage.audit import check_words
from ..usage.pseudonym import Keys, Pseudonym, find_keys, name_of
from ..usage.records import UsageLook
from ..usage.store_keys import checked_keys, make_private
from .mute import ask_for_facts, evidence_events, muted_by
from .readings import needed

if TYPE_CHECKING:
    from .importing import Imported, Options


MOST_EVENTS = 20_000
MOST_SUBJECTS = 10_000
"""Events and subjects in one chunk: that much is in memory at once."""
IN_MEMORY = 1500
"""Bytes of an event from a store, about."""
IN_BUCKET = 16_000
"""Events in a bucket, about."""
ROLES = SERVICE_ROLES | {"user", "human", "agent"}
"""Roles that do not identify a person; others are not stored."""
SOURCE = "input"
"""The default name of a source."""


def gather(
    store: Store,
    programs: Iterable[Program],
    *,
    memory: int,
    imported: Imported | None = None,
    scorers: Mapping[str, str] | None = None,
) -> Batch | OnDisk:
    """All events of a store, with the counts of an import into it: in memory, or on disk if too many.

    Readings by the wanted `scorers` come before others. The caller closes what is on disk.
    """
    wanted: dict[str, Any] = {"scorers": scorers or {}}
    without, subjects = not_read(programs), store.subjects()
    count = sum(subject.events for subject in subjects)
    timed = all(source.timed for source in store.sources().values())
    counts: dict[str, Any] = {}
    if imported is not None:
        names = ("repeated", "files", "skipped", "not_events", "strays")
        counts = {name: getattr(imported, name) for name in names}
        counts |= {"bad": imported.faults, "bad_count": imported.bad}
    if count * IN_MEMORY <= memory:
        return Batch(store.columns(without=without, **wanted), timed=timed, **counts)
    from .out_of_core import in_buckets

    pieces = (
        store.columns([row.who for row in chunk], without=without, **wanted) for chunk in chunks(subjects)
    )
    events = chain.from_iterable(pieces)
    buckets = in_buckets(events, min(200, max(8, count // IN_BUCKET)))
    return OnDisk(EventsOnDisk(buckets), timed=timed, **counts)


def chunks(subjects: Sequence[SubjectRow]) -> Iterator[list[SubjectRow]]:
    """Subjects in pieces of a bounded number of events; one with more than that is a piece by itself."""
    piece: list[SubjectRow] = []
    total = 0
    for subject in subjects:
        if piece and (total + subject.events > MOST_EVENTS or len(piece) >= MOST_SUBJECTS):
            yield piece
            piece, total = [], 0
        piece.append(subject)
        total += subject.events
    if piece:
        yield piece


def not_read(programs: Iterable[Program]) -> list[str]:
    """Signals of ours that no program reads, so that no detection names their scorers."""
    wanted = {item.name for item in plan(needed(programs))}
    return [name for name in registry.signals.names() if name not in wanted]


def mutes_in(
    entries: Sequence[Mute], detections: Sequence[Detection], store: Store, now: datetime
) -> Callable[[Detection], Mute | None]:
    """A function that returns the entry that mutes a detection of a store at this moment."""
    events: Mapping[tuple[str, str], Event] = {}
    if detections and ask_for_facts(entries):
        whose = {(item.source, item.subject) for item in detections}
        events = evidence_events(detections, store.events(whose))
    return lambda detection: muted_by(entries, detection, events, now)


def private_event(event: Event, keys: Keys) -> Event:
    """The event with pseudonyms for names and ids, and without texts; numbers, roles and zones stay."""

    def named(kind: str, text: str | None) -> str | None:
        return None if text is None else keys.final(keys.base(kind, text)).hex()

    attributes = {name: value for name, value in event.attributes.items() if may_stay(name, value)}
    if event.text is not None:
        attributes.setdefault("length", len(event.text))
    return replace(
        event,
        id=named("event", event.id) or "",
        subject=named("person", event.subject) or "",
        target=named("person", event.target),
        reply_to=named("event", event.reply_to),
        thread=named("thread", event.thread),
        session=named("session", event.session),
        text=None,
        attributes=attributes,
        readings={name: value for name, value in event.readings.items() if isinstance(value, int | float)},
        scorers={},
    )


def may_stay(name: str, value: object) -> bool:
    """Whether an attribute does not identify a person.

    >>> may_stay("role", "user"), may_stay("role", "ann's mother"), may_stay("length", 4)
    (True, False, True)
    """
    if isinstance(value, str):
        return (name == "role" and value in ROLES) or (name == "time_zone" and is_zone(value))
    return isinstance(value, int | float)


def private_source(source: str, keys: Keys) -> str:
    """The pseudonym of a source, which may be named after a person; the default name stays."""
    return source if source == SOURCE else keys.final(keys.base("source", source)).hex()


def check_private(store: Store, options: Options) -> Options:
    """The options with the keys of this store, which becomes private where it is empty.

    BadUsage where names and pseudonyms would be mixed, or texts stored.
    """
    keys = options.pseudonyms
    if keys is None:
        if store.private() is not None:
            raise BadUsage("this store keeps people under other names; give the key with --pseudonyms FILE")
        return options
    if options.keep_text:
        raise BadUsage("--pseudonyms and --keep-text do not go together: texts say who people are")
    make_private(store, keys)
    return replace(options, pseudonyms=checked_keys(store, keys))


def keys_of(store: Store, key: str | None) -> Keys | None:
    """The keys of a private store, None of another; BadUsage where there are none, or another store's."""
    if store.private() is None:
        return None
    return checked_keys(store, find_keys(key or None, has_store=True)[0])


def stored_name(store: Store, subject: str, key: str | None) -> str:
    """The name of a subject in a store: the subject itself, unless the store is private.

    Then a key is needed, unless the subject is a Pseudonym; BadUsage where it is another store's.
    """
    keys = keys_of(store, key)
    if keys is None:
        return str(subject)
    who = subject if isinstance(subject, Pseudonym) else keys.base("person", subject)
    return name_of(keys, who).hex()


def stored_source(store: Store, source: str, key: str | None) -> str:
    """The name of a source in a store; '' for ''."""
    keys = keys_of(store, key) if source else None
    return source if keys is None or source in store.sources() else private_source(source, keys)


def stored_event(store: Store, event: str, key: str | None) -> str:
    """The id of an event in a store: the id itself, unless the store is private."""
    keys = keys_of(store, key) if event else None
    return event if keys is None else keys.final(keys.base("event", event)).hex()


def note_looks(
    store: Store,
    what: str,
    people: Iterable[str | None],
    *,
    at: datetime,
    who: str,
    why: str = "",
    subject: str | None = None,
) -> None:
    """Write audit lines, where the store is private; `subject` is the id that no word may contain."""
    if store.private() is not None:
        words, by = check_words(why, "why", subject), check_words(who, "who", subject)
        store.add_looks([UsageLook(at, what, person, by, words) for person in people])
