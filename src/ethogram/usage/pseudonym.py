"""Pseudonyms: ids of people as keyed hashes, with a chain of keys so that a new key needs no ids.

The name of an id is HMAC-SHA256 by the first key; of that, HMAC-SHA256 by the second, and so on, each cut to
16 bytes. So a store and a new key are enough to give every row its new name, and what an old key alone leads
to is in no file any more.

The first hash includes the purpose of the store and its own random salt: under one key a person has another
name in every store, and two stores do not show that they know the same people.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..errors import BadUsage
from ..files import make_private_folder, user_folder
from ..models.slotted import dataclass, field

VARIABLE = "ETHOGRAM_USAGE_KEY_FILE"
HEAD = "ethogram usage key 1"
KEY_BYTES = 32
NAME_BYTES = 16
"""Bytes of a name: two people in a billion share one with a chance below 1e-20."""
MAX_KEYS = 1000
MAX_BYTES = 100_000


class Pseudonym(str):
    """A person's name in a store, 32 hexadecimal digits, in place of the id."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys, oldest first. Never shown: not by repr, not in an error.

    `scope` stands for the store whose names they make (see `scoped`).
    """

    chain: tuple[bytes, ...] = field(repr=False)
    scope: bytes = field(default=b"", repr=False)

    def scoped(self, purpose: str, salt: bytes) -> Keys:
        """The keys for one store by its purpose and salt."""
        # No kind of text (see `base`) begins like this, and a hash has a fixed length.
        return Keys(self.chain, b"scope\0" + hashlib.sha256(purpose.encode() + b"\0" + salt).digest())

    def base(self, kind: str, text: str) -> bytes:
        """The name of a text by the first key alone, which stays when keys are added.

        The same text of another kind (person, session, event) has another name.
        """
        # An id may hold lone surrogates.
        content = f"{kind}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.digest(self.chain[0], self.scope + content, "sha256")[:NAME_BYTES]

    def final(self, base: bytes) -> bytes:
        """The name by all keys, which is the one in files."""
        return base if len(self.chain) == 1 else rehash(base, self.chain[1:])

    def check(self) -> bytes:
        """What a store has to recognise its keys. It tells nothing about them."""
        return self.final(self.base("check", ""))

    def until(self, check: bytes) -> Keys | None:
        """The part of the chain, from the first key on, that has this check; None where none has."""
        parts = (Keys(self.chain[: end + 1], self.scope) for end in range(len(self.chain)))
        return next((keys for keys in parts if keys.check() == check), None)

    def added(self, old: Keys) -> tuple[bytes, ...] | None:
        """The keys that came after those of `old`; None where these are other keys."""
        length = len(old.chain)
        return self.chain[length:] if self.chain[:length] == old.chain else None


def rehash(name: bytes, keys: Iterable[bytes]) -> bytes:
    """A name after further keys."""
    for key in keys:
        name = hmac.digest(key, name, "sha256")[:NAME_BYTES]
    return name


def new_keys(old: Keys | None = None) -> Keys:
    """The old keys with a new random one at the end."""
    return Keys((*(old.chain if old else ()), secrets.token_bytes(KEY_BYTES)))


def read_keys(path: str | Path, *, hint: str = "") -> Keys:
    """Read a key file; BadUsage where it is missing, not a key file, or open to others.

    `hint`: what to do where it is missing; without it, make one.
    """
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(MAX_BYTES)
    except OSError as error:
        hint = hint or f"`ethogram usage key new {path}` makes one"
        raise BadUsage(f"the key file {path} cannot be read: {error.strerror or error}; {hint}") from None
    if stat.S_ISREG(mode) and mode & 0o077:
        raise BadUsage(f"the key file {path} can be read by others; chmod 600 {path}, and consider a new key")
    lines = content.decode("ascii", "replace").split("\n")
    try:
        chain = tuple(bytes.fromhex(line) for line in lines[1:] if line)
    except ValueError:
        chain = ()
    is_valid = lines[0] == HEAD and 0 < len(chain) <= MAX_KEYS
    if not is_valid or any(len(key) != KEY_BYTES for key in chain):
        form = f"its first line is {HEAD!r}, and each further one a key of {2 * KEY_BYTES} hexadecimal digits"
        raise BadUsage(f"{path} is not a key file: {form}")
    return Keys(chain)


def write_keys(path: str | Path, keys: Keys) -> None:
    """Write a new key file that only its owner can read; BadUsage where a file exists.

    It is on the disk when this returns.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write("\n".join([HEAD, *(key.hex() for key in keys.chain), ""]))
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        exists = f"{path} is there already; a key is never written over: name another file"
        raise BadUsage(exists) from None
    except OSError as error:
        raise BadUsage(f"{path} cannot be written: {error.strerror or error}") from None


def own_key_file() -> Path | None:
    """The file of the user's own key, in their configuration folder, which need not exist."""
    return (folder := user_folder()) and folder / "usage.key"


def find_keys(
    keys: Keys | str | Path | None, *, has_store: bool = False, makes: bool = False
) -> tuple[Keys, Path | None]:
    """Return the keys of the argument, the environment or the user, and their file.

    BadUsage where there are none, unless it `makes` the user's own. `has_store`: whether the store exists
    already, so that a new key is of no use.
    """
    if isinstance(keys, Keys):
        return keys, None
    path = keys if keys is not None else os.environ.get(VARIABLE)
    if not path and (own := own_key_file()) is not None and (own.exists() or (makes and not has_store)):
        path = own
        if not own.exists():
            make_private_folder(own.parent)
            with suppress(BadUsage):  # another process was first
                write_keys(own, new_keys())
    if not path:
        hint = f"`ethogram usage key new FILE` makes one; name it with --key (key=...) or {VARIABLE}"
        if has_store:
            hint = f"name the file of the key that the store was made with: --key (key=...) or {VARIABLE}"
        raise BadUsage(f"no key given: ids of people are stored as keyed hashes; {hint}")
    hint = "name the one that the store was made with; no other finds anybody in it" if has_store else ""
    return read_keys(path, hint=hint), Path(path)


def waiting_file(key_file: str | Path) -> Path:
    """Where the new keys are during a rotation: beside the file itself, not beside a link to it."""
    return Path(f"{Path(key_file).resolve()}.new")


def name_of(keys: Keys, who: bytes | Pseudonym) -> bytes:
    """The name in files of a person, given by the first key's name or by that name itself."""
    if not isinstance(who, Pseudonym):
        return keys.final(who)
    try:
        name = bytes.fromhex(who)
    except ValueError:
        name = b""
    if len(name) != NAME_BYTES:
        raise BadUsage(f"invalid pseudonym {str(who)!r:.80}: expected {2 * NAME_BYTES} hexadecimal digits")
    return name
