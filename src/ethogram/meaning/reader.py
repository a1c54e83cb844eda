"""Reads the turns of a conversation one by one: closeness to harm, jump, likeness to what was refused.

State is JSON's own types and bounded: some vectors of one byte a number. No text is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..climb.records import Readings
from .closeness import level_of
from .embedder import Embedder, Vectors, load
from .fitted import surface
from .letters import telling
from .packed import pack, unpack
from .words import stems

RECENT, REFUSED = 6, 5
"""User turns and refused requests whose vectors are kept."""
FOLLOWS = 0.4
"""How fast the vector of what is talked about follows the newest turn."""
FEW_WORDS = 3
"""A shorter turn has no topic of its own."""
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
        self, kept: dict[str, Any] | None, text: str, role: str, refuses: bool
    ) -> tuple[dict[str, Any], Readings]:
        """The state after a turn, and the readings of a user's. `refuses`: an assistant's turn refuses."""
        given: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in (kept or {}).items()
        }
        state = State(**given)
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
