"""Format: what turns one file format into event lines, and how a file is recognised."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, BinaryIO, ClassVar, Protocol, TypeVar

from .. import registry
from ..models.limits import Limits
from .errors import Unreadable
from .streams import BOM, LENIENT

# Adapter: what turns one format into event lines. One file each; nothing else has to change.
#
#     @adapter("my_format")
#     class MyFormat(Adapter):
#         def recognises(self, head: bytes, name: str) -> bool: ...
#         def read(self, file: Input) -> Iterator[Record]: ...
#
# What it yields is checked elsewhere; it only has to say the same in the words of an event line.

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
    particular = [item for item in known if not item.general]
    called = [item for item in known if name.lower().endswith(with_gz(item.suffixes))]
    if called and head.startswith(UTF_16):
        return _Refused()
    looked = particular + called + [item for item in known if item.general]
    return next((item for item in looked if item.recognises(head, name)), called[0] if called else None)


def with_gz(suffixes: Iterable[str]) -> tuple[str, ...]:
    """These ends of names, and the same of compressed files.

    >>> with_gz((".csv", ".tsv"))
    ('.csv', '.csv.gz', '.tsv', '.tsv.gz')
    """
    return tuple(end for suffix in suffixes for end in (suffix, f"{suffix}.gz"))


class _Refused(Adapter):
    """For a file that has the name of a known format and cannot be read as any."""

    def recognises(self, head: bytes, name: str) -> bool:
        return False

    def read(self, file: Input) -> Iterator[Record]:
        raise Unreadable(NOT_UTF_8)


def _instance(item: Any) -> Adapter:
    # An entry point of another package may name the class.
    result: Adapter = item() if isinstance(item, type) else item
    return result


# Heads: what a file begins with, read as far as it goes, though it may be cut in the middle.

LOOKED = 50
"""Records looked at: some formats begin with lines that say little."""
DEEPEST = 100
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]', re.DOTALL)
_HALF = re.compile(r"\\(u[0-9a-fA-F]{0,3})?$")
_CLOSE = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Head:
    """The first records of a JSON file: the elements of an array, the lines, or the one object."""

    records: tuple[Any, ...] = ()
    is_array: bool = False

    @property
    def objects(self) -> Iterator[Mapping[str, Any]]:
        """Those of the records that are objects."""
        return (record for record in self.records if isinstance(record, dict))

    @property
    def first(self) -> Mapping[str, Any]:
        """The first object; an empty one where there is none."""
        return next(self.objects, {})


@lru_cache(maxsize=2)
def look(head: bytes) -> Head:
    """What the first bytes of a file hold; nothing where they are not JSON.

    >>> look(b'{"a": 1}').first, look(b'[{"a": {"b": "cut off he').records
    ({'a': 1}, ({'a': {'b': 'cut off he'}},))
    """
    # Every adapter asks this of the same bytes, hence the cache.
    text = head.removeprefix(BOM).decode("utf-8", "ignore").lstrip()
    if text.startswith("["):
        value = partial(text)
        return Head(tuple(value[:LOOKED]), True) if isinstance(value, list) else Head()
    if whole := tuple(islice(_lines(text), LOOKED)):
        return Head(whole)
    value = partial(text) if text.startswith("{") else None
    return Head((value,)) if value is not None else Head()


def _lines(text: str) -> Iterator[Any]:
    """The objects of the first lines that are each one whole object."""
    for line in islice(text.splitlines(), 2 * LOOKED):
        if line.startswith("{") and line.rstrip().endswith("}"):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                continue


def partial(text: str) -> Any:
    """The value at the start of a JSON text, as far as it goes where the text is cut.

    >>> partial('{"a": [1, {"b": 2, "c": "cut'), partial('{"a": [1, {"b": 2, "c')
    ({'a': [1, {'b': 2, 'c': 'cut'}]}, {'a': [1, {'b': 2}]})
    """
    for end in (None, True, False):
        try:
            return LENIENT.raw_decode(text if end is None else _closed(text, end))[0]
        except (ValueError, RecursionError):
            continue
    return None


def _closed(text: str, with_last: bool) -> str:
    """The text up to the last place at which it can be ended, and ended there; or with the words cut off."""
    stack: list[str] = []
    at, before, open_then = 0, "", ""
    for token in _TOKEN.finditer(text):
        sign = text[token.start()]
        if sign == '"':
            if with_last and before == ":" and token.end() == len(text):
                return _HALF.sub("", text) + '"' + _closing(stack)
        elif sign in "{[":
            stack.append(sign)
            at = token.end()
        elif sign == ",":
            at = token.start()
        elif sign != ":":
            if not stack:
                break
            stack.pop()
            at = token.end()
        if len(stack) > DEEPEST:
            break
        before = sign
        open_then = "".join(stack) if sign not in ':"' else open_then
    return text[:at] + _closing(open_then)


def _closing(opened: Sequence[str]) -> str:
    return "".join(_CLOSE[item] for item in reversed(opened))
