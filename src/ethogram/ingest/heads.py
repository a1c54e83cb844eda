"""Heads: what a file begins with, read as far as it goes, though it may be cut in the middle."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from .strict_json import BOM

LOOKED = 50
"""Records looked at: some formats begin with lines that say little."""
DEEPEST = 100
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]', re.DOTALL)
_HALF = re.compile(r"\\(u[0-9a-fA-F]{0,3})?$")
_CLOSE = {"{": "}", "[": "]"}
_JSON = json.JSONDecoder(parse_constant=lambda name: None)


@dataclass(frozen=True, slots=True)
class Head:
    """The first records of a JSON file: the elements of an array, the lines, or the one object."""

    records: tuple[Any, ...] = ()
    is_array: bool = False

    @property
    def objects(self) -> Iterator[Mapping[str, Any]]:
        """Those of the records that are objects."""
        return (one for one in self.records if isinstance(one, dict))

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
        found = partial(text)
        return Head(tuple(found[:LOOKED]), True) if isinstance(found, list) else Head()
    if whole := tuple(islice(_lines(text), LOOKED)):
        return Head(whole)
    found = partial(text) if text.startswith("{") else None
    return Head((found,)) if found is not None else Head()


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
            return _JSON.raw_decode(text if end is None else _closed(text, end))[0]
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
    return "".join(_CLOSE[one] for one in reversed(opened))
