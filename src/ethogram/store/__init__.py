"""Stores of events, readings, detections, verdicts and states.

For another database, add one file here with a class under `@store("name")` that has the methods of `Store`
(contract.py). The part of a URL before `://` selects it; tests/contracts/test_store_contract.py runs on it.
Importing a store loads SQLAlchemy, which takes a quarter of a second: only commands that use a store do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import registry
from ..errors import BadUsage, did_you_mean
from .base import Store

__all__ = ["Store", "open_store", "store"]
DEFAULT = "sqlite"
T = TypeVar("T")


def store(name: str) -> Callable[[T], T]:
    """Register a store; the class takes (url, create=bool)."""
    return registry.stores.register(name)


def kind_of(url: str) -> str:
    """Return which store a URL is for; a plain path is an SQLite file.

    >>> kind_of("postgresql+psycopg://localhost/x"), kind_of("events.db")
    ('postgresql', 'sqlite')
    """
    scheme, is_url, _ = url.partition("://")
    return scheme.partition("+")[0] if is_url else DEFAULT


def open_store(url: str, *, create: bool = False) -> Store:
    """Open the store at a URL and upgrade its schema. BadUsage where there is none, unless `create`."""
    if not url:
        raise BadUsage("no store given: expected --store with a path, such as --store ethogram.db")
    kind = kind_of(url)
    if kind not in registry.stores:
        names = registry.stores.names()
        expected = did_you_mean(kind, names) or f": expected a path, or a URL of {', '.join(names)}"
        raise BadUsage(f"unknown store {kind!r:.40}{expected}")
    cls: Any = registry.stores.get(kind)
    opened: Store = cls(url, create=create)
    if not create and isinstance(opened, Store):
        try:
            opened.check_events()
        except BaseException:
            opened.close()
            raise
    return opened
