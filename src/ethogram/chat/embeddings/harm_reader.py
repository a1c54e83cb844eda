"""Reads turns by an embedder: how far they ask for harm, and how near they are to earlier ones.

A long message is read in windows of sentences, since one vector of many sentences is near to nothing.
State between turns is bounded and of JSON's own types: packed vectors and no text.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from functools import lru_cache
from typing import Any
from zlib import compress, decompress

import msgspec
import numpy as np

from ...models.slotted import dataclass, replace
from ..accumulation import AT_REST
from ..records import Readings
from ..words import content, tokens
from .base import MOST_CHARACTERS, Embedder, Vectors, load, unit
from .harm_head import head_of

RECENT, REFUSED, CONTEXT = 6, 5, 2  # vectors of user turns, refused requests and turns before in the state
FOLLOWS = 0.4  # how fast the topic's vector follows the newest turn
FEW_WORDS = 3  # a shorter turn has no topic of its own
EXCUSED = 0.1  # by how much less a turn counts by itself where turns before could explain it
WINDOW = 24  # words of a window; a message of up to half as many more is one
SIMILAR = (0.35, 0.75)  # cosines of similarity 0 and 1
NOTHING = Readings()
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+")


def windows(text: str) -> list[str]:
    """The parts of a text that are read by themselves: sentences together up to about WINDOW words.

    >>> windows("How are you?"), [len(part.split()) for part in windows("so it is. " * 40)]
    (['How are you?'], [36, 36, 36, 12])
    """
    text = text[:MOST_CHARACTERS]
    most = WINDOW + WINDOW // 2
    if len(text.split()) <= most:
        return [text]
    parts: list[list[str]] = [[]]
    for sentence in _SENTENCE.split(text):
        words = sentence.split()
        for start in range(0, len(words), most):
            piece = words[start : start + most]
            if parts[-1] and len(parts[-1]) + len(piece) > most:
                parts.append([])
            parts[-1] += piece
    return [" ".join(part) for part in parts]


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
    context: tuple[str, ...] = ()  # of the turns just before, of both sides


class Reader:
    """The meaning of turns by one embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self._head = embedder, head_of(embedder)
        self.name = embedder.name

    def read(
        self, saved: dict[str, Any] | None, text: str, role: str, refuses: bool
    ) -> tuple[dict[str, Any], Readings]:
        """The state after a turn, and the readings of a user's. `refuses`: an assistant's turn refuses."""
        state = msgspec.convert(saved or {}, ReaderState)
        readings = NOTHING
        if role not in ("system", "tool"):
            vectors = self._embedder.embed(windows(text))
            if role != "assistant":
                state, readings = self._user(state, text, vectors)
            elif refuses and state.recent and state.recent[-1] not in state.refused:
                state = replace(state, refused=(*state.refused, state.recent[-1])[-REFUSED:])
            state = replace(state, context=(*state.context, pack(_whole(vectors)))[-CONTEXT:])
        return {name: getattr(state, name) for name in ReaderState.__slots__}, readings

    def _user(self, state: ReaderState, text: str, vectors: Vectors) -> tuple[ReaderState, Readings]:
        vector = _whole(vectors)
        words = len(text.split(maxsplit=FEW_WORDS))
        has_topic = words >= FEW_WORDS and bool(vector.any())
        readings = Readings(
            level=self._level(state, text, vectors),
            refused=self._similarity(vector, state.refused) if has_topic else None,
            paraphrase=self._similarity(vector, state.recent) if has_topic else None,
            jump=jump(vector, unpack(state.topic)) if has_topic and state.topic else None,
            any_language=getattr(self._embedder, "any_language", False),
        )
        if has_topic:
            topic = vector if state.topic is None else (1 - FOLLOWS) * unpack(state.topic) + FOLLOWS * vector
            state = replace(state, topic=pack(topic), recent=(*state.recent, pack(vector))[-RECENT:])
        return state, readings

    def _level(self, state: ReaderState, text: str, vectors: Vectors) -> float:
        """The mean level of the windows of a turn by their words: alone or after the turns before."""
        if not vectors.any():
            return AT_REST
        lengths = [len(window.split()) + 1 for window in windows(text)]
        # What a turn asks by itself counts whatever came before; without a content word it asks nothing.
        level = self._mean(vectors, None, lengths) if content(tokens(text)) else AT_REST
        if state.context:
            context = _whole(np.array([unpack(item) for item in state.context]))
            # A greeting explains nothing.
            excused = EXCUSED if state.topic else 0.0
            level = max(level - excused, self._mean(vectors, context, lengths))
        return level

    def _mean(self, vectors: Vectors, context: Vectors | None, lengths: list[int]) -> float:
        return float(np.average(self._head.levels(vectors, context), weights=lengths))

    def _similarity(self, vector: Vectors, others: tuple[str, ...]) -> float | None:
        if not others:
            return None
        low, high = SIMILAR
        nearest = float((np.stack([unpack(other) for other in others]) @ vector).max())
        return min(1.0, max(0.0, (nearest - low) / (high - low)))


def _whole(vectors: Vectors) -> Vectors:
    """The vector of a text from those of its windows."""
    whole: Vectors = unit(vectors.sum(axis=0, keepdims=True))[0]
    return whole


@lru_cache(maxsize=8)
def reader_of(name: str) -> Reader:
    """The reader with the embedder of that name; cached."""
    return Reader(load(name))


def jump(vector: Vectors, topic: Vectors) -> float:
    """How far a turn is from the topic so far, 0..1."""
    length = float(np.linalg.norm(topic)) or 1.0
    return min(1.0, max(0.0, 1.0 - float(vector @ topic) / length))
