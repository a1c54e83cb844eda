"""Rotation: a new key for stores, without knowing anybody's id."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ..errors import BadUsage
from ..files.sqlite import named_errors
from .audit import Look
from .pseudonym import NAME_BYTES, Keys, new_keys, read_keys, rehash, waiting_file, write_keys
from .store import PURPOSE, UsageStore
from .tables import check_file, connect


class KeyMark(NamedTuple):
    """How a store recognises its keys: their check (see Keys.check), and its own salt."""

    path: Path
    check: bytes
    salt: bytes | None

    def until(self, keys: Keys) -> Keys | None:
        """Return the keys, up to one of these, that the store has; None where it has others."""
        return keys.scoped(PURPOSE, self.salt).until(self.check)


def key_mark(path: Path) -> KeyMark:
    """Read the key mark of a store."""
    check_file(path, create=False)
    with named_errors(path), closing(connect(path)) as raw:
        return KeyMark(path, *raw.execute("SELECT key_check, salt FROM about").fetchone())


def rotate(key_file: str | Path, stores: Sequence[str | Path], *, at: float, who: str = "") -> Keys:
    """Add a key, rename every row of the stores by it, and return all keys.

    The new keys are on the disk before a store changes, and replace the old file once all have. Killed in
    between, the same call goes on: a store that has its new names already is left as it is. Where a store was
    forgotten in an earlier rotation, it gets the present keys, and none is added.
    """
    file, waiting = Path(key_file).resolve(), waiting_file(key_file)
    old = read_keys(file)
    marks = [key_mark(Path(path)) for path in stores]
    if _is_broken(waiting):
        _set_aside(waiting, old, marks)
    new = read_keys(waiting) if waiting.exists() else old
    if new.added(old) is None:
        raise BadUsage(f"{waiting} does not continue {key_file}: it belongs to another rotation; remove it")
    for mark in marks:
        if mark.until(new) is None:
            UsageStore(
                mark.path, old, create=False, at=at, who=who
            ).close()  # BadUsage, and a line in its audit
    if new is old and all((keys := mark.until(old)) and keys.chain == old.chain for mark in marks):
        write_keys(waiting, new_keys(old))
        new = read_keys(waiting)
    for mark in marks:
        with closing(UsageStore(mark.path, mark.until(new) or old, create=False)) as store:
            _rename_all(store, new, at, who)
    if new is not old:
        try:
            waiting.replace(file)
        except FileNotFoundError:
            # Two rotations at once do the same work; the other one was first.
            if read_keys(file) != new:
                raise BadUsage(f"{waiting} was removed meanwhile; run the rotation again") from None
    return new


def _is_broken(waiting: Path) -> bool:
    """Whether the waiting file was not written to its end."""
    if not waiting.is_file() or waiting.stat().st_mode & 0o077:
        return False
    try:
        read_keys(waiting)
    except BadUsage:
        return True
    return False


def _set_aside(waiting: Path, old: Keys, marks: Sequence[KeyMark]) -> None:
    """Rename broken keys that no store has; BadUsage where one has them."""
    for mark in marks:
        if mark.until(old) is None:
            raise BadUsage(f"{waiting} is not a key file, and {mark.path} may have its key; put a copy there")
    waiting.replace(f"{waiting}.broken")


def _rename_all(store: UsageStore, new: Keys, at: float, who: str) -> None:
    more = new.added(store.keys)
    store.check_integrity()
    if more:
        with store.transaction() as raw:
            raw.create_function("rehash", 1, lambda names: _rehash_all(names, more), deterministic=True)
            raw.execute("UPDATE people SET name = rehash(name), ids = rehash(ids)")
            raw.execute("UPDATE events SET session = rehash(session), id = rehash(id)")
            raw.execute("UPDATE audit SET person = rehash(person)")
            raw.execute("UPDATE files SET name = rehash(name)")
            keys = Keys(new.chain, store.keys.scope)
            raw.execute("UPDATE about SET key_check = ?", (keys.check(),))
        store.keys = keys
        store.log(Look(at, "rotate", None, who, ""))
    store.scrub()


def _rehash_all(names: bytes | None, keys: Sequence[bytes]) -> bytes | None:
    """Names, one after the other, after further keys."""
    if not names:
        return names
    pieces = range(0, len(names), NAME_BYTES)
    return b"".join(rehash(names[at : at + NAME_BYTES], keys) for at in pieces)
