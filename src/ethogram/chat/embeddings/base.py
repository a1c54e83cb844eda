"""Embedder: text to vectors; loaded by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import BadUsage, did_you_mean
from ..words import tokens

Vectors = NDArray[np.float32]
MOST_CHARACTERS = 4_000  # of a text that are read


class Embedder(Protocol):
    """Turns texts into vectors whose inner product is their similarity.

    An attribute `any_language` that is true says that it knows other languages than English.
    """

    @property
    def name(self) -> str:
        """The name with its version, such as `static@1`; vectors of two versions must not be compared."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row of length 1 for each text; zeros where nothing in the text is known."""


_MAKERS: dict[str, Callable[[], Embedder]] = {}


def embedder(name: str) -> Callable[[Callable[[], Embedder]], Callable[[], Embedder]]:
    """Register an embedder by name."""

    def add(make: Callable[[], Embedder]) -> Callable[[], Embedder]:
        _MAKERS[name] = make
        return make

    return add


def load(name: str) -> Embedder:
    """The embedder of that name, loaded now."""
    # Imported here, since it imports this module to register.
    from . import static  # noqa: F401

    if name not in _MAKERS:
        known = ", ".join(sorted(_MAKERS))
        raise BadUsage(f"no embedder is named {name!r:.40}; there are {known}{did_you_mean(name, _MAKERS)}")
    return _MAKERS[name]()


def unit(rows: Vectors) -> Vectors:
    """The rows scaled to length 1; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def stems(text: str) -> tuple[str, ...]:
    """The stems of the first `MOST_CHARACTERS` characters of a text, in order.

    >>> stems("Don't STOP making cakes!")
    ("don't", 'stop', 'make', 'cake')
    """
    return _stems(text[:MOST_CHARACTERS])


# A turn is embedded, and its words are counted right after.
@lru_cache(maxsize=4)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(tokens(text))
