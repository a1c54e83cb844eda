"""The embedder `static`, which ships with the package and needs NumPy alone.

A text is the sum of the vectors of its word pieces. The vectors were fitted so that these sums point where
the sentence vectors of all-MiniLM-L6-v2 (Apache-2.0) point; docs/quality.md says on what and how well, and
benchmarks/embedder/train.py does it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from ...data import DATA
from .base import MOST_CHARACTERS, Vectors, unit

FILE = DATA / "embeddings" / "static.npz"
LONGEST_WORD = 60  # characters; a longer one is no word
_QUOTES = str.maketrans("’‘“”", "''\"\"")
_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")


@cache
def table() -> tuple[dict[str, int], NDArray[np.int8], NDArray[np.float32]]:
    """The rows of the word pieces, the rows as whole numbers, and what to multiply each with."""
    with np.load(FILE) as file:
        pieces = bytes(file["pieces"]).decode().split("\n")
        return {piece: row for row, piece in enumerate(pieces)}, file["rows"], file["scales"]


@lru_cache(maxsize=50_000)
def pieces(word: str) -> tuple[int, ...]:
    """The rows of the pieces of a lower-case word."""
    return rows_of_word(word, table()[0])


def rows_of_word(word: str, known: Mapping[str, int]) -> tuple[int, ...]:
    """The rows of the pieces of a word: the longest known piece first, then the rest.

    A word that is not made of known pieces has none.

    >>> rows_of_word("locksmith", {"lock": 0, "##smith": 1, "##s": 2}), rows_of_word("lox", {"lo": 0})
    ((0, 1), ())
    """
    rows: list[int] = []
    start = 0
    while start < len(word) <= LONGEST_WORD:
        for end in range(len(word), start, -1):
            row = known.get(("##" if start else "") + word[start:end])
            if row is not None:
                rows.append(row)
                start = end
                break
        else:
            return ()
    return tuple(rows)


def words(text: str) -> list[str]:
    """The words and signs of a text, in lower case and without accents.

    >>> words("Don't, Zoë!")
    ['don', "'", 't', ',', 'zoe', '!']
    """
    text = text[:MOST_CHARACTERS].lower().translate(_QUOTES)
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return _WORD.findall(text)


def rows_of(text: str) -> list[int]:
    """The rows of the pieces of a text, in order."""
    return [row for word in words(text) for row in pieces(word)]


def sum_of(rows: Sequence[int]) -> Vectors:
    """The sum of the vectors of these rows."""
    _, numbers, scales = table()
    # Not a matrix product: it starts the threads of NumPy's linear algebra, which spin while they wait.
    return np.asarray(np.einsum("i,ij->j", scales[rows], numbers[rows]), dtype=np.float32)


def row_count() -> int:
    """How many word pieces there are."""
    return len(table()[0])


class Static:
    """Sums of fitted vectors of word pieces."""

    name = "static@1"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        sums = np.zeros((len(texts), table()[1].shape[1]), dtype=np.float32)
        for k, text in enumerate(texts):
            sums[k] = sum_of(rows_of(text))
        return unit(sums)
