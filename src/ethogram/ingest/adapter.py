"""Adapter: what turns one format into event lines. One file each; nothing else has to change.

    @adapter("my_format")
    class MyFormat(Adapter):
        def recognises(self, head: bytes, name: str) -> bool: ...
        def read(self, file: Input) -> Iterator[Record]: ...

What it yields is checked elsewhere; it only has to say the same in the words of an event line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar, Protocol, TypeVar

from .. import registry
from .limits import Limits

HEAD = 256 * 1024
"""How many bytes an adapter may look at: some formats show what they are only after many lines."""

Record = tuple[int, dict[str, Any] | str, int]
"""(line, an event line as a dict, 0), or (line, what is wrong with that line, column)."""


class Skipped(str):
    """In place of a message: a record of a type the adapter leaves out on purpose. Counted, not a fault."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Input:
    """One file being read. `stream` stands at its first byte and may not be able to seek.

    `head` is what the stream begins with, `kinds` says which signals are numbers and which categories.
    """

    name: str
    stream: BinaryIO
    head: bytes
    kinds: Mapping[str, str]
    limits: Limits


class Adapter(Protocol):
    """One format. Reading may raise Unreadable where a file cannot be read any further."""

    general: ClassVar[bool] = False
    """True for formats that say little about their content: asked only when no other recognises a file."""

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
    """The adapter for a file, or None: first by particular formats, then by general ones, each by name."""
    known = [_instance(item) for _, item in registry.adapters.items()]
    for one in sorted(known, key=lambda item: item.general):
        if one.recognises(head, name):
            return one
    return None


def _instance(item: Any) -> Adapter:
    # An entry point of another package may name the class.
    found: Adapter = item() if isinstance(item, type) else item
    return found
