"""Events for benchmarks of the live runner: twelve traits each, an indicator now and then."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from ..library.vocabulary import load_vocabulary
from ..records import Event
from ..records.traits import TRAITS

GOOD = frozenset({"virtue", "goodwill", "accuracy", "reasoning", "recognition", "compassion"})
INDICATED = 0.1
"""The share of events with an indicator, which is any of them."""
START = datetime(2016, 1, 1, tzinfo=UTC)
"""So long ago that no event lies in the future, however many there are."""


class Events:
    """Events of so many subjects, one after the other, the same for the same seed."""

    def __init__(self, subjects: int, *, uniform: bool = False, seed: int = 7) -> None:
        self._rng = random.Random(seed)
        self._subjects, self._uniform = subjects, uniform
        self._indicators = sorted(load_vocabulary().indicators)
        self._count = 0

    def take(self, count: int) -> list[Event]:
        """The next so many; subjects take turns at random, each towards one of three others."""
        return [self._next() for _ in range(count)]

    def _next(self) -> Event:
        rng, k = self._rng, self._count
        self._count += 1
        who = rng.randrange(self._subjects)
        readings = {name: self._reading(name in GOOD) for name in TRAITS}
        if rng.random() < INDICATED:
            readings[rng.choice(self._indicators)] = round(rng.random(), 2)
        return Event(
            id=f"e{k}",
            at=START + timedelta(seconds=17 * k),
            subject=f"s{who}",
            seq=k,
            target=f"t{(who + rng.randrange(3)) % (self._subjects + 2)}",
            readings=readings,
        )

    def _reading(self, good: bool) -> float:
        if self._uniform:
            return self._rng.random()
        return self._rng.betavariate(2.5, 3.0) if good else self._rng.betavariate(1.2, 8.0)
