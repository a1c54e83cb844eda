"""Stores of events, readings, detections, verdicts and states.

For another database, write a class under `@store("name")` that derives from `Store` and has the methods of
`RowStore` (row_store.py). The part of a URL before `://` selects it; `ethogram.testing.check_store` checks
it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast

from .. import registry
from ..errors import BadUsage, did_you_mean
from .base import Store

__all__ = ["Store", "open_store", "store"]
DEFAULT = "sqlite"
OWN = {"sqlite": "sqlite", "postgresql": "postgres", "neo4j": "neo4j", "bolt": "neo4j"}
"""The stores of this package, and their modules."""
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
    if kind in OWN:
        import_module(f".{OWN[kind]}", __name__)  # the others take long to import
        cls: Any = registry.stores.known(kind)
    elif kind not in registry.stores:
        names = registry.stores.names()
        expected = did_you_mean(kind, names) or f": expected a path, or a URL of {', '.join(names)}"
        raise BadUsage(f"unknown store {kind!r:.40}{expected}")
    else:
        cls = registry.stores.get(kind)
    opened = cast(Store, cls(url, create=create))
    return opened if create else _checked(opened)


def open_event_store(url: str) -> Store:
    """Open a store or make one, for events. BadUsage where it has people of a usage tracker alone."""
    return _checked(open_store(url, create=True))


def _checked(opened: Store) -> Store:
    try:
        opened.check_events()
    except BaseException:
        opened.close()
        raise
    return opened
