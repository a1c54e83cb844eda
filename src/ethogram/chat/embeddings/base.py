"""Embedder: what one is, and how one is loaded by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import BadUsage, did_you_mean
from ..words import stem, tokens

# What an embedder is, and how one is had by name.

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors whose inner product says how much two texts are about the same.

    One that is not of English alone says so by an attribute `any_language`, true.
    """

    @property
    def name(self) -> str:
        """With its version, such as `small@2`: vectors of two versions must not be compared."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, of length 1; a row of zeros where nothing in the text is known."""


_MAKERS: dict[str, Callable[[], Embedder]] = {}


def embedder(name: str) -> Callable[[Callable[[], Embedder]], Callable[[], Embedder]]:
    """Makes an embedder known by a name."""

    def keep(make: Callable[[], Embedder]) -> Callable[[], Embedder]:
        _MAKERS[name] = make
        return make

    return keep


def load(name: str) -> Embedder:
    """The embedder of that name, loaded now."""
    # Here and not above: a larger one is imported only where it is asked for.
    from . import ensemble, small, wordllama  # noqa: F401

    if name not in _MAKERS:
        known = ", ".join(sorted(_MAKERS))
        raise BadUsage(f"no embedder is named {name!r:.40}; there are {known}{did_you_mean(name, _MAKERS)}")
    return _MAKERS[name]()


def unit(rows: Vectors) -> Vectors:
    """The rows brought to length 1; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), dtype=np.float32)


# Words of a text as stems: enough to bring forms of one English word together, and no more.

__all__ = ["stem", "stems"]

MOST_CHARACTERS = 4_000
"""What is read of one text. A longer one says what it is about before that, and a turn must stay cheap."""


def stems(text: str) -> tuple[str, ...]:
    """The stems of a text in order, of its first `MOST_CHARACTERS` characters.

    >>> stems("Don't STOP making cakes!")
    ("don't", 'stop', 'make', 'cake')
    """
    return _stems(text[:MOST_CHARACTERS])


# Whoever embeds a turn and whoever asks how much it says need them one after the other.
@lru_cache(maxsize=4)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(tokens(text))
