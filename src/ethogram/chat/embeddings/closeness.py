"""Closeness of a text to harmful exemplars, against their innocent neighbours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...data import DATA
from ..accumulation import AT_REST
from .base import Vectors

# Families of exemplars: a line with `(a|b)` stands for one text for each choice.

_CHOICE = re.compile(r"\(([^()]*)\)")


def expand(line: str, most: int) -> list[str]:
    """The texts a line stands for; where there are more than `most`, so many of them, drawn the same way
    every time.

    >>> expand("(buy|sell) (bread|)", 9)
    ['buy bread', 'buy', 'sell bread', 'sell']
    """
    parts = _CHOICE.split(line)
    # Between the fixed parts, at odd places, are the choices.
    choices = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    total = 1
    for choice in choices:
        total *= len(choice)
    if total <= most:
        return [_tidy(words) for words in product(*choices)]
    rng = Random(f"0 {line}")
    drawn = {_tidy(tuple(rng.choice(choice) for choice in choices)): None for _ in range(most)}
    return list(drawn)


def _tidy(words: tuple[str, ...]) -> str:
    return " ".join("".join(words).split())


# Exemplars: short requests written by us, those that do harm and their nearest innocent look-alikes.

CONTENT = DATA / "embeddings"
_HEADING = re.compile(r"\[(\w+)(?: ([\d.]+))?\]")


@dataclass(frozen=True, slots=True)
class Exemplar:
    """One request. `severity` is 0 for what is innocent."""

    text: str
    category: str
    severity: float

    @property
    def harms(self) -> bool:
        """Whether doing what is asked would do harm."""
        return self.severity > 0

    @property
    def target(self) -> float:
        """What the closeness of this text should come out as, -1 to 1.

        Look-alikes lie nearer to harm than the weather does. To ask for another answer is no harm by
        itself, whatever it
        follows: it says nothing either way.
        """
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
}
"""Files of exemplars, and how many texts are drawn of one family at most: more of them say the same again."""
ORDINARY = frozenset(
    [
        "everyday",
        "services",
        "knowledge",
        "writing",
        "programs",
        "life",
        "ordinary_requests",
        "ordinary_replies",
        "ordinary_services",
        "ordinary_talk",
    ]
)
"""Categories that have nothing to do with harm; the other innocent ones are look-alikes."""
TARGETS = {"harm": 1.0, "look-alike": -0.6, "ordinary": -1.0}


@cache
def exemplars() -> tuple[Exemplar, ...]:
    """All of them: harm, look-alikes, ordinary talk."""
    return tuple(item for name, most in FILES.items() for item in read(CONTENT / f"{name}.txt", most))


def read(path: Path, most: int = 24) -> list[Exemplar]:
    """The exemplars of one file: a line each, or a family of them, under headings `[category severity]`."""
    found, category, severity = [], "", 0.0
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        heading = _HEADING.fullmatch(line)
        if heading:
            category, severity = heading[1], float(heading[2] or 0)
        elif line and not line.startswith("#"):
            if not category:
                raise ValueError(f"{path.name}:{number}  a exemplar before the first [category]")
            found += [Exemplar(text, category, severity) for text in expand(line, most)]
    return found


# How near a text is to intents that do harm, against their innocent look-alikes.
#
# A smooth function is laid through the exemplars in the space of an embedder: 1 at those that harm, -1 at
# ordinary talk, -0.6
# at look-alikes. It is kernel ridge regression with the kernel (c + x.p)^2, fitted to our own sentences and
# to nothing else. The
# nearest exemplar alone is noisy: `kill a process` is near both `kill a person` and `kill weeds`, and what
# decides is how
# words combine, which the products of a kernel of degree 2 can say.

OFFSET = 0.2  # c of the kernel: how much single words count beside their combinations
PENALTY = 3.0  # ridge: larger is smoother. From 1 to 10 it makes little difference
SHARES = {"harm": 0.5, "look-alike": 0.2, "ordinary": 0.3}  # how much each kind of exemplar counts
FULL_WORDS = 3  # A text with fewer words that say anything says too little to be believed in full
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
    kinds = [exemplar.kind for exemplar in exemplars]
    targets = np.array([exemplar.target for exemplar in exemplars], dtype=np.float32)
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
