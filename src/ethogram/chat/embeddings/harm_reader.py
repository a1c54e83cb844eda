"""Reads turns by an embedder: closeness to harm, distance from the topic, similarity to refused requests.

The fitted surface of an embedder ships with the package, or is fitted when first needed. To write it:

    python -m ethogram.chat.embeddings.harm_reader small wordllama

State between turns is bounded and of JSON's own types: packed vectors and no text.
"""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import compress, decompress

import msgspec
import numpy as np

from ...data import DATA
from ...models.slotted import dataclass, replace
from ..records import Readings
from .base import Embedder, Vectors, load, stems
from .closeness import Exemplar, Joined, Quadratic, Surface, exemplars, level_of, quadratic, weights_of
from .small import telling
from .wordllama import Both

WEIGHTS = DATA / "embeddings"
FEWER = 5_000  # exemplars that are fitted where no weights are shipped; all would take a minute
RECENT, REFUSED = 6, 5  # vectors of user turns and refused requests in the state
FOLLOWS = 0.4  # how fast the topic's vector follows the newest turn
FEW_WORDS = 3  # a shorter turn has no topic of its own
SIMILAR = {"small@2": (0.35, 0.75), "wordllama@256": (0.35, 0.8)}  # cosines of similarity 0 and 1
NOTHING = Readings()


def version(embedder: Embedder) -> str:
    """A digest of the embedder's name, of its vectors for some texts, and of the exemplars."""
    texts = "\n".join(f"{exemplar.text}\t{exemplar.target}" for exemplar in exemplars())
    # Every hundredth text is enough to notice a changed table of words.
    probe = embedder.embed([exemplar.text for exemplar in exemplars()[::100]])
    vectors = np.round(probe * 50).astype(np.int8).tobytes()
    return sha256(f"{embedder.name}\n{texts}".encode() + vectors).hexdigest()[:12]


def surface(embedder: Embedder) -> Surface:
    """The surface of an embedder; fitting takes some seconds where none is shipped for the exemplars."""
    if isinstance(embedder, Both):
        parts = ((surface(part), part.name, part.embed([""]).shape[1]) for part in embedder.parts)
        return Joined(tuple(parts))
    path = WEIGHTS / f"{embedder.name}.npz"
    if path.exists():
        with np.load(path) as file:
            if str(file["version"]) == version(embedder):
                return _read(file)
    every = exemplars()
    return fit(embedder, every[:: max(1, len(every) // FEWER)])


def fit(embedder: Embedder, some: Sequence[Exemplar]) -> Quadratic:
    """The surface through these exemplars."""
    places = embedder.embed([item.text for item in some])
    return quadratic(places, weights_of(places, some))


def save(embedder: Embedder) -> Path:
    """Fit all exemplars and write the surface."""
    made = fit(embedder, exemplars())
    WEIGHTS.mkdir(exist_ok=True)
    path = WEIGHTS / f"{embedder.name}.npz"
    # Half of the symmetric matrix; two bytes a number move the raw closeness by less than 0.01.
    half = made.matrix[np.triu_indices(len(made.matrix))].astype(np.float16)
    known, constant = np.array(version(embedder)), np.array(made.constant)
    np.savez_compressed(path, version=known, half=half, linear=made.linear, constant=constant)
    return path


def _read(npz_file: np.lib.npyio.NpzFile) -> Quadratic:
    linear: Vectors = npz_file["linear"]
    matrix = np.zeros((len(linear), len(linear)), dtype=np.float32)
    matrix[np.triu_indices(len(linear))] = npz_file["half"]
    matrix += np.triu(matrix, 1).T
    return Quadratic(matrix, linear, float(npz_file["constant"]))


def pack(vector: Vectors) -> str:
    """A vector as a short string, one byte a number and compressed; cosines move by about 0.005.

    >>> bool(np.allclose(unpack(pack(np.array([0.6, -0.8], dtype=np.float32))), [0.6, -0.8], atol=0.01))
    True
    """
    top = float(np.abs(vector).max()) or 1.0
    scaled = np.round(vector / top * 127).astype(np.int8)
    return b64encode(compress(np.float32(top).tobytes() + scaled.tobytes(), 1)).decode()


@lru_cache(maxsize=1024)
def unpack(text: str) -> Vectors:
    """The vector that was packed; cached, since a turn reads the same ones as the turn before."""
    data = decompress(b64decode(text))
    top = float(np.frombuffer(data[:4], dtype=np.float32)[0])
    vector = np.frombuffer(data[4:], dtype=np.int8).astype(np.float32) * np.float32(top / 127)
    vector.flags.writeable = False
    return vector


@dataclass(frozen=True, slots=True)
class ReaderState:
    """The state between turns; vectors are packed."""

    topic: str | None = None
    recent: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class Reader:
    """The meaning of turns by one embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self._surface = embedder, surface(embedder)
        self.name = embedder.name

    def read(
        self, saved: dict[str, Any] | None, text: str, role: str, refuses: bool
    ) -> tuple[dict[str, Any], Readings]:
        """The state after a turn, and the readings of a user's. `refuses`: an assistant's turn refuses."""
        state = msgspec.convert(saved or {}, ReaderState)
        readings = NOTHING
        if role == "assistant":
            if refuses and state.recent and state.recent[-1] not in state.refused:
                state = replace(state, refused=(*state.refused, state.recent[-1])[-REFUSED:])
        elif role not in ("system", "tool"):
            state, readings = self._user(state, text)
        after = {"topic": state.topic, "recent": list(state.recent), "refused": list(state.refused)}
        return after, readings

    def _user(self, state: ReaderState, text: str) -> tuple[ReaderState, Readings]:
        vector = self._embedder.embed([text])[0]
        words = len(text.split(maxsplit=FEW_WORDS))
        has_topic = words >= FEW_WORDS and bool(vector.any())
        readings = Readings(
            level=level_of(float(self._surface.raw(vector[None])[0]), telling(stems(text)), self.name),
            refused=self._similarity(vector, state.refused) if has_topic else None,
            paraphrase=self._similarity(vector, state.recent) if has_topic else None,
            jump=jump(vector, unpack(state.topic)) if has_topic and state.topic else None,
            any_language=getattr(self._embedder, "any_language", False),
        )
        if has_topic:
            topic = vector if state.topic is None else (1 - FOLLOWS) * unpack(state.topic) + FOLLOWS * vector
            state = replace(state, topic=pack(topic), recent=(*state.recent, pack(vector))[-RECENT:])
        return state, readings

    def _similarity(self, vector: Vectors, others: tuple[str, ...]) -> float | None:
        if not others:
            return None
        low, high = SIMILAR.get(self.name, (0.35, 0.8))
        nearest = float((np.stack([unpack(other) for other in others]) @ vector).max())
        return min(1.0, max(0.0, (nearest - low) / (high - low)))


@lru_cache(maxsize=8)
def reader_of(name: str) -> Reader:
    """The reader with the embedder of that name; cached."""
    return Reader(load(name))


def jump(vector: Vectors, topic: Vectors) -> float:
    """How far a turn is from the topic so far, 0..1."""
    length = float(np.linalg.norm(topic)) or 1.0
    return min(1.0, max(0.0, 1.0 - float(vector @ topic) / length))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(save(load(name)))
