"""The keys of a private store: which they are, and that they are the right ones.

The same for stores of events and for people of the usage tracker: a store has the purpose and the salt of its
pseudonyms, and a number that recognises its keys.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from ..errors import BadUsage
from .pseudonym import Keys

if TYPE_CHECKING:
    from ..store import Store

CHECK_BYTES = 7
"""Of the key's check, so that any database can hold it as a number."""


def check_number(keys: Keys) -> int:
    """The number by which a store recognises its keys."""
    return int.from_bytes(keys.check()[:CHECK_BYTES], "big")


def scoped_keys(store: Store, keys: Keys) -> Keys:
    """The keys as this store uses them, right or wrong."""
    return keys.scoped(*store.private_scope())


def checked_keys(store: Store, keys: Keys) -> Keys:
    """The keys as this private store uses them; BadUsage where it was made with others."""
    scoped = scoped_keys(store, keys)
    if store.private() != check_number(scoped):
        raise wrong_key(store)
    return scoped


def wrong_key(store: Store) -> BadUsage:
    """The error for other keys than those of a store."""
    return BadUsage(f"{store.url}: the key is not that of this store; give the key that it was made with")


def keys_until(store: Store, keys: Keys) -> Keys | None:
    """The first of these keys, up to the last one that the store has; None where it has others."""
    check, scoped = store.private(), scoped_keys(store, keys)
    chains = (Keys(scoped.chain[: end + 1], scoped.scope) for end in range(len(scoped.chain)))
    return next((part for part in chains if check_number(part) == check), None)


def make_private(store: Store, keys: Keys) -> None:
    """Make a store one of pseudonyms by these keys; BadUsage where it has subjects by their own names."""
    if store.private() is not None:
        return
    if store.subjects():
        raise BadUsage(f"{store.url}: this store has subjects by their own names already; name a new file")
    salt = secrets.randbits(63)
    store.make_private(check_number(keys.scoped("events", salt.to_bytes(8, "big"))), salt)
