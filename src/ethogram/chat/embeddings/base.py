"""Embedder: text to vectors; loaded by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

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


def load(name: str) -> Embedder:
    """The embedder of that name, loaded now: `static`, `onnx:FOLDER` or `openai:MODEL@URL`."""
    # Imported here: each needs what the others do not.
    kind, _, place = name.partition(":")
    if name == "static":
        from .static import Static

        return Static()
    if kind == "onnx" and place:
        from .onnx import Onnx

        return Onnx(place)
    if kind == "openai" and place:
        from .endpoint import Endpoint

        return Endpoint(place)
    known = "there are static, onnx:FOLDER and openai:MODEL@URL"
    raise BadUsage(f"no embedder is named {name!r:.80}; {known}{did_you_mean(name, ['static'])}")


def unit(rows: Vectors) -> Vectors:
    """The rows scaled to length 1; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def rows_of(rows: Any, count: int, where: str) -> Vectors:
    """Vectors of `count` texts that a model gave, scaled to length 1; BadUsage where they are none."""
    vectors = np.asarray(rows, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != count or not vectors.size or not np.isfinite(vectors).all():
        shape = " x ".join(map(str, vectors.shape))
        raise BadUsage(f"{where}: gave {shape} numbers: expected one row of finite numbers for each text")
    return unit(vectors)


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
