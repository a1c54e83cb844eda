"""The embedder `letters`: hashed words and runs of letters, nothing known about meaning. The one to beat."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np

from .embedder import Vectors, embedder, unit
from .words import stems

WIDTH = 1024
_COMMON = """
    a an the and or but if so of to in on at by for with from as is are was were be been am it its
    this that these those i you he she we they me my your his her our their do doe did can could
    would should will may might what which who when where how why not no yes have has had get there
    here then than just some any all about into out up more very also one please
    """
COMMON = frozenset(_COMMON.split())
_TALK = """
    ok okay i'll i'm i've i'd it's that's don't lol well oh yes hi hello hey thank thanks
    """
SAYING_NOTHING = frozenset(_TALK.split())
"""As common in talk, and no more telling; they are not among `COMMON`, since how one talks may tell."""
SELDOM = 0.15
"""Weight of a common word beside 1 for any other: no counts of a language are needed for this."""


@lru_cache(maxsize=20_000)
def places(word: str) -> tuple[tuple[int, float], ...]:
    """Where a stem is added in the vector, with which weight: the word itself, and its runs of four
    letters."""
    weight = SELDOM if word in COMMON else 1.0
    parts = [(word, weight)]
    if weight == 1.0 and len(word) > 4:
        runs = [word[k : k + 4] for k in range(len(word) - 3)]
        parts += [("#" + run, weight * 0.5 / len(runs) ** 0.5) for run in runs]
    return tuple(_place(part, weight) for part, weight in parts)


def _place(part: str, weight: float) -> tuple[int, float]:
    # crc32 and not hash(): the same in every process. One bit of it is the sign, so that collisions
    # cancel on the whole.
    code = crc32(part.encode())
    return (code >> 1) % WIDTH, weight if code & 1 else -weight


def telling(words: Sequence[str]) -> int:
    """How many of the stems say anything by themselves.

    >>> telling(["ok", "i'll", "do", "it", "then"]), telling(["bake", "a", "cake"])
    (0, 2)
    """
    return sum(word not in COMMON and word not in SAYING_NOTHING for word in words)


def add_letters(row: list[float], words: Sequence[str]) -> None:
    """Adds the words to a row of `WIDTH` numbers."""
    for word in words:
        for place, weight in places(word):
            row[place] += weight


@embedder("letters")
class Letters:
    """Hashed words and letters."""

    name = "letters@1"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        rows = []
        for text in texts:
            row = [0.0] * WIDTH
            add_letters(row, stems(text))
            rows.append(row)
        return unit(np.array(rows, dtype=np.float32).reshape(len(rows), WIDTH))
