"""Rotation: a new key for stores, without knowing anybody's id."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import BadUsage
from .audit import Look
from .kept import Kept
from .kept_schema import key_check_of
from .pseudonym import NAME_BYTES, Keys, new_keys, read_keys, turned, write_keys


def rotate(key_file: str | Path, stores: Sequence[str | Path], *, at: float, who: str = "") -> Keys:
    """The keys after adding one, by which every row of the stores is named now.

    The new keys are on the disk before a store changes, and take the old file's place once all have. Killed
    in between, the same call goes on: a store that has its new names already is left as it is.
    """
    old, waiting = read_keys(key_file), Path(f"{key_file}.new")
    if not waiting.exists():
        for path in stores:
            Kept(path, old, create=False, at=at, who=who).close()  # BadUsage where one has another key
        write_keys(waiting, new_keys(old))
    new = read_keys(waiting)
    if not new.added(old):
        raise BadUsage(f"{waiting} does not go on from {key_file}; it belongs to another rotation: remove it")
    opened = [_open(path, old, new) for path in stores]
    for store in opened:
        _turn(store, new, at, who)
        store.close()
    waiting.replace(key_file)
    return new


def _open(path: str | Path, old: Keys, new: Keys) -> Kept:
    """A store that has the old keys or the new ones; BadUsage, before any is changed, where it has others."""
    has_new = key_check_of(Path(path)) == new.check()
    return Kept(path, new if has_new else old, create=False)


def _turn(store: Kept, new: Keys, at: float, who: str) -> None:
    more = new.added(store.keys)
    if more:
        with store._writing() as raw:
            raw.create_function("turned", 1, lambda name: _turned(name, more), deterministic=True)
            raw.execute("UPDATE people SET name = turned(name), ids = turned(ids)")
            raw.execute("UPDATE events SET session = turned(session), id = turned(id)")
            raw.execute("UPDATE audit SET person = turned(person)")
            raw.execute("UPDATE files SET name = turned(name)")
            raw.execute("UPDATE about SET key_check = ?", (new.check(),))
        store.keys = new
        store.tell([], [Look(at, "rotate", None, who, "")])
    store.scrub()


def _turned(names: bytes | None, keys: Sequence[bytes]) -> bytes | None:
    """Names, one after the other, after further keys."""
    if not names:
        return names
    pieces = range(0, len(names), NAME_BYTES)
    return b"".join(turned(names[at : at + NAME_BYTES], keys) for at in pieces)
