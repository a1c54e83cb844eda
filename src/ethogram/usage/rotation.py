"""Rotation: a new key for stores, without knowing anybody's id."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ..errors import BadUsage
from ..files.sqlite import named_errors
from ..models import moment
from .pseudonym import NAME_BYTES, Keys, new_keys, read_keys, rehash, waiting_file, write_keys
from .records import UsageLook
from .store import PURPOSE, UsageStore
from .tables import check_file, connect


def keys_of(store: Path, keys: Keys) -> Keys | None:
    """Return the keys, up to one of these, that a store has; None where it has others."""
    check_file(store, create=False)
    with named_errors(store), closing(connect(store)) as raw:
        check, salt = raw.execute("SELECT key_check, salt FROM about").fetchone()
    return keys.scoped(PURPOSE, salt).until(check)


def rotate(key_file: str | Path, stores: Sequence[str | Path], *, at: float, who: str = "") -> Keys:
    """Add a key, rename every row of the stores by it, and return all keys.

    The new keys are on the disk before a store changes, and replace the old file once all have. Killed in
    between, the same call goes on: a store that has its new names already is left as it is. Where a store was
    forgotten in an earlier rotation, it gets the present keys, and none is added.
    """
    file, waiting = Path(key_file).resolve(), waiting_file(key_file)
    old, paths = read_keys(file), [Path(path) for path in stores]
    has_old = {path: keys_of(path, old) for path in paths}
    if _is_broken(waiting):
        for path in paths:
            if has_old[path] is None:
                raise BadUsage(f"{waiting} is not a key file, and {path} may have its key; put a copy there")
        waiting.replace(f"{waiting}.broken")
    new = read_keys(waiting) if waiting.exists() else old
    if new.added(old) is None:
        raise BadUsage(f"{waiting} does not continue {key_file}: it belongs to another rotation; remove it")
    for path in paths:
        if keys_of(path, new) is None:
            # BadUsage, and a line in its audit.
            UsageStore(path, old, create=False, at=at, who=who).close()
    if new is old and all(keys and keys.chain == old.chain for keys in has_old.values()):
        write_keys(waiting, new_keys(old))
        new = read_keys(waiting)
    for path in paths:
        with closing(UsageStore(path, keys_of(path, new) or old, create=False)) as store:
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
        store.log(UsageLook(moment(int(at * 1e6)), "rotate", None, who, ""))
    store.scrub()


def _rehash_all(names: bytes | None, keys: Sequence[bytes]) -> bytes | None:
    """Names, one after the other, after further keys."""
    if not names:
        return names
    pieces = range(0, len(names), NAME_BYTES)
    return b"".join(rehash(names[at : at + NAME_BYTES], keys) for at in pieces)
