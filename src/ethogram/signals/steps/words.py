"""Sets of words, written as one would say them."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text.

    >>> sorted(words("a b"))
    ['a', 'b']
    """
    return frozenset(text.split())
