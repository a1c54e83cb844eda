"""Private stores: people under other names, nothing of their words, a line for every look at somebody."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ..errors import BadUsage
from ..records import Event, micros
from ..stores.protocol import LookRow, Store
from ..usage.audit import check_words
from ..usage.pseudonym import Keys, Pseudonym, find_keys, name_of

if TYPE_CHECKING:
    from .importing import Options

NAMES_KEPT = frozenset(("role", "time_zone"))
"""Attributes whose words say nothing of who a person is; of the others only numbers are kept."""
CHECK_BYTES = 7
"""Of the key's check, so that it is a number that any database holds."""


def check_of(keys: Keys) -> int:
    """The number by which a store knows its key again."""
    return int.from_bytes(keys.check()[:CHECK_BYTES], "big")


def private_event(event: Event, keys: Keys) -> Event:
    """The event with names in place of ids, and without its words."""

    def named(kind: str, text: str | None) -> str | None:
        return None if text is None else keys.final(keys.base(kind, text)).hex()

    kept = {
        name: value
        for name, value in event.attributes.items()
        if isinstance(value, int | float) or (name in NAMES_KEPT and isinstance(value, str))
    }
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
    )


def check_private(store: Store, options: Options) -> None:
    """Nothing, where the events may go into the store as the options say; it is private from then on.

    BadUsage where names and pseudonyms would be mixed, or texts kept.
    """
    was, keys = store.private(), options.pseudonyms
    if keys is None:
        if was is not None:
            raise BadUsage("this store keeps people under other names; give the key with --pseudonyms FILE")
        return
    if options.keep_text:
        raise BadUsage("--pseudonyms and --keep-text do not go together: texts say who people are")
    if was is None:
        if store.subjects():
            raise BadUsage("this store has subjects by their own names already; name a new file")
        store.make_private(check_of(keys))
    elif was != check_of(keys):
        raise BadUsage("the key is not that of this store; give the one that it was made with")


def stored_name(store: Store, subject: str, key: str | None) -> str:
    """The name that a store has for a subject: the subject itself, unless the store is private.

    Then a key is needed, unless the subject is given by that name (see Pseudonym). BadUsage where it is
    another store's.
    """
    check = store.private()
    if check is None:
        return str(subject)
    keys, _ = find_keys(key or None)
    if check_of(keys) != check:
        raise BadUsage("the key is not that of this store; give the one that it was made with")
    who = subject if isinstance(subject, Pseudonym) else keys.base("person", subject)
    return name_of(keys, who).hex()


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
        words, by = check_words(why, "why", subject), check_words(who, "who")
        store.add_looks([LookRow(micros(at), what, one, by, words) for one in people])
