"""The fitted surface of an embedder: shipped where there is one, else fitted when first asked for.

python -m ethogram.meaning.fitted small wordllama     # writes weights/NAME.npz
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from .both import Both, Joined
from .closeness import Quadratic, Surface, quadratic, weights_of
from .embedder import Embedder, Vectors, load
from .exemplars import Exemplar, exemplars

WEIGHTS = Path(__file__).parent / "weights"
FEWER = 5_000
"""About so many exemplars are fitted where no weights are shipped: all of them would take a minute."""


def version(embedder: Embedder) -> str:
    """Changes with the embedder's name, what it makes of some texts, and any word of the exemplars."""
    said = "\n".join(f"{one.text}\t{one.target}" for one in exemplars())
    # Every hundredth text: enough to see that a table of words was changed and the name was not.
    probe = embedder.embed([one.text for one in exemplars()[::100]])
    seen = np.round(probe * 50).astype(np.int8).tobytes()
    return sha256(f"{embedder.name}\n{said}".encode() + seen).hexdigest()[:12]


def surface(embedder: Embedder) -> Surface:
    """The surface of an embedder; fitting takes some seconds where none was shipped for these exemplars."""
    if isinstance(embedder, Both):
        parts = ((surface(part), part.name, part.embed([""]).shape[1]) for part in embedder.parts)
        return Joined(tuple(parts))
    path = WEIGHTS / f"{embedder.name}.npz"
    if path.exists():
        with np.load(path) as kept:
            if str(kept["version"]) == version(embedder):
                return _read(kept)
    every = exemplars()
    return fit(embedder, every[:: max(1, len(every) // FEWER)])


def fit(embedder: Embedder, some: Sequence[Exemplar]) -> Quadratic:
    """The surface through these exemplars."""
    places = embedder.embed([one.text for one in some])
    return quadratic(places, weights_of(places, some))


def save(embedder: Embedder) -> Path:
    """Fits all exemplars and writes down the surface."""
    made = fit(embedder, exemplars())
    WEIGHTS.mkdir(exist_ok=True)
    path = WEIGHTS / f"{embedder.name}.npz"
    # It is symmetric, so half of it will do; two bytes a number move the raw closeness by less than 0.01.
    half = made.matrix[np.triu_indices(len(made.matrix))].astype(np.float16)
    constant = np.array(made.constant)
    known = np.array(version(embedder))
    np.savez_compressed(path, version=known, half=half, linear=made.linear, constant=constant)
    return path


def _read(kept: np.lib.npyio.NpzFile) -> Quadratic:
    linear: Vectors = kept["linear"]
    matrix = np.zeros((len(linear), len(linear)), dtype=np.float32)
    matrix[np.triu_indices(len(linear))] = kept["half"]
    matrix += np.triu(matrix, 1).T
    return Quadratic(matrix, linear, float(kept["constant"]))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(save(load(name)))
