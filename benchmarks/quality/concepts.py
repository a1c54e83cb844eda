"""What words are about, by a table of words without context: what a keyword filter would see."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ethogram.chat.embeddings.base import stems
from ethogram.chat.words import stem

FILE = Path(__file__).with_name("concepts.txt")

__all__ = ["concepts", "stems", "table"]


@cache
def table() -> tuple[tuple[str, ...], dict[str, tuple[int, ...]], dict[str, int]]:
    """The names of concepts, the concepts of each phrase of stems, and the longest phrase by first stem."""
    names: list[str] = []
    known: dict[str, dict[int, None]] = {}
    for line in FILE.read_text("utf-8").splitlines():
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
