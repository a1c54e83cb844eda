"""Opening: from a URL or a path to the store behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import registry
from ..errors import BadUsage
from .protocol import Store

DEFAULT = "sqlite"
T = TypeVar("T")


def store(name: str) -> Callable[[T], T]:
    """The decorator that makes a store known: the class takes (url, create=bool)."""
    return registry.stores.register(name)


def kind_of(url: str) -> str:
    """Which store a URL is for; a plain path is an SQLite file.

    >>> kind_of("postgresql+psycopg://localhost/x"), kind_of("events.db")
    ('postgresql', 'sqlite')
    """
    scheme, found, _ = url.partition("://")
    return scheme.partition("+")[0] if found else DEFAULT


def open_store(url: str, *, create: bool = False) -> Store:
    """The store at a URL, brought to the newest schema. BadUsage where there is none, unless `create`."""
    if not url:
        raise BadUsage("which store? Give --store with a path, such as --store ethogram.db")
    made: Any = registry.stores.get(kind_of(url))
    opened: Store = made(url, create=create)
    return opened
