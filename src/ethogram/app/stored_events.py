"""Events from a store, pseudonymised where the store is private."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .. import registry
from ..errors import BadUsage
from ..ingest import Batch, OnDisk
from ..ingest.spill import Buckets, EventsOnDisk, row_of
from ..language.program import Program
from ..models import Event, micros
from ..models.roles import SERVICE_ROLES
from ..signals import plan
from ..signals.timing import is_zone
from ..store.protocol import LookRow, Store
from ..usage.audit import check_words
from ..usage.pseudonym import Keys, Pseudonym, find_keys, name_of
from .readings import needed, without_steps

if TYPE_CHECKING:
    from .importing import Imported, Options


# Events from a store, as they would have come from their files.

IN_MEMORY = 1500
"""About how many bytes an event from a store takes."""
IN_BUCKET = 16_000
"""About how many events are meant to be in a bucket."""


def gather(
    store: Store,
    programs: Iterable[Program],
    *,
    memory: int,
    imported: Imported | None = None,
    folder: Path | None = None,
) -> Batch | OnDisk:
    """Everything in a store, and what an import into it said: in memory, or on disk where it is too much.

    What is on disk is there until the caller closes it.
    """
    names, count = needed(programs), sum(subject.events for subject in store.subjects())
    timed = all(source.timed for source in store.sources().values())
    told = {} if imported is None else imported.told()
    if count * IN_MEMORY <= memory:
        return Batch(tuple(as_read(store.events(), names)), timed=timed, **told)
    buckets = Buckets(count=min(200, max(8, count // IN_BUCKET)), folder=folder)
    try:
        for number, event in enumerate(as_read(store.events(ordered=False), names)):
            buckets.put(row_of(event, number))
        buckets.flush()
    except BaseException:
        buckets.close()
        raise
    return OnDisk(EventsOnDisk(buckets), timed=timed, **told)


def as_read(events: Iterable[Event], names: Iterable[str]) -> Iterator[Event]:
    """Events without what was measured on their texts before these went, unless one of these names needs it.

    So a detection does not name scorers of signals that its pattern never looks at. Steps of a run without
    their texts are no steps to any signal.
    """
    wanted = {item.name for item in plan(names)}
    left_out = {name for name in registry.signals.names() if name not in wanted}
    for event in map(without_steps, events):
        dropped = [n for n, by in event.scorers.items() if n in left_out and by.startswith(f"{n}@")]
        if dropped:
            readings = {name: value for name, value in event.readings.items() if name not in dropped}
            scorers = {name: by for name, by in event.scorers.items() if name not in dropped}
            event = replace(event, readings=readings, scorers=scorers)
        yield event


# Private stores: people under other names, nothing of their words, a line for every look at somebody.

ROLES = SERVICE_ROLES | {"user", "human", "agent"}
"""Roles that say nothing of who a person is; no other word is kept as one."""
SOURCE = "input"
"""What a source is called that nobody named."""
PURPOSE = "events"
"""What the pseudonyms are for: those of a usage store by the same key are others."""
CHECK_BYTES = 7
"""Of the key's check, so that it is a number that any database holds."""


def check_of(keys: Keys) -> int:
    """The number by which a store knows its key again."""
    return int.from_bytes(keys.check()[:CHECK_BYTES], "big")


def private_event(event: Event, keys: Keys) -> Event:
    """The event with names in place of ids, and without its words: numbers are kept, roles and zones."""

    def named(kind: str, text: str | None) -> str | None:
        return None if text is None else keys.final(keys.base(kind, text)).hex()

    kept = {name: value for name, value in event.attributes.items() if may_stay(name, value)}
    if event.text is not None:
        kept.setdefault("length", len(event.text))
    return replace(
        event,
        id=named("event", event.id) or "",
        subject=named("person", event.subject) or "",
        target=named("person", event.target),
        reply_to=named("event", event.reply_to),
        thread=named("thread", event.thread),
        session=named("session", event.session),
        text=None,
        attributes=kept,
        readings={name: value for name, value in event.readings.items() if isinstance(value, int | float)},
        scorers={},
    )


def may_stay(name: str, value: object) -> bool:
    """Whether an attribute says nothing of who a person is.

    >>> may_stay("role", "user"), may_stay("role", "ann's mother"), may_stay("length", 4)
    (True, False, True)
    """
    if isinstance(value, str):
        return (name == "role" and value in ROLES) or (name == "time_zone" and is_zone(value))
    return isinstance(value, int | float)


def private_source(source: str, keys: Keys) -> str:
    """The name of a source, which may be a person's own words; what nobody named stays as it is."""
    return source if source == SOURCE else keys.final(keys.base("source", source)).hex()


def scoped(store: Store, keys: Keys) -> Keys:
    """The keys as this private store uses them."""
    salt = store.private_salt()
    return keys.scoped(PURPOSE, None if salt is None else salt.to_bytes(8, "big"))


def check_private(store: Store, options: Options) -> Options:
    """The options with the keys of this store, where events may go into it so; it is private from then on.

    BadUsage where names and pseudonyms would be mixed, or texts kept.
    """
    was, keys = store.private(), options.pseudonyms
    if keys is None:
        if was is not None:
            raise BadUsage("this store keeps people under other names; give the key with --pseudonyms FILE")
        return options
    if options.keep_text:
        raise BadUsage("--pseudonyms and --keep-text do not go together: texts say who people are")
    if was is None:
        if store.subjects():
            raise BadUsage("this store has subjects by their own names already; name a new file")
        salt = secrets.randbits(63)
        new = keys.scoped(PURPOSE, salt.to_bytes(8, "big"))
        store.make_private(check_of(new), salt)
    keys = scoped(store, keys)
    if store.private() != check_of(keys):
        raise BadUsage("the key is not that of this store; give the one that it was made with")
    return replace(options, pseudonyms=keys)


def stored_name(store: Store, subject: str, key: str | None) -> str:
    """The name that a store has for a subject: the subject itself, unless the store is private.

    Then a key is needed, unless the subject is given by that name (see Pseudonym). BadUsage where it is
    another store's.
    """
    keys = keys_of(store, key)
    if keys is None:
        return str(subject)
    who = subject if isinstance(subject, Pseudonym) else keys.base("person", subject)
    return name_of(keys, who).hex()


def stored_source(store: Store, source: str, key: str | None) -> str:
    """The name that a store has for a source; none where none is given."""
    keys = keys_of(store, key) if source else None
    return source if keys is None or source in store.sources() else private_source(source, keys)


def stored_event(store: Store, event: str, key: str | None) -> str:
    """The id that a store has for an event: the id itself, unless the store is private."""
    keys = keys_of(store, key) if event else None
    return event if keys is None else keys.final(keys.base("event", event)).hex()


def keys_of(store: Store, key: str | None) -> Keys | None:
    """The keys of a private store, None of another. BadUsage where they are another store's, or not there."""
    check = store.private()
    if check is None:
        return None
    keys = scoped(store, find_keys(key or None, has_store=True)[0])
    if check_of(keys) != check:
        raise BadUsage("the key is not that of this store; give the one that it was made with")
    return keys


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
    """Write lines of the audit, where the store is private; `subject` is the id that no word may contain."""
    if store.private() is not None:
        words, by = check_words(why, "why", subject), check_words(who, "who", subject)
        store.add_looks([LookRow(micros(at), what, person, by, words) for person in people])
