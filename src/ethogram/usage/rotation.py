"""Rotation: a new key for stores, without knowing anybody's id."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ..errors import BadUsage
from ..files.sqlite import named_errors
from .audit import Look
from .pseudonym import NAME_BYTES, Keys, new_keys, read_keys, turned, waiting_file, write_keys
from .store import PURPOSE, UsageStore, check_file, connect


class KeyMark(NamedTuple):
    """What a store has to know its keys again: their check (see Keys.check), and its own salt."""

    check: bytes
    salt: bytes | None

    def until(self, keys: Keys) -> Keys | None:
        """Return the keys, up to one of these, that the store has; None where it has others."""
        return keys.scoped(PURPOSE, self.salt).until(self.check)


def key_mark(path: Path) -> KeyMark:
    """Read the key mark of a store."""
    check_file(path, create=False)
    with named_errors(path), closing(connect(path)) as raw:
        return KeyMark(*raw.execute("SELECT key_check, salt FROM about").fetchone())


def rotate(key_file: str | Path, stores: Sequence[str | Path], *, at: float, who: str = "") -> Keys:
    """The keys after adding one, by which every row of the stores is named now.

    The new keys are on the disk before a store changes, and take the old file's place once all have. Killed
    in between, the same call goes on: a store that has its new names already is left as it is. Where a store
    was forgotten in a rotation before, it is given the keys that there are, and none is added.
    """
    file, waiting = Path(key_file).resolve(), waiting_file(key_file)
    old = read_keys(file)
    marked = [(Path(path), key_mark(Path(path))) for path in stores]
    if _is_broken(waiting):
        _set_aside(waiting, old, marked)
    new = read_keys(waiting) if waiting.exists() else old
    if new.added(old) is None:
        raise BadUsage(f"{waiting} does not go on from {key_file}; it belongs to another rotation: remove it")
    for path, marks in marked:
        if marks.until(new) is None:
            UsageStore(path, old, create=False, at=at, who=who).close()  # BadUsage, and a line in its audit
    if new is old and all(_length(marks.until(old)) == len(old.chain) for _, marks in marked):
        write_keys(waiting, new_keys(old))
        new = read_keys(waiting)
    for path, marks in marked:
        with closing(UsageStore(path, marks.until(new) or old, create=False)) as store:
            _turn(store, new, at, who)
    if new is not old:
        _put_in_place(waiting, file, new)
    return new


def _put_in_place(waiting: Path, file: Path, new: Keys) -> None:
    try:
        waiting.replace(file)
    except FileNotFoundError:
        # Two rotations at once do the same work; the other one was first.
        if read_keys(file) != new:
            raise BadUsage(f"{waiting} was taken away meanwhile; run the rotation again") from None


def _is_broken(waiting: Path) -> bool:
    """Whether what waits there was never written to its end; other faults are for whoever runs this."""
    if not waiting.is_file() or waiting.stat().st_mode & 0o077:
        return False
    try:
        read_keys(waiting)
    except BadUsage:
        return True
    return False


def _length(keys: Keys | None) -> int:
    return 0 if keys is None else len(keys.chain)


def _set_aside(waiting: Path, old: Keys, marked: Sequence[tuple[Path, KeyMark]]) -> None:
    """Put broken keys out of the way that no store has; BadUsage where one has them."""
    for path, marks in marked:
        if marks.until(old) is None:
            raise BadUsage(f"{waiting} is not a key file, and {path} may have its key; put a copy there")
    waiting.replace(f"{waiting}.broken")


def _turn(store: UsageStore, new: Keys, at: float, who: str) -> None:
    more = new.added(store.keys)
    store.check_integrity()
    if more:
        with store.transaction() as raw:
            raw.create_function("turned", 1, lambda name: _turned(name, more), deterministic=True)
            raw.execute("UPDATE people SET name = turned(name), ids = turned(ids)")
            raw.execute("UPDATE events SET session = turned(session), id = turned(id)")
            raw.execute("UPDATE audit SET person = turned(person)")
            raw.execute("UPDATE files SET name = turned(name)")
            keys = Keys(new.chain, store.keys.scope)
            raw.execute("UPDATE about SET key_check = ?", (keys.check(),))
        store.keys = keys
        store.tell([], [Look(at, "rotate", None, who, "")])
    store.scrub()


def _turned(names: bytes | None, keys: Sequence[bytes]) -> bytes | None:
    """Names, one after the other, after further keys."""
    if not names:
        return names
    pieces = range(0, len(names), NAME_BYTES)
    return b"".join(turned(names[at : at + NAME_BYTES], keys) for at in pieces)
