"""API keys: random, hashed at rest, each with a role."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from ..errors import BadUsage, StoreFailed, did_you_mean
from ..fields import Count, Name, RecordStruct, one_of
from ..models import format_time, parse_time
from ..store.records import Store
from .audit import note_action

ROLES: Mapping[str, frozenset[str]] = {
    "ingest": frozenset({"ingest"}),
    "read": frozenset({"read"}),
    "judge": frozenset({"read", "judge"}),
    "admin": frozenset({"ingest", "read", "judge", "admin"}),
}
"""Role to what it may do."""
NOTE = "api key"
PREFIX = "eth_"
FRESH = 5.0
"""Seconds for which keys are remembered: a removed key works no longer than that."""


class ApiKey(RecordStruct):
    """An API key as it is listed; the key itself is shown once, when it is made."""

    RECORD = "api_key"

    id: Name
    name: Name
    role: Annotated[str, one_of(*ROLES)]
    made_at: datetime
    rate: Count = 0
    """Requests a minute; 0: any number."""


def new_key(store: Store, name: str, role: str, at: datetime, *, rate: int = 0) -> tuple[ApiKey, str]:
    """Make a key; returns it and its secret, which is not stored."""
    if role not in ROLES:
        raise BadUsage(f"invalid role {role!r:.40}{did_you_mean(role, ROLES)}: expected {', '.join(ROLES)}")
    if not name.strip():
        raise BadUsage("a key needs a name: expected who or what uses it")
    secret = PREFIX + secrets.token_urlsafe(32)
    key = ApiKey(secrets.token_hex(4), name, role, at, rate)
    record = {"name": name, "role": role, "made_at": format_time(at), "rate": rate, "hash": _hash(secret)}
    store.put_note(NOTE, key.id, record, at)
    note_action(store, "command line", "new key", f"{key.id} {role} {name}", at)
    return key, secret


def list_keys(store: Store) -> list[ApiKey]:
    """All keys, oldest first."""
    return [_key_of(key, item) for key, item in store.notes(NOTE).items()]


def _key_of(key: str, item: Mapping[str, Any]) -> ApiKey:
    return ApiKey(key, item["name"], item["role"], parse_time(item["made_at"]), item.get("rate", 0))


def remove_key(store: Store, key: str, at: datetime) -> ApiKey:
    """Remove a key by its id, or by its name where no other has it; BadUsage where there is none."""
    keys = list_keys(store)
    chosen = [item for item in keys if item.id == key] or [item for item in keys if item.name == key]
    if not chosen:
        near = did_you_mean(key, [word for item in keys for word in (item.id, item.name)])
        raise BadUsage(f"no key {key!r:.40}{near}: `ethogram keys list` shows them")
    if len(chosen) > 1:
        ids = ", ".join(item.id for item in chosen)
        raise BadUsage(f"several keys are for {key!r:.40}: remove one by its id ({ids})")
    store.put_note(NOTE, chosen[0].id, None, at)
    note_action(store, "command line", "remove key", f"{chosen[0].id} {chosen[0].name}", at)
    return chosen[0]


def _hash(secret: str) -> str:
    # A fast hash is enough: the secret has 256 random bits.
    return hashlib.sha256(secret.encode()).hexdigest()


class KeyRing:
    """The keys of a store, read again after a few seconds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read = 0.0
        self._lock = threading.Lock()
        self._by_hash: dict[str, ApiKey] = {}
        self._spent: dict[str, tuple[float, float]] = {}
        """Key to the requests it may still make, and when that was counted."""

    @property
    def is_stale(self) -> bool:
        """Whether the keys are to be read again."""
        return not self._read or time.monotonic() - self._read >= FRESH

    @property
    def is_empty(self) -> bool:
        self.refresh()
        return not self._by_hash

    def find(self, secret: str) -> ApiKey | None:
        """The key of a secret; None where there is none."""
        self.refresh()
        return self._by_hash.get(_hash(secret))

    def takes(self, key: ApiKey) -> bool:
        """Whether a key may make a request now; counts it. What a minute allows may come at once."""
        if not key.rate:
            return True
        now = time.monotonic()
        left, at = self._spent.get(key.id, (float(key.rate), now))
        left = min(float(key.rate), left + (now - at) * key.rate / 60)
        self._spent[key.id] = (left - 1 if left >= 1 else left, now)
        return left >= 1

    def refresh(self) -> None:
        """Read the keys again where they are stale. While the store fails, those that were read last stay."""
        # Where another thread reads them, only who has none yet waits for it.
        if not self.is_stale or not self._lock.acquire(blocking=not self._read):
            return
        try:
            notes = self._store.notes(NOTE)
            self._by_hash = {item["hash"]: _key_of(key, item) for key, item in notes.items()}
        except StoreFailed:
            if not self._read:
                raise
        finally:
            self._lock.release()
        self._read = time.monotonic()
