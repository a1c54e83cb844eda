"""The fitted surface of an embedder: shipped where there is one, else fitted when first asked for.

python -m meaning.fitted small wordllama     # writes weights/NAME.npz
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

import numpy as np

from .closeness import Cubic, Quadratic, Surface, degree_for, quadratic, weights_of
from .embedder import Embedder, Vectors, load
from .exemplars import exemplars

WEIGHTS = Path(__file__).parent / "weights"


def version(embedder: Embedder) -> str:
    """Changes with the embedder's name, what it makes of some texts, and any word of the exemplars."""
    said = "\n".join(f"{one.text}\t{one.target}" for one in exemplars())
    # Every hundredth text: enough to see that a table of words was changed and the name was not.
    probe = embedder.embed([one.text for one in exemplars()[::100]])
    seen = np.round(probe * 50).astype(np.int8).tobytes()
    return sha256(f"{embedder.name}\n{said}".encode() + seen).hexdigest()[:12]


def surface(embedder: Embedder) -> Surface:
    """The surface of an embedder; fitting takes some seconds where none was shipped for these exemplars."""
    path = WEIGHTS / f"{embedder.name}.npz"
    if path.exists():
        with np.load(path) as kept:
            if str(kept["version"]) == version(embedder):
                return _read(kept, embedder)
    return fit(embedder)


def fit(embedder: Embedder) -> Surface:
    """The surface through all exemplars."""
    places = _places(embedder)
    degree = degree_for(embedder)
    weights = weights_of(places, exemplars(), degree)
    return quadratic(places, weights) if degree == 2 else Cubic(places, weights)


def save(embedder: Embedder) -> Path:
    """Fits and writes it down: the matrix for degree 2, for degree 3 only the weights, since places are
    made from texts."""
    made = fit(embedder)
    WEIGHTS.mkdir(exist_ok=True)
    path = WEIGHTS / f"{embedder.name}.npz"
    known = version(embedder)
    if isinstance(made, Quadratic):
        # It is symmetric, so half of it will do; two bytes a number move the raw closeness by less than 0.01.
        half = made.matrix[np.triu_indices(len(made.matrix))].astype(np.float16)
        np.savez_compressed(path, version=known, half=half, linear=made.linear, constant=made.constant)
    elif isinstance(made, Cubic):
        np.savez_compressed(path, version=known, weights=made.weights)
    return path


def _read(kept: np.lib.npyio.NpzFile, embedder: Embedder) -> Surface:
    if "weights" in kept:
        return Cubic(_places(embedder), kept["weights"])
    linear: Vectors = kept["linear"]
    matrix = np.zeros((len(linear), len(linear)), dtype=np.float32)
    matrix[np.triu_indices(len(linear))] = kept["half"]
    matrix += np.triu(matrix, 1).T
    return Quadratic(matrix, linear, float(kept["constant"]))


def _places(embedder: Embedder) -> Vectors:
    return embedder.embed([one.text for one in exemplars()])


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(save(load(name)))
