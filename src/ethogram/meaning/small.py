"""The embedder `small`: what words are about, by a table of our own, beside hashed words and letters.

Works out of the box: no download, no weights, NumPy alone. A word that the table knows adds to its
concepts, so that two
texts without a word in common can still be near. What the table does not know is compared by its letters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from .embedder import Vectors, embedder, unit
from .letters import WIDTH, add_letters
from .words import stem, stems

CONCEPTS = Path(__file__).parent / "content" / "concepts.txt"
MEANING, LETTERS = 1.0, 0.7
"""Shares of the two parts. Letters alone know no meaning; concepts alone find every two texts about
cooking equal."""


@cache
def table() -> tuple[tuple[str, ...], dict[str, tuple[int, ...]], dict[str, int]]:
    """The names of the concepts; which each stem or phrase of stems belongs to; how long phrases with a
    first word are."""
    names: list[str] = []
    found: dict[str, list[int]] = {}
    for name, words in _lines():
        for word in words:
            key = "_".join(stem(part) for part in word.split("_"))
            known = found.setdefault(key, [])
            if len(names) not in known:
                known.append(len(names))
        names.append(name)
    longest: dict[str, int] = {}
    for key in found:
        parts = key.split("_")
        longest[parts[0]] = max(longest.get(parts[0], 1), len(parts))
    return tuple(names), {key: tuple(places) for key, places in found.items()}, longest


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
