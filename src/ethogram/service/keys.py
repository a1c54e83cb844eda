"""API keys: random, hashed at rest, each with a role."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from ..errors import BadUsage, did_you_mean
from ..fields import Name, RecordStruct, one_of
from ..models import format_time, parse_time
from ..store.records import Store

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


def new_key(store: Store, name: str, role: str, at: datetime) -> tuple[ApiKey, str]:
    """Make a key; returns it and its secret, which is not stored."""
    if role not in ROLES:
        raise BadUsage(f"invalid role {role!r:.40}{did_you_mean(role, ROLES)}: expected {', '.join(ROLES)}")
    if not name.strip():
        raise BadUsage("a key needs a name: expected who or what uses it")
    secret = PREFIX + secrets.token_urlsafe(32)
    key = ApiKey(secrets.token_hex(4), name, role, at)
    record = {"name": name, "role": role, "made_at": format_time(at), "hash": _hash(secret)}
    store.put_note(NOTE, key.id, record, at)
    return key, secret


def list_keys(store: Store) -> list[ApiKey]:
    """All keys, oldest first."""
    return [
        ApiKey(key, item["name"], item["role"], parse_time(item["made_at"]))
        for key, item in store.notes(NOTE).items()
    ]


def remove_key(store: Store, key: str, at: datetime) -> ApiKey:
    """Remove a key by its id; BadUsage where there is none."""
    known = {item.id: item for item in list_keys(store)}
    if key not in known:
        raise BadUsage(f"no key {key!r:.40}{did_you_mean(key, known)}: `ethogram keys list` shows their ids")
    store.put_note(NOTE, key, None, at)
    return known[key]


def _hash(secret: str) -> str:
    # A fast hash is enough: the secret has 256 random bits.
    return hashlib.sha256(secret.encode()).hexdigest()


class KeyRing:
    """The keys of a store, read again after a few seconds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read = 0.0
        self._by_hash: dict[str, ApiKey] = {}

    @property
    def is_empty(self) -> bool:
        self._refresh()
        return not self._by_hash

    def find(self, secret: str) -> ApiKey | None:
        """The key of a secret; None where there is none."""
        self._refresh()
        return self._by_hash.get(_hash(secret))

    def _refresh(self) -> None:
        if self._read and time.monotonic() - self._read < FRESH:
            return
        self._by_hash = {
            item["hash"]: ApiKey(key, item["name"], item["role"], parse_time(item["made_at"]))
            for key, item in self._store.notes(NOTE).items()
        }
        self._read = time.monotonic()
