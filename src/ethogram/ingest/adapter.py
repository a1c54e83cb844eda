"""Adapter: what turns one format into event lines. One file each; nothing else has to change.

    @adapter("my_format")
    class MyFormat(Adapter):
        def recognises(self, head: bytes, name: str) -> bool: ...
        def read(self, file: Input) -> Iterator[Record]: ...

What it yields is checked elsewhere; it only has to say the same in the words of an event line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar, Protocol, TypeVar

from .. import registry
from .errors import Unreadable
from .limits import Limits

HEAD = 256 * 1024
"""How many bytes an adapter may look at: some formats show what they are only after many lines."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
NOT_UTF_8 = "this is UTF-16; save it as UTF-8"

Record = tuple[int, dict[str, Any] | str, int]
"""(line, an event line as a dict, 0), or (line, what is wrong with that line, column)."""


class Skipped(str):
    """In place of a message: a record of a type the adapter leaves out on purpose. Counted, not a fault."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Input:
    """One file being read. `stream` stands at its first byte and may not be able to seek.

    `head` is what the stream begins with, `kinds` says which signals are numbers and which categories. A
    reader of tables counts in `strays` the cells of columns kept as attributes that look like signals.
    """

    name: str
    stream: BinaryIO
    head: bytes
    kinds: Mapping[str, str]
    limits: Limits
    strays: Counter[str] = field(default_factory=Counter)


class Adapter(Protocol):
    """One format. Reading may raise Unreadable where a file cannot be read any further."""

    general: ClassVar[bool] = False
    """True for formats that say little about their content: asked only when no other recognises a file."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Ends of names, in small letters, that decide where the content does not clearly say another format."""

    def recognises(self, head: bytes, name: str) -> bool:
        """Whether a file that begins like this (the whole file if it is short) is of this format."""
        ...

    def read(self, file: Input) -> Iterator[Record]:
        """The event lines of a file, in its order."""
        ...


A = TypeVar("A", bound=Adapter)


def adapter(name: str) -> Callable[[type[A]], type[A]]:
    """The decorator that makes an adapter known."""

    def register(kind: type[A]) -> type[A]:
        registry.adapters.add(name, kind())
        return kind

    return register


def choose(head: bytes, name: str) -> Adapter | None:
    """The adapter for a file, or None: by particular formats, then by general ones whose name it has.

    Where the content does not fit the name, what it looks like decides; the name, if it looks like nothing.
    """
    known = [_instance(item) for _, item in registry.adapters.items()]
    particular = [one for one in known if not one.general]
    called = [one for one in known if name.lower().endswith(with_gz(one.suffixes))]
    if called and head.startswith(UTF_16):
        return _Refused()
    looked = particular + called + [one for one in known if one.general]
    return next((one for one in looked if one.recognises(head, name)), called[0] if called else None)


def with_gz(suffixes: Iterable[str]) -> tuple[str, ...]:
    """These ends of names, and the same of compressed files.

    >>> with_gz((".csv", ".tsv"))
    ('.csv', '.csv.gz', '.tsv', '.tsv.gz')
    """
    return tuple(end for one in suffixes for end in (one, f"{one}.gz"))


class _Refused(Adapter):
    """For a file that has the name of a known format and cannot be read as any."""

    def recognises(self, head: bytes, name: str) -> bool:
        return False

    def read(self, file: Input) -> Iterator[Record]:
        raise Unreadable(NOT_UTF_8)


def _instance(item: Any) -> Adapter:
    # An entry point of another package may name the class.
    found: Adapter = item() if isinstance(item, type) else item
    return found
