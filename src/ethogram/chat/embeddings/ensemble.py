"""The embedder `both`: the mean of `small` and `wordllama`, which err on different texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .base import Embedder, Vectors, embedder, unit
from .closeness import Surface, unit_of
from .small import Small
from .wordllama import Static


@embedder("both")
class Both:
    """The concatenated vectors of the two. Needs the extra `meaning`."""

    name = "both@1"

    def __init__(self) -> None:
        self.parts: tuple[Embedder, ...] = (Small(), Static())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        return unit(np.hstack([part.embed(texts) for part in self.parts]))


@dataclass(frozen=True, slots=True)
class Joined:
    """The mean closeness of several surfaces, each in its own unit and columns."""

    surfaces: tuple[tuple[Surface, str, int], ...]

    def raw(self, vectors: Vectors) -> NDArray[np.float32]:
        """Closeness of each row."""
        total, first = np.zeros(len(vectors), dtype=np.float32), 0
        for surface, name, width in self.surfaces:
            total += surface.raw(unit(vectors[:, first : first + width])) / unit_of(name)
            first += width
        return np.asarray(total / len(self.surfaces), dtype=np.float32)
