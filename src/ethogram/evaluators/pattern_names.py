"""Whether an answer names a pattern of the library, which an evaluator of one message must not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from ..library.load import SHIPPED

_TITLE = re.compile(r"^title:\s*['\"]?(.*?)['\"]?\s*$", re.MULTILINE)
_NO_WORD = re.compile(r"[^a-z0-9]+")


def names_a_pattern(value: object) -> bool:
    """Whether a name or title of a shipped pattern stands anywhere in a value, keys included.

    The value must be bounded in depth by whoever asks.

    >>> names_a_pattern({"note": ["this is Love-Bombing"]}), names_a_pattern("kind words")
    (True, False)
    """
    if isinstance(value, str):
        words = f" {_words(value)} "
        return any(name in words for name in _names())
    if isinstance(value, Mapping):
        return any(map(names_a_pattern, (*value, *value.values())))
    return isinstance(value, list | tuple) and any(map(names_a_pattern, value))


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    """Names and titles in plain words, with a space at either end."""
    found: set[str] = set()
    for path in SHIPPED.rglob("*.yaml"):
        title = _TITLE.search(path.read_text("utf-8"))
        found |= {_words(path.stem), _words(title[1] if title else "")}
    return tuple(f" {name} " for name in sorted(found) if name)


def _words(text: str) -> str:
    return _NO_WORD.sub(" ", text.lower()).strip()
