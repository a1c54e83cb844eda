"""Reads the turns of a conversation: closeness to harm, jump, likeness."""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import compress, decompress

import numpy as np

from ...data import DATA
from ..records import Readings
from .base import Embedder, Vectors, load, stems
from .closeness import Exemplar, Quadratic, Surface, exemplars, level_of, quadratic, weights_of
from .ensemble import Both, Joined
from .small import telling

# The fitted surface of an embedder: shipped where there is one, else fitted when first asked for.
#
# python -m ethogram.chat.embeddings.harm_reader small wordllama     # writes weights/NAME.npz

WEIGHTS = DATA / "embeddings"
FEWER = 5_000
"""About so many exemplars are fitted where no weights are shipped: all of them would take a minute."""


def version(embedder: Embedder) -> str:
    """Changes with the embedder's name, what it makes of some texts, and any word of the exemplars."""
    said = "\n".join(f"{exemplar.text}\t{exemplar.target}" for exemplar in exemplars())
    # Every hundredth text: enough to see that a table of words was changed and the name was not.
    probe = embedder.embed([exemplar.text for exemplar in exemplars()[::100]])
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
    places = embedder.embed([item.text for item in some])
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


def _read(npz_file: np.lib.npyio.NpzFile) -> Quadratic:
    linear: Vectors = npz_file["linear"]
    matrix = np.zeros((len(linear), len(linear)), dtype=np.float32)
    matrix[np.triu_indices(len(linear))] = npz_file["half"]
    matrix += np.triu(matrix, 1).T
    return Quadratic(matrix, linear, float(npz_file["constant"]))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(save(load(name)))


# Vectors as short strings, so that the state of a conversation stays small and is plain JSON.


def pack(vector: Vectors) -> str:
    """One byte a number, compressed; cosines move by about 0.005.

    >>> bool(np.allclose(unpack(pack(np.array([0.6, -0.8], dtype=np.float32))), [0.6, -0.8], atol=0.01))
    True
    """
    top = float(np.abs(vector).max()) or 1.0
    scaled = np.round(vector / top * 127).astype(np.int8)
    return b64encode(compress(np.float32(top).tobytes() + scaled.tobytes(), 1)).decode()


@lru_cache(maxsize=1024)
def unpack(text: str) -> Vectors:
    """The vector that was packed. Remembered for a while: a turn looks at the same dozen as the turn
    before."""
    data = decompress(b64decode(text))
    top = float(np.frombuffer(data[:4], dtype=np.float32)[0])
    vector = np.frombuffer(data[4:], dtype=np.int8).astype(np.float32) * np.float32(top / 127)
    vector.flags.writeable = False
    return vector


# Reads the turns of a conversation one by one: closeness to harm, jump, likeness to what was refused.
#
# State is JSON's own types and bounded: some vectors of one byte a number. No text is kept.

RECENT, REFUSED = 6, 5  # user turns and refused requests whose vectors are kept
FOLLOWS = 0.4  # how fast the vector of what is talked about follows the newest turn
FEW_WORDS = 3  # A shorter turn has no topic of its own
ALIKE = {"small@2": (0.35, 0.75), "wordllama@256": (0.35, 0.8)}
"""Cosine at which two requests are not alike (0) and are the same (1)."""
NOTHING = Readings()


@dataclass(frozen=True, slots=True)
class State:
    """What is kept between turns; vectors are packed."""

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
        record: dict[str, Any] = {
            name: tuple(item) if isinstance(item, list) else item for name, item in (saved or {}).items()
        }
        state = State(**record)
        if role in ("system", "tool"):
            return _kept(state), NOTHING
        if role == "assistant":
            if refuses and state.recent and state.recent[-1] not in state.refused:
                state = replace(state, refused=(*state.refused, state.recent[-1])[-REFUSED:])
            return _kept(state), NOTHING
        after, readings = self._user(state, text)
        return _kept(after), readings

    def _user(self, state: State, text: str) -> tuple[State, Readings]:
        vector = self._embedder.embed([text])[0]
        words = len(text.split(maxsplit=FEW_WORDS))
        has_topic = words >= FEW_WORDS and bool(vector.any())
        readings = Readings(
            level=level_of(float(self._surface.raw(vector[None])[0]), telling(stems(text)), self.name),
            refused=self._alike(vector, state.refused) if has_topic else None,
            paraphrase=self._alike(vector, state.recent) if has_topic else None,
            jump=jump(vector, unpack(state.topic)) if has_topic and state.topic else None,
            any_language=getattr(self._embedder, "any_language", False),
        )
        if has_topic:
            topic = vector if state.topic is None else (1 - FOLLOWS) * unpack(state.topic) + FOLLOWS * vector
            state = replace(state, topic=pack(topic), recent=(*state.recent, pack(vector))[-RECENT:])
        return state, readings

    def _alike(self, vector: Vectors, others: tuple[str, ...]) -> float | None:
        if not others:
            return None
        low, high = ALIKE.get(self.name, (0.35, 0.8))
        nearest = float((np.stack([unpack(other) for other in others]) @ vector).max())
        return min(1.0, max(0.0, (nearest - low) / (high - low)))


@lru_cache(maxsize=8)
def reader_of(name: str) -> Reader:
    """The reader with the embedder of that name, loaded once."""
    return Reader(load(name))


_NAMES = tuple(field.name for field in fields(State))


def _kept(state: State) -> dict[str, Any]:
    # Not asdict, which copies every string and takes as long as the embedding.
    return {
        name: list(value) if isinstance(value := getattr(state, name), tuple) else value for name in _NAMES
    }


def jump(vector: Vectors, topic: Vectors) -> float:
    """How far a turn is from what was talked about: 1 where nothing is shared."""
    length = float(np.linalg.norm(topic)) or 1.0
    return min(1.0, max(0.0, 1.0 - float(vector @ topic) / length))
