"""Rotation: a new key for stores, without knowing anybody's id."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ..errors import BadUsage
from ..models import moment
from ..store.numbers import set_meta
from ..store.row_store import Condition, in_pieces
from ..store.sqlite import PrivateSQLiteStore
from ..store.states import PRIVATE
from .pseudonym import NAME_BYTES, Keys, new_keys, read_keys, rehash, waiting_file, write_keys
from .records import UsageLook
from .store import FILES, PAGE, UsageStore, check_file
from .store_keys import check_number, keys_until


def keys_of(path: Path, keys: Keys) -> Keys | None:
    """Return the keys, up to one of these, that a store has; None where it has others."""
    check_file(path, create=False)
    with closing(PrivateSQLiteStore(path)) as store:
        return keys_until(store, keys)


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
    rows = store.rows
    rows.check_integrity()
    if more:
        if rows.count("events") or rows.count("detections"):
            raise BadUsage(f"{store.path} has events under pseudonyms: import them again with a new key")
        keys = Keys(new.chain, store.keys.scope)
        store.transact(lambda: _rename(rows, more, check_number(keys)))
        store.keys = keys
        store.log(UsageLook(moment(int(at * 1e6)), "rotate", None, who, ""))
    rows.scrub()


def _rename(store: PrivateSQLiteStore, keys: Sequence[bytes], check: int) -> None:
    """Give every row of a store its name after further keys."""

    def renamed(name: str | None) -> str | None:
        return None if name is None else rehash(bytes.fromhex(name), keys).hex()

    names = [name for (name,) in store.rows("people", columns=("name",))]
    for piece in in_pieces(names, PAGE):
        where: list[Condition] = [("name", "in", list(piece))]
        people = list(store.rows("people", where))
        store.delete("people", where)
        store.write(
            "people", [(renamed(row[0]), *row[1:8], _rehash_all(row[8], keys), row[9]) for row in people]
        )
        where = [("person", "in", list(piece))]
        reported = list(store.rows("reported", where))
        store.delete("reported", where)
        store.write("reported", [(renamed(person), *rest) for person, *rest in reported])
    last = 0
    while uses := list(store.rows("uses", [("key", ">", last)], order=("key",), limit=10 * PAGE)):
        last = uses[-1][0]
        store.write(
            "uses",
            [
                (key, renamed(person), at, length, flags, renamed(session), ahead, renamed(name))
                for key, person, at, length, flags, session, ahead, name in uses
            ],
        )
    looks = list(store.rows("looks", [("person", "!=", None)]))
    store.write("looks", [(*row[:3], renamed(row[3]), *row[4:]) for row in looks])
    own: list[Condition] = [("options", "=", FILES)]
    files = list(store.rows("files", own))
    store.delete("files", own)
    store.write("files", [(options, renamed(name), *rest) for options, name, *rest in files])
    set_meta(store, PRIVATE, check)


def _rehash_all(names: bytes, keys: Sequence[bytes]) -> bytes:
    """Names, one after the other, after further keys."""
    pieces = range(0, len(names), NAME_BYTES)
    return b"".join(rehash(names[at : at + NAME_BYTES], keys) for at in pieces)
