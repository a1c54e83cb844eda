"""How far a turn asks for harm, from the vectors of the turn and of the two turns before it.

A smooth function is fitted through examples: 1 at those that ask for harm, -1 at the others. It is kernel
ridge regression with the kernel (c + x.p)^2 over both vectors. How words combine decides (`kill` with
`process` or `person`, `how do I do that` after what), which a kernel of degree 2 can express.

The head of the embedder that ships is a file; that of any other embedder is fitted when it is first used.
To write the file:

    python -m ethogram.chat.embeddings.harm_head static
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...models.slotted import dataclass
from ..accumulation import AT_REST
from .base import Embedder, Vectors, load, unit
from .examples import FOLDER, Example, examples

FEWER = 4_000  # examples that are fitted where no head is shipped; all would take a minute
OFFSET = 0.2  # c of the kernel: how much single words count beside their combinations
PENALTY = 3.0  # ridge; from 1 to 10 it makes little difference
CONTEXT = 0.7  # weight of the turns before, beside the turn
SHARES = {
    "harm": 0.35, "look-alike": 0.18, "ordinary": 0.17, "pair": 0.1, "in context": 0.04, "amounts": 0.01,
    "climb": 0.1, "harmless": 0.05,
}  # fmt: skip
ALARMING = 0.993  # share of harmless examples, predicted from others, that lie below level 1


@dataclass(frozen=True, slots=True)
class Head:
    """The fitted function as x'Ax + b'x + c, whose cost does not depend on the number of examples.

    `rest` and `alarm` are its values for ordinary talk (level -0.7) and for what is alarming (level 1).
    """

    matrix: Vectors
    linear: Vectors
    constant: float
    rest: float
    alarm: float

    def raw(self, vectors: Vectors) -> NDArray[np.float32]:
        """The value of each row, about -1 to 1."""
        bent = np.einsum("ij,ij->i", vectors @ self.matrix, vectors)
        return np.asarray(bent + vectors @ self.linear + self.constant, dtype=np.float32)

    def levels(self, turns: Vectors, context: Vectors | None) -> NDArray[np.float32]:
        """The level of each turn after the same context: -0.7 for ordinary talk, alarming from 1."""
        before = np.zeros(turns.shape[1], dtype=np.float32) if context is None else CONTEXT * context
        raw = self.raw(np.hstack([turns, np.broadcast_to(before, turns.shape)]))
        return np.asarray(AT_REST + (raw - self.rest) * (1 - AT_REST) / (self.alarm - self.rest), np.float32)


def head_of(embedder: Embedder) -> Head:
    """The head of an embedder; fitting takes some seconds where none is shipped for the examples."""
    path = FOLDER / f"{embedder.name}.npz"
    if path.exists():
        with np.load(path) as file:
            if str(file["version"]) == version(embedder):
                return _read(file)
    every = examples()
    return fit(embedder, every[:: max(1, len(every) // FEWER)])


def version(embedder: Embedder) -> str:
    """A digest of the embedder's name, of its vectors for some texts, and of the examples."""
    texts = "\n".join(f"{example.text}\t{example.context}\t{example.harms}" for example in examples())
    # Every hundredth text is enough to notice changed vectors.
    probe = embedder.embed([example.text for example in examples()[::100]])
    vectors = np.round(probe * 50).astype(np.int8).tobytes()
    return sha256(f"{embedder.name}\n{texts}".encode() + vectors).hexdigest()[:12]


def fit(embedder: Embedder, some: Sequence[Example]) -> Head:
    """The head through these examples."""
    places = places_of(embedder, some)
    # What harmless talk is given by a head that has not seen it.
    kinds = np.array([example.kind for example in some])
    calm = np.isin(kinds, ("ordinary", "harmless"))
    unseen = np.zeros(len(some), dtype=np.float32)
    for part in (0, 1):
        here = np.arange(len(some)) % 2 == part
        half = _fit(places[here], [example for example, is_here in zip(some, here, strict=True) if is_here])
        unseen[~here] = half.raw(places[~here])
    whole = _fit(places, some)
    rest, alarm = np.median(unseen[calm]), np.quantile(unseen[calm], ALARMING)
    return Head(whole.matrix, whole.linear, whole.constant, float(rest), float(alarm))


def places_of(embedder: Embedder, some: Sequence[Example]) -> Vectors:
    """The vectors of examples: that of the turn, then that of its context."""
    turns = embedder.embed([example.text for example in some])
    context = np.zeros_like(turns)
    with_context = [k for k, example in enumerate(some) if example.context]
    for place in range(2):
        rows = [k for k in with_context if len(some[k].context) > place]
        if rows:
            context[rows] += embedder.embed([some[k].context[place] for k in rows])
    return np.hstack([turns, CONTEXT * unit(context)])


def _fit(places: Vectors, some: Sequence[Example]) -> Head:
    targets = np.array([1.0 if example.harms else -1.0 for example in some], dtype=np.float32)
    kinds = np.array([example.kind for example in some])
    weights = np.zeros(len(some), dtype=np.float32)
    for kind, share in SHARES.items():
        weights[kinds == kind] = share / max(1, int(np.count_nonzero(kinds == kind)))
    for target in (1.0, -1.0):
        weights[targets == target] *= 0.5 / float(weights[targets == target].sum() or 1.0)
    # In single precision and in place, since there are many examples.
    kernel = places @ places.T
    kernel += OFFSET
    kernel *= kernel
    kernel[np.diag_indices_from(kernel)] += PENALTY / (weights * len(some))
    solved = np.linalg.solve(kernel, targets).astype(np.float32)
    weighted = places * solved[:, None]
    # The sum over the examples of (c + x.p)^2 = x'(pp')x + 2c x.p + c^2.
    matrix = np.asarray(weighted.T @ places, dtype=np.float32)
    return Head(matrix, 2 * OFFSET * weighted.sum(axis=0), float(OFFSET**2 * solved.sum()), 0.0, 1.0)


def save(embedder: Embedder) -> Path:
    """Fit all examples and write the head."""
    made = fit(embedder, examples())
    path = FOLDER / f"{embedder.name}.npz"
    # Half of the symmetric matrix; two bytes a number move the raw value by less than 0.01.
    half = made.matrix[np.triu_indices(len(made.matrix))].astype(np.float16)
    numbers = np.array([made.constant, made.rest, made.alarm])
    np.savez_compressed(
        path, version=np.array(version(embedder)), half=half, linear=made.linear, numbers=numbers
    )
    return path


def _read(file: np.lib.npyio.NpzFile) -> Head:
    linear: Vectors = file["linear"]
    matrix = np.zeros((len(linear), len(linear)), dtype=np.float32)
    matrix[np.triu_indices(len(linear))] = file["half"]
    matrix += np.triu(matrix, 1).T
    constant, rest, alarm = map(float, file["numbers"])
    return Head(matrix, linear, constant, rest, alarm)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(save(load(name)))
