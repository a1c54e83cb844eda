"""A ledger of what a file of another program holds: objects with content, and those that became no event.

A format reads the keys and values that it knows, so a new version that renames one would lose events without
a word. The ledger walks each document without knowing its format, and counts the objects in it that carry
content: the items of lists or, where a document has none, the document itself. An object was read where one
of its texts stands in an event, or where its format says that it leaves it out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from .streams import LENIENT
from .values import words

MAX_PLACES = 5
"""Places of unread objects that are named."""
MAX_DEPTH = 60
PREFIX_LENGTH = 16
"""Characters of a line by which it is found again in a text that was joined, cut or parsed."""
MAX_LINES = 200
"""Lines looked at of one text."""
BESIDE = words("tools tool_definitions functions annotations citations logprobs metrics metadata meta usage")
"""Keys of any format under which no events lie: definitions, measures, what is known of the run."""
TOP = "the top level"
NAMES = words("id uuid type role kind name actor author speaker sender user username agent")
"""Last words of keys under which no text is content, whatever its length."""
LABELS = NAMES | words(
    "status state source model time timestamp date at reason version key format provider level mode action "
    "language signature url encoding environment code data created object "
    "fingerprint tier duration hash sha digest"
)
"""Last words of keys under which one word is none: it says what an object is, and nothing that it holds."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
OF_RUN = frozenset(("task", "label", "labels", "cwd", "model"))
"""Attributes of a first event that say what is known of the run."""
PAIR = {"key", "value"}
"""Keys of an attribute as OTLP writes it: part of the object around it."""


@lru_cache(4096)
def _last_word(key: str) -> str:
    """Return the last word of a key in any spelling.

    >>> _last_word("toolCallId"), _last_word("span_name"), _last_word("said")
    ('id', 'name', 'said')
    """
    found = _WORD.findall(key)
    return found[-1].lower() if found else key


@lru_cache(64)
def _keys_beside(own: frozenset[str]) -> frozenset[str]:
    """Return the keys of a format and of any under which no events lie."""
    return BESIDE | own


class _Object:
    """An object with content that no event holds so far.

    Each of its own texts must be in an event; where it has none, one of those in the mappings inside it;
    where there is none and no list of objects either, one word.
    """

    __slots__ = ("has_items", "inner", "own", "path", "words")

    def __init__(self, path: str) -> None:
        self.path = path
        self.own: list[str] = []
        self.inner: list[str] = []
        self.words: list[str] = []
        self.has_items = False

    @property
    def strings(self) -> list[str]:
        """What counts as its content."""
        return self.own or self.inner or ([] if self.has_items else self.words)


class Ledger:
    """What was seen in one file or several, and what of it was not read.

    >>> ledger = Ledger()
    >>> said, lost = {"content": "Hello there."}, {"said": "Good bye."}
    >>> ledger.see({"messages": [said, lost]})
    >>> ledger.take({"subject": "ann", "text": said["content"]})
    >>> ledger.left_out()
    {'of 2 objects in the input became no event (1 in messages[])': 1}
    """

    def __init__(self) -> None:
        self.seen = 0
        self._unread: Counter[str] = Counter()
        # By the identity of their texts: most reach an event as they are. The objects keep them alive.
        self._waiting: dict[int, _Object] = {}
        self._texts: set[int] = set()
        self._lines: set[int] = set()

    def see(self, document: Any, beside: Iterable[str] = (), *, is_object: bool = False) -> None:
        """Count the objects of a document; nothing under the keys that lie `beside` its events.

        `is_object`: a document with objects is one itself.
        """
        seen, around = self.seen, _Object("")
        self._walk(document, around, _keys_beside(frozenset(beside)), MAX_DEPTH, is_own=True)
        if is_object or (self.seen == seen and not around.has_items):
            self._wait_for(around)

    def _walk(
        self, value: Any, around: _Object, beside: frozenset[str], deeper: int, *, is_own: bool = False
    ) -> None:
        """Add the texts of a value to the object around it; the items of lists are objects of their own."""
        if type(value) is list:
            self._walk_list(value, around, beside, deeper)
        if type(value) is not dict:
            return
        path, texts = around.path, around.own if is_own else around.inner
        for key, inner in value.items():
            kind = type(inner)
            if kind is str:
                if " " in inner or "\n" in inner:
                    if key not in beside and _last_word(key) not in NAMES:
                        texts.append(inner)
                elif len(inner) > 1 and _last_word(key) not in LABELS:
                    around.words.append(inner)
            elif inner and (kind is dict or kind is list) and deeper and key not in beside:
                around.path = f"{path}.{key}" if path else key
                self._walk(inner, around, beside, deeper - 1)
        around.path = path

    def _walk_list(self, items: list[Any], around: _Object, beside: frozenset[str], deeper: int) -> None:
        for inner in items:
            kind = type(inner)
            if kind is str:
                if " " in inner or "\n" in inner:
                    around.inner.append(inner)
            elif not inner or not deeper:
                continue
            elif kind is list:
                self._walk_list(inner, around, beside, deeper - 1)
            elif kind is dict and inner.keys() != PAIR:
                around.has_items, item = True, _Object(f"{around.path}[]")
                self._walk(inner, item, beside, deeper - 1, is_own=True)
                self._wait_for(item)
            elif kind is dict and not (isinstance(inner["key"], str) and inner["key"] in beside):
                own = inner["value"] if type(inner["value"]) is dict else {"value": inner["value"]}
                self._walk(own, around, beside, deeper - 1, is_own=True)

    def _wait_for(self, item: _Object) -> None:
        strings = item.strings
        if strings and any(map(_has_content, strings)):
            self.seen += 1
            for text in strings:
                self._waiting[id(text)] = item

    def take(self, event: Mapping[str, Any]) -> None:
        """Note what an event line holds, without what its first one says of the run as a whole."""
        if self._waiting:
            attributes = event.get("attributes") or {}
            told = [value for key, value in attributes.items() if key not in OF_RUN]
            told.append(event.get("text"))
            self._note(told)

    def settle(self, value: Any) -> None:
        """Note that a record was left out on purpose, or is listed as a fault."""
        if not self._waiting:
            return
        for text in _strings_in(value):
            if (item := self._waiting.get(id(text))) is not None:
                for string in item.strings:
                    self._waiting.pop(id(string), None)

    def _note(self, value: Any) -> None:
        waiting, texts = self._waiting, self._texts
        for text in _strings_in(value):
            if (item := waiting.pop(id(text), None)) is not None:
                for string in () if item.own else item.strings:
                    waiting.pop(id(string), None)
                texts.add(hash(text))
            elif (digest := hash(text)) not in texts:
                texts.add(digest)
                if " " in text or "\n" in text:
                    self._lines.update(_prefixes(text))

    def unread(self) -> Counter[str]:
        """Return how many objects became no event or only a part of one, by where they lie."""
        waiting, self._waiting = self._waiting, {}
        left = {id(item): item for item in waiting.values()}
        for item in left.values():
            # Of its own texts those still wait that no event has as they are.
            texts = [text for text in item.own if id(text) in waiting]
            known = map(self._is_known, texts or item.strings)
            if not (all(known) if texts else any(known)):
                self._unread[item.path or TOP] += 1
        return self._unread

    def _is_known(self, text: str) -> bool:
        """Whether an event holds a text in another form, or has it from another object."""
        contents = _contents(text)
        return not contents or any(
            hash(text) in self._texts
            # A line of one word may be all that an event holds of it.
            or any(digest in self._lines or digest in self._texts for digest in _prefixes(text))
            for text in contents
        )

    def add(self, other: Ledger) -> None:
        """Add the counts of another ledger, which is complete."""
        self.seen += other.seen
        self._unread.update(other.unread())

    def left_out(self) -> dict[str, int]:
        """Return what is to be told, as one reason and its count; empty where all was read."""
        unread = self.unread()
        if not unread:
            return {}
        first = sorted(unread.items(), key=lambda item: (-item[1], item[0]))[:MAX_PLACES]
        places = [f"{count:,} in {path}" for path, count in first]
        more = unread.total() - sum(count for _, count in first)
        listed = ", ".join([*places, *([f"{more:,} elsewhere"] if more else [])])
        noun = "object" if self.seen == 1 else "objects"
        return {f"of {self.seen:,} {noun} in the input {BECAME_NO_EVENT} ({listed})": unread.total()}


BECAME_NO_EVENT = "became no event"


def _strings_in(value: Any) -> Iterator[str]:
    """Yield every text in a value, but no key."""
    stack: list[Iterable[Any]] = [(value,)]
    while stack:
        for inner in stack.pop():
            kind = type(inner)
            if kind is str:
                yield inner
            elif kind is dict:
                stack.append(inner.values())
            elif kind is list or kind is tuple:
                stack.append(inner)


def _has_content(text: str) -> bool:
    return not text.isspace() and text not in ("{}", "[]")


def _prefixes(text: str) -> Iterator[int]:
    """Yield the beginning of each line of a text, as a hash."""
    for line in text.splitlines()[:MAX_LINES]:
        if line := line.strip():
            yield hash(line[:PREFIX_LENGTH])


def _contents(text: str) -> list[str]:
    """Return a text, or what is no label of the texts in it where it is JSON."""
    stripped = text.strip()
    if stripped[:1] not in ("{", "["):
        return [text] if stripped else []
    try:
        stack, contents = [LENIENT.decode(stripped)], list[str]()
    except (ValueError, RecursionError):
        return [text]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            contents.append(value)
        elif isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(inner for key, inner in value.items() if _last_word(key) not in LABELS)
    return contents
