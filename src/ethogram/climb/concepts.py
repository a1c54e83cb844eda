"""Concepts: words that name one thing count as one where two requests are compared."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

from .sections import lines_of
from .words import rarity, stem


@cache
def _groups() -> dict[str, str]:
    """The first word of its group for each word; of a word in two groups the first."""
    groups: dict[str, str] = {}
    for line in lines_of("concepts"):
        first, *_ = words = [stem(word) for word in line.split()]
        for word in words:
            groups.setdefault(word, first)
    return groups


@lru_cache(maxsize=1 << 14)
def concept(word: str) -> str:
    """What a stem is compared as."""
    return _groups().get(word, word)


def same_request(one: Iterable[str], other: Iterable[str]) -> float:
    """How far two sets of stems name the same things, 0 to 1: shared rarity over that of the smaller set.

    The smaller, since a request wrapped in a story is still the request.

    >>> same_request({"pick", "lock"}, {"open", "door", "key"}) > 0.3
    True
    """
    a, b = frozenset(map(concept, one)), frozenset(map(concept, other))
    if not a or not b:
        return 0.0
    shared = sum(map(_weight, a & b))
    return min(1.0, shared / max(1e-9, min(sum(map(_weight, a)), sum(map(_weight, b)))))


def _weight(word: str) -> float:
    return 0.2 + rarity(word)


def near_equal(one: Iterable[str], other: Iterable[str]) -> float:
    """How nearly two sets of stems are the same, 0 to 1: shared over all, each word by its own form."""
    a, b = frozenset(one), frozenset(other)
    return len(a & b) / len(a | b) if a or b else 0.0
