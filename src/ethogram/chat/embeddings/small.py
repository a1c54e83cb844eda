"""The embedders `small` and `letters`, which need NumPy alone.

`letters` hashes words and runs of letters. `small` adds the concepts of a table of words, so that two texts
without a word in common can still be near.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from zlib import crc32

import numpy as np

from ...data import DATA
from ..words import stem
from .base import Vectors, embedder, stems, unit

WIDTH = 1024
_COMMON = """
    a an the and or but if so of to in on at by for with from as is are was were be been am it its
    this that these those i you he she we they me my your his her our their do doe did can could
    would should will may might what which who when where how why not no yes have has had get there
    here then than just some any all about into out up more very also one please
    """
COMMON = frozenset(_COMMON.split())
# As common in talk, but not among COMMON, since the manner of talking may matter.
SAYING_NOTHING = frozenset((
    "ok", "okay", "i'll", "i'm", "i've", "i'd", "it's", "that's", "don't", "lol", "well", "oh", "yes", "hi",
    "hello", "hey", "thank", "thanks",
))  # fmt: skip
SELDOM = 0.15  # weight of a common word; that of any other is 1
CONCEPTS = DATA / "embeddings" / "concepts.txt"
MEANING, LETTERS = 1.0, 0.7  # shares of concepts and letters in `small`


@lru_cache(maxsize=20_000)
def places(word: str) -> tuple[tuple[int, float], ...]:
    """The positions and weights of a stem in the vector: the word, and its runs of four letters."""
    weight = SELDOM if word in COMMON else 1.0
    parts = [(word, weight)]
    if weight == 1.0 and len(word) > 4:
        runs = [word[k : k + 4] for k in range(len(word) - 3)]
        parts += [("#" + run, weight * 0.5 / len(runs) ** 0.5) for run in runs]
    return tuple(_place(part, weight) for part, weight in parts)


def _place(part: str, weight: float) -> tuple[int, float]:
    # crc32 is the same in every process. One bit of it is the sign, so that collisions cancel on average.
    code = crc32(part.encode())
    return (code >> 1) % WIDTH, weight if code & 1 else -weight


def telling(words: Sequence[str]) -> int:
    """How many of the stems carry content.

    >>> telling(["ok", "i'll", "do", "it", "then"]), telling(["bake", "a", "cake"])
    (0, 2)
    """
    return sum(word not in COMMON and word not in SAYING_NOTHING for word in words)


def hashed(texts: Iterable[Sequence[str]]) -> Vectors:
    """One row of `WIDTH` numbers for the stems of each text."""
    rows = []
    for words in texts:
        row = [0.0] * WIDTH
        for word in words:
            for place, weight in places(word):
                row[place] += weight
        rows.append(row)
    return unit(np.array(rows, dtype=np.float32).reshape(len(rows), WIDTH))


@embedder("letters")
class Letters:
    """Hashed words and letters."""

    name = "letters@1"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        return hashed(map(stems, texts))


@cache
def table() -> tuple[tuple[str, ...], dict[str, tuple[int, ...]], dict[str, int]]:
    """The names of concepts, the concepts of each phrase of stems, and the longest phrase by first stem."""
    names: list[str] = []
    known: dict[str, dict[int, None]] = {}
    for line in CONCEPTS.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, words = line.partition(":")
            for word in words.split():
                known.setdefault("_".join(map(stem, word.split("_"))), {})[len(names)] = None
            names.append(name)
    longest: dict[str, int] = {}
    for key in known:
        parts = key.split("_")
        longest[parts[0]] = max(longest.get(parts[0], 1), len(parts))
    return tuple(names), {key: tuple(places) for key, places in known.items()}, longest


def concepts(words: Sequence[str]) -> list[float]:
    """How much of each concept the stems hold: 1 for the longest phrase, shared among its concepts.

    >>> held = concepts(stems("He shoots the ball, just to kill time"))
    >>> [table()[0][k] for k, value in enumerate(held) if value]
    ['shoot', 'figure']
    """
    names, known, longest = table()
    held = [0.0] * len(names)
    k = 0
    while k < len(words):
        step = 1
        for length in range(min(longest.get(words[k], 0), len(words) - k), 0, -1):
            places = known.get("_".join(words[k : k + length]))
            if places:
                for place in places:
                    held[place] += 1 / len(places) ** 0.5
                step = length
                break
        k += step
    return held


@embedder("small")
class Small:
    """Concepts of our own table, and letters."""

    name = "small@2"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text: the concepts, then the letters."""
        words = [stems(text) for text in texts]
        held = np.array([concepts(each) for each in words], dtype=np.float32)
        # The root keeps a word that is repeated ten times from drowning the rest.
        first = unit(np.sqrt(held.reshape(len(words), len(table()[0]))))
        return unit(np.hstack([MEANING * first, LETTERS * hashed(words)]))
