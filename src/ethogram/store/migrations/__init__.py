"""Migrations: numbered steps of SQL from an empty file to the schema of today.

A step is a module `mNNNN_name.py` with a tuple `STATEMENTS`. Steps are never edited once released: what they
made is on people's disks. All steps that are lacking run in one transaction, so a store is always whole at
one version. Alembic was not taken: it is one more package, with a folder of configuration of its own, for
what is a list of statements here.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from sqlalchemy import Connection

from ...errors import BadUsage

VERSIONS = "SELECT max(version) FROM schema_version"


@lru_cache
def steps() -> tuple[tuple[str, ...], ...]:
    """The statements of each step; step i leads from version i to i + 1."""
    names = sorted(one.name for one in pkgutil.iter_modules(__path__) if one.name.startswith("m"))
    numbers = [int(name[1:5]) for name in names]
    assert numbers == list(range(1, len(names) + 1)), names
    return tuple(tuple(importlib.import_module(f"{__name__}.{name}").STATEMENTS) for name in names)


def newest() -> int:
    """The version this program writes."""
    return len(steps())


def check_version(version: int, url: str) -> None:
    """Nothing, where this program can read a store of that version; else BadUsage with what to do."""
    if version > newest():
        raise BadUsage(
            f"{url} has schema {version}, and this ethogram knows up to {newest()}: a newer one wrote it. "
            "Upgrade with pip install -U ethogram, or name another file"
        )


def migrate(connection: Connection, version: int) -> int:
    """The version after all steps that were lacking; the caller holds the transaction."""
    for number, statements in enumerate(steps()[version:], start=version + 1):
        for statement in statements:
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql(f"INSERT INTO schema_version (version) VALUES ({number})")
    return max(version, newest())
