"""How near a text is to intents that do harm, against their innocent look-alikes.

A smooth function is laid through the exemplars in the space of an embedder: 1 at those that harm, -1 at
ordinary talk, -0.6
at look-alikes. It is kernel ridge regression with the kernel (c + x.p)^2, fitted to our own sentences and
to nothing else. The
nearest exemplar alone is noisy: `kill a process` is near both `kill a person` and `kill weeds`, and what
decides is how
words combine, which the products of a kernel of degree 2 can say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..climb.stretch import AT_REST
from .embedder import Vectors
from .exemplars import Exemplar

OFFSET = 0.2
"""c of the kernel: how much single words count beside their combinations."""
PENALTY = 3.0
"""Ridge: larger is smoother. From 1 to 10 it makes little difference."""
SHARES = {"harm": 0.5, "look-alike": 0.2, "ordinary": 0.3}
"""How much each kind of exemplar counts."""
FULL_WORDS = 3
"""A text with fewer words that say anything says too little to be believed in full."""
UNITS = {"small@2": 0.71, "wordllama@256": 0.51, "both@1": 1.0}
"""The raw closeness that is level 1: about 3 in 1,000 turns of harmless talk exceed it. An embedder without
a unit gets the larger one: it will be slow rather than loud."""
DEFAULT_UNIT = 0.71


class Surface(Protocol):
    """The fitted function."""

    def raw(self, vectors: Vectors) -> NDArray[np.float32]:
        """Closeness of each row, about -1 to 1, not bounded."""


@dataclass(frozen=True, slots=True)
class Quadratic:
    """Degree 2 written out as x'Ax + b'x + c: its cost does not depend on how many exemplars there are."""

    matrix: Vectors
    linear: Vectors
    constant: float

    def raw(self, vectors: Vectors) -> NDArray[np.float32]:
        """Closeness of each row."""
        if len(vectors) == 1:
            # One turn of a sparse embedder has some sixty places that are not 0, of a thousand.
            here = np.flatnonzero(vectors[0])
            x = vectors[0, here]
            value = x @ self.matrix[np.ix_(here, here)] @ x + x @ self.linear[here] + self.constant
            return np.array([value], dtype=np.float32)
        bent = np.einsum("ij,ij->i", vectors @ self.matrix, vectors)
        return np.asarray(bent + vectors @ self.linear + self.constant, dtype=np.float32)


def weights_of(places: Vectors, exemplars: Sequence[Exemplar]) -> Vectors:
    """The weight of each exemplar. Each kind counts for its share in all, however many there are of it."""
    kinds = [one.kind for one in exemplars]
    targets = np.array([one.target for one in exemplars], dtype=np.float32)
    each = {kind: share * len(kinds) / kinds.count(kind) for kind, share in SHARES.items() if kind in kinds}
    shares = np.array([each[kind] for kind in kinds], dtype=np.float32)
    # In single precision and in place: there are many exemplars, and the ridge keeps the system tame.
    kernel = (places @ places.T).astype(np.float32)
    kernel += OFFSET
    kernel *= kernel
    kernel[np.diag_indices_from(kernel)] += PENALTY / shares
    return np.linalg.solve(kernel, targets).astype(np.float32)


def quadratic(places: Vectors, weights: Vectors) -> Quadratic:
    """Degree 2 written out: (c + x.p)^2 = x'(pp')x + 2c x.p + c^2, summed over the exemplars."""
    weighted = places * weights[:, None]
    matrix: Vectors = np.asarray(weighted.T @ places, dtype=np.float32)
    return Quadratic(matrix, 2 * OFFSET * weighted.sum(axis=0), float(OFFSET**2 * weights.sum()))


def unit_of(embedder: str) -> float:
    """The raw closeness that is level 1 for an embedder, by its name."""
    return UNITS.get(embedder, DEFAULT_UNIT)


def level_of(raw: float, words: int, embedder: str) -> float:
    """Raw closeness in units of the embedder, brought nearer to rest where few words say anything.

    >>> unit = UNITS["small@2"]
    >>> level_of(unit, 8, "small@2"), round(level_of(unit, 1, "small@2"), 2)
    (1.0, -0.13)
    """
    level = raw / unit_of(embedder)
    return AT_REST + (level - AT_REST) * min(1.0, words / FULL_WORDS)
