"""The embedders `small` and `letters`, which ship with the package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from zlib import crc32

import numpy as np

from ...data import DATA
from .base import Vectors, embedder, stem, stems, unit

# The embedder `letters`: hashed words and runs of letters, nothing known about meaning. The one to beat.

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
SELDOM = 0.15  # weight of a common word beside 1 for any other: no counts of a language are needed for this


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


# The embedder `small`: what words are about, by a table of our own, beside hashed words and letters.
#
# Works out of the box: no download, no weights, NumPy alone. A word that the table knows adds to its
# concepts, so that two
# texts without a word in common can still be near. What the table does not know is compared by its letters.

CONCEPTS = DATA / "embeddings" / "concepts.txt"
MEANING, LETTERS = 1.0, 0.7
"""Shares of the two parts. Letters alone know no meaning; concepts alone find every two texts about
cooking equal."""


@cache
def table() -> tuple[tuple[str, ...], dict[str, tuple[int, ...]], dict[str, int]]:
    """The names of the concepts; which each stem or phrase of stems belongs to; how long phrases with a
    first word are."""
    names: list[str] = []
    record: dict[str, list[int]] = {}
    for name, words in _lines():
        for word in words:
            key = "_".join(stem(part) for part in word.split("_"))
            known = record.setdefault(key, [])
            if len(names) not in known:
                known.append(len(names))
        names.append(name)
    longest: dict[str, int] = {}
    for key in record:
        parts = key.split("_")
        longest[parts[0]] = max(longest.get(parts[0], 1), len(parts))
    return tuple(names), {key: tuple(places) for key, places in record.items()}, longest


def _lines() -> Iterator[tuple[str, list[str]]]:
    for line in CONCEPTS.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, words = line.partition(":")
            yield name, words.split()


def concepts(words: Sequence[str]) -> list[float]:
    """How much of each concept the words hold: 1 for a word, shared where it belongs to several; the
    longest phrase counts.

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
        meant, spelt = [], []
        for text in texts:
            words = stems(text)
            meant.append(concepts(words))
            row = [0.0] * WIDTH
            add_letters(row, words)
            spelt.append(row)
        # The root keeps one word that is said ten times from drowning the rest.
        first = unit(np.sqrt(np.array(meant, dtype=np.float32).reshape(len(meant), len(table()[0]))))
        second = unit(np.array(spelt, dtype=np.float32).reshape(len(spelt), WIDTH))
        return unit(np.hstack([MEANING * first, LETTERS * second]))
