"""Adapters: what turns one file format into event lines, and how a file's format is recognised."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, BinaryIO, ClassVar, Protocol, TypeVar

from .. import registry
from ..models.limits import Limits
from ..models.slotted import dataclass, field
from .errors import Unreadable
from .ledger import Ledger
from .streams import BOM, LENIENT

HEAD = 256 * 1024
"""How many bytes an adapter may look at: some formats can be recognised only after many lines."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
NOT_TEXT = "not text: the file holds zero bytes"
NOT_UTF_8 = "the file is UTF-16: expected UTF-8"

Record = tuple[int, dict[str, Any] | str, int]
"""(line, an event line as a dict, 0), or (line, what is wrong with that line, column)."""


class Skipped(str):
    """In place of a message: a record of a type the adapter leaves out on purpose. Counted, not a fault."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Input:
    """One file being read. `stream` stands at its first byte and may not be able to seek.

    `head` is what the stream begins with, `kinds` says which signals are numbers and which categories.
    Adapters of tables count in `strays` the cells of attribute columns that look like misspelt signals. Those
    of formats of other programs show the `ledger` each document.
    """

    name: str
    stream: BinaryIO
    head: bytes
    kinds: Mapping[str, str]
    limits: Limits
    strays: Counter[str] = field(default_factory=Counter)
    ledger: Ledger = field(default_factory=Ledger)


class Adapter(Protocol):
    """One format. Events are checked elsewhere; an adapter only maps its records to event lines.

        @adapter("my_format")
        class MyFormat(Adapter):
            def recognises(self, head: bytes, name: str) -> bool: ...
            def read(self, file: Input) -> Iterator[Record]: ...

    Reading may raise Unreadable where a file cannot be read any further.
    """

    general: ClassVar[bool] = False
    """True for formats that say little about their content: tried only when no other recognises a file."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Lower-case ends of names that decide where the content does not clearly show another format."""
    is_text: ClassVar[bool] = True
    """False for formats of bytes."""

    def recognises(self, head: bytes, name: str) -> bool:
        """Return whether a file that begins like this (the whole file if it is short) has this format."""
        ...

    def read(self, file: Input) -> Iterator[Record]:
        """Yield the event lines of a file, in its order."""
        ...


def read_records(adapter: Adapter, file: Input) -> Iterator[Record]:
    """Yield what an adapter makes of a file, and note in the file's ledger what became an event."""
    ledger = file.ledger
    for record in adapter.read(file):
        if isinstance(record[1], dict):
            ledger.take(record[1])
        yield record


A = TypeVar("A", bound=Adapter)


def adapter(name: str) -> Callable[[type[A]], type[A]]:
    """Return the decorator that registers an adapter."""

    def register(kind: type[A]) -> type[A]:
        registry.adapters.add(name, kind())
        return kind

    return register


def choose(head: bytes, name: str) -> Adapter | None:
    """Return the adapter for a file, or None: a particular format first, then a general one with its suffix.

    Where the content does not fit the name, the content decides; the name, if the content is unknown. Raises
    Unreadable for a UTF-16 or binary file with the suffix of a text.
    """
    # An entry point of another package may name the class.
    known: list[Adapter] = [
        item() if isinstance(item, type) else item for _, item in registry.adapters.items()
    ]
    particular = [item for item in known if not item.general]
    by_name = [item for item in known if name.lower().endswith(with_gz(item.suffixes))]
    if by_name and head.startswith(UTF_16):
        raise Unreadable(NOT_UTF_8)
    ordered = particular + by_name + [item for item in known if item.general]
    known_by = next((item for item in ordered if item.recognises(head, name)), None)
    if known_by is None and by_name and by_name[0].is_text and b"\0" in head:
        raise Unreadable(NOT_TEXT)
    return known_by or (by_name[0] if by_name else None)


def with_gz(suffixes: Iterable[str]) -> tuple[str, ...]:
    """Return these ends of names, and the same for compressed files.

    >>> with_gz((".csv", ".tsv"))
    ('.csv', '.csv.gz', '.tsv', '.tsv.gz')
    """
    return tuple(end for suffix in suffixes for end in (suffix, f"{suffix}.gz"))


# The first records of a JSON file; the last may be cut.

HEAD_RECORDS = 50
"""Records inspected: some formats begin with uninformative lines."""
DEEPEST = 100
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]', re.DOTALL)
_CUT_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{0,3})?$")
_CLOSE = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Head:
    """The first records of a JSON file: the elements of an array, the lines, or the one object."""

    records: tuple[Any, ...] = ()
    is_array: bool = False

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The records that are objects."""
        return [record for record in self.records if isinstance(record, dict)]

    @property
    def first(self) -> dict[str, Any]:
        """The first object; an empty one where there is none."""
        return next(iter(self.objects), {})


class JsonAdapter(Adapter):
    """A format of JSON files, recognised by the first records of a file."""

    def recognises(self, head: bytes, name: str) -> bool:
        return self.matches(parse_head(head))

    def matches(self, head: Head) -> bool:
        """Return whether a file that begins with these records has this format."""
        raise NotImplementedError


@lru_cache(maxsize=2)  # every adapter asks for the same bytes
def parse_head(head: bytes) -> Head:
    """Return the first records of a file; none where it is not JSON.

    >>> parse_head(b'{"a": 1}').first, parse_head(b'[{"a": {"b": "cut off he').records
    ({'a': 1}, ({'a': {'b': 'cut off he'}},))
    """
    text = head.removeprefix(BOM).decode("utf-8", "ignore").lstrip()
    if text.startswith("["):
        array = parse_cut(text)
        return Head(tuple(array[:HEAD_RECORDS]), True) if isinstance(array, list) else Head()
    if objects := tuple(islice(_object_lines(text), HEAD_RECORDS)):
        return Head(objects)
    value = parse_cut(text) if text.startswith("{") else None
    return Head((value,)) if value is not None else Head()


def _object_lines(text: str) -> Iterator[Any]:
    for line in islice(text.splitlines(), 2 * HEAD_RECORDS):
        if line.startswith("{") and line.rstrip().endswith("}"):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                continue


def parse_cut(text: str) -> Any:
    """Return the value at the start of a JSON text, as far as it goes where the text is cut.

    >>> parse_cut('{"a": [1, {"b": 2, "c": "cut'), parse_cut('{"a": [1, {"b": 2, "c')
    ({'a': [1, {'b': 2, 'c': 'cut'}]}, {'a': [1, {'b': 2}]})
    """
    for with_last in (None, True, False):
        try:
            return LENIENT.raw_decode(text if with_last is None else _close(text, with_last))[0]
        except (ValueError, RecursionError):
            continue
    return None


def _close(text: str, with_last: bool) -> str:
    """End the text at the last place where that is possible; `with_last` keeps a value that is cut."""
    stack: list[str] = []
    end, before, open_at_end = 0, "", ""
    for token in _TOKEN.finditer(text):
        sign = text[token.start()]
        if sign == '"':
            if with_last and before == ":" and token.end() == len(text):
                return _CUT_ESCAPE.sub("", text) + '"' + _closing(stack)
        elif sign in "{[":
            stack.append(sign)
            end = token.end()
        elif sign == ",":
            end = token.start()
        elif sign != ":":
            if not stack:
                break
            stack.pop()
            end = token.end()
        if len(stack) > DEEPEST:
            break
        before = sign
        open_at_end = "".join(stack) if sign not in ':"' else open_at_end
    return text[:end] + _closing(open_at_end)


def _closing(opened: Sequence[str]) -> str:
    return "".join(_CLOSE[sign] for sign in reversed(opened))
