"""Grams: words compared by their parts, so that authenticate and authentication meet.

A part is three letters in a row, and falls into one of a few hundred buckets by its hash. How much a part
weighs is how rare its bucket is among the steps so far.
"""

from __future__ import annotations

import math
from functools import lru_cache
from zlib import crc32

BUCKETS = 256
SIZE = 3
NEAR = 0.6
"""Words that share less than this are not near: many words end alike."""


@lru_cache(maxsize=2_048)
def grams(word: str) -> frozenset[str]:
    """The parts of a word; where it begins counts as a letter.

    >>> sorted(grams("logs"))
    ['^lo', 'log', 'ogs']
    """
    whole = f"^{word}"
    return frozenset(whole[place : place + SIZE] for place in range(max(1, len(whole) - SIZE + 1)))


@lru_cache(maxsize=4_096)
def bucket(gram: str) -> int:
    """The bucket that a part falls into, the same on every machine."""
    return crc32(gram.encode("utf-8", "surrogatepass")) % BUCKETS


def counted(words: tuple[str, ...], seen: tuple[int, ...]) -> tuple[int, ...]:
    """In how many steps each bucket was seen, with a step of these words."""
    now = {bucket(one) for word in words for one in grams(word)}
    return tuple(min(count + (place in now), 9_999) for place, count in enumerate(seen))


@lru_cache(maxsize=64)
def _by_start(goal: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Words of the goal by their first two letters: others are not compared."""
    found: dict[str, list[str]] = {}
    for word in goal:
        if len(word) > SIZE:
            found.setdefault(word[:2], []).append(word)
    return {start: tuple(some) for start, some in found.items()}


def nearness(word: str, goal: tuple[str, ...], seen: tuple[int, ...]) -> float:
    """How much a word shares with the nearest word of the goal, 0 where that is not near.

    >>> nearness("authentication", ("authenticate", "user"), (0,) * BUCKETS) > 0.7
    True
    >>> nearness("station", ("authenticate",), (0,) * BUCKETS)
    0.0
    """
    if len(word) <= SIZE:
        return 0.0
    best = max((_alike(word, one, seen) for one in _by_start(goal).get(word[:2], ())), default=0.0)
    return best if best >= NEAR else 0.0


def _alike(word: str, other: str, seen: tuple[int, ...]) -> float:
    """The weight of the parts two words share, over that of the parts of both on average."""
    a, b = grams(word), grams(other)
    most = max(seen, default=0) + 1
    weights = {one: math.log(1 + most / (1 + seen[bucket(one)])) for one in a | b}
    both, whole = sum(weights[one] for one in a & b), sum(weights[one] for one in a)
    return 2 * both / (whole + sum(weights[one] for one in b))
