"""Closeness of a text to harmful exemplars, against innocent look-alikes and ordinary talk.

A smooth function is fitted through the exemplars in an embedder's space: 1 at those that harm, -1 at
ordinary talk, -0.6 at look-alikes. It is kernel ridge regression with the kernel (c + x.p)^2. The nearest
exemplar alone is noisy: `kill a process` is near both `kill a person` and `kill weeds`. How words combine
decides, which a kernel of degree 2 can express.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...data import DATA
from ...models.slotted import dataclass
from ..accumulation import AT_REST
from .base import Vectors, unit

_CHOICE = re.compile(r"\(([^()]*)\)")


def expand(line: str, most: int) -> list[str]:
    """The texts of a line with choices `(a|b)`; of more than `most`, a fixed random sample.

    >>> expand("(buy|sell) (bread|)", 9)
    ['buy bread', 'buy', 'sell bread', 'sell']
    """
    # The choices are at odd positions, between the fixed parts.
    parts = enumerate(_CHOICE.split(line))
    choices = [part.split("|") if position % 2 else [part] for position, part in parts]
    rng = Random(f"0 {line}")
    texts: Iterable[Iterable[str]] = product(*choices)
    if prod(map(len, choices)) > most:
        texts = ([rng.choice(choice) for choice in choices] for _ in range(most))
        return list(dict.fromkeys(" ".join("".join(words).split()) for words in texts))
    return [" ".join("".join(words).split()) for words in texts]


CONTENT = DATA / "embeddings"
_HEADING = re.compile(r"\[(\w+)(?: ([\d.]+))?\]")


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A short request; `severity` is 0 for an innocent one."""

    text: str
    category: str
    severity: float

    @property
    def harms(self) -> bool:
        """Whether doing what it asks would do harm."""
        return self.severity > 0

    @property
    def target(self) -> float:
        """The closeness that this text should have, -1 to 1; asking for another answer says nothing."""
        return 0.0 if self.category == "resampling" else TARGETS[self.kind]

    @property
    def kind(self) -> str:
        """`harm`, `look-alike` or `ordinary`."""
        return "harm" if self.harms else "ordinary" if self.category in ORDINARY else "look-alike"


FILES = {
    "harm": 24,
    "innocent": 24,
    "ordinary": 24,
    "harm_variants": 24,
    "innocent_variants": 24,
    "lookalike_variants": 24,
    "harm_more": 5,
    "lookalike_more": 12,
    "ordinary_more": 12,
}  # files of exemplars, and the most texts of one line
# Categories that have nothing to do with harm; the other innocent ones are look-alikes.
ORDINARY = frozenset((
    "everyday", "services", "knowledge", "writing", "programs", "life", "ordinary_requests",
    "ordinary_replies", "ordinary_services", "ordinary_talk",
))  # fmt: skip
TARGETS = {"harm": 1.0, "look-alike": -0.6, "ordinary": -1.0}


@cache
def exemplars() -> tuple[Exemplar, ...]:
    """All of them: harm, look-alikes, ordinary talk."""
    return tuple(
        item for name, most in FILES.items() for item in read_exemplars(CONTENT / f"{name}.txt", most)
    )


def read_exemplars(path: Path, most: int = 24) -> list[Exemplar]:
    """The exemplars of a file: lines with choices under headings `[category severity]`."""
    read: list[Exemplar] = []
    category, severity = "", 0.0
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        heading = _HEADING.fullmatch(line)
        if heading:
            category, severity = heading[1], float(heading[2] or 0)
        elif line and not line.startswith("#"):
            if not category:
                raise ValueError(f"{path.name}:{number}: an exemplar before the first [category]")
            read += [Exemplar(text, category, severity) for text in expand(line, most)]
    return read


OFFSET = 0.2  # c of the kernel: how much single words count beside their combinations
PENALTY = 3.0  # ridge; from 1 to 10 it makes little difference
SHARES = {"harm": 0.5, "look-alike": 0.2, "ordinary": 0.3}  # how much each kind of exemplar counts
FULL_WORDS = 3  # content words from which a text counts in full
# The raw closeness that is level 1, which about 3 in 1,000 turns of harmless talk exceed.
UNITS = {"small@2": 0.71, "wordllama@256": 0.51, "both@1": 1.0}
DEFAULT_UNIT = 0.71


class Surface(Protocol):
    """The fitted function."""

    def raw(self, vectors: Vectors) -> NDArray[np.float32]:
        """Closeness of each row, about -1 to 1, not bounded."""


@dataclass(frozen=True, slots=True)
class Quadratic:
    """The fitted function as x'Ax + b'x + c, whose cost does not depend on the number of exemplars."""

    matrix: Vectors
    linear: Vectors
    constant: float

    def raw(self, vectors: Vectors) -> NDArray[np.float32]:
        """Closeness of each row."""
        if len(vectors) == 1:
            # A sparse embedder has some sixty values that are not 0, of a thousand.
            here = np.flatnonzero(vectors[0])
            x = vectors[0, here]
            value = x @ self.matrix[np.ix_(here, here)] @ x + x @ self.linear[here] + self.constant
            return np.array([value], dtype=np.float32)
        bent = np.einsum("ij,ij->i", vectors @ self.matrix, vectors)
        return np.asarray(bent + vectors @ self.linear + self.constant, dtype=np.float32)


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


def weights_of(places: Vectors, exemplars: Sequence[Exemplar]) -> Vectors:
    """The weight of each exemplar; each kind has a fixed share of the total."""
    kinds = [exemplar.kind for exemplar in exemplars]
    targets = np.array([exemplar.target for exemplar in exemplars], dtype=np.float32)
    each = {kind: share * len(kinds) / kinds.count(kind) for kind, share in SHARES.items() if kind in kinds}
    shares = np.array([each[kind] for kind in kinds], dtype=np.float32)
    # In single precision and in place, since there are many exemplars.
    kernel = (places @ places.T).astype(np.float32)
    kernel += OFFSET
    kernel *= kernel
    kernel[np.diag_indices_from(kernel)] += PENALTY / shares
    return np.linalg.solve(kernel, targets).astype(np.float32)


def quadratic(places: Vectors, weights: Vectors) -> Quadratic:
    """The sum over the exemplars of (c + x.p)^2 = x'(pp')x + 2c x.p + c^2."""
    weighted = places * weights[:, None]
    matrix: Vectors = np.asarray(weighted.T @ places, dtype=np.float32)
    return Quadratic(matrix, 2 * OFFSET * weighted.sum(axis=0), float(OFFSET**2 * weights.sum()))


def unit_of(embedder: str) -> float:
    """The raw closeness that is level 1 for an embedder."""
    return UNITS.get(embedder, DEFAULT_UNIT)


def level_of(raw: float, words: int, embedder: str) -> float:
    """Raw closeness in units of the embedder, nearer to rest where a text has few content words.

    >>> unit = UNITS["small@2"]
    >>> level_of(unit, 8, "small@2"), round(level_of(unit, 1, "small@2"), 2)
    (1.0, -0.13)
    """
    level = raw / unit_of(embedder)
    return AT_REST + (level - AT_REST) * min(1.0, words / FULL_WORDS)
