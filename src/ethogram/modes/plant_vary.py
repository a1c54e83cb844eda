"""Readings of an example, made weaker and noisier, as real ones are."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ..library.vocabulary import known_ranges
from ..records import Event, Value, is_indicator_name

UNIT = (0.0, 1.0)
FAINTEST = 0.01
"""What is left of an indicator at the least: one that was found does not vanish."""


@dataclass(frozen=True, slots=True)
class Varying:
    """How readings of an example are changed.

    `strength`: how far a reading stands out from `centres`, what is usual in the background, against how far
    it does in the example. `noise`: the standard deviation of what is added to it.
    """

    strength: float
    noise: float
    centres: Mapping[str, float] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()

    def varied(self, readings: Mapping[str, Value], rng: random.Random) -> dict[str, Value]:
        """Readings with this strength and noise; categories and yes-or-no readings stay as they are."""
        return {name: self._one(name, value, rng) for name, value in readings.items()}

    def _one(self, name: str, value: Value, rng: random.Random) -> Value:
        if isinstance(value, str) or name in self.flags:
            return value
        noise = rng.gauss(0.0, self.noise)
        if is_indicator_name(name):
            # Not found is not found: noise must not make up a sign.
            return _clipped(value * self.strength + noise, (FAINTEST, 1.0)) if value > 0 else value
        low, high = _range(name)
        centre = self.centres.get(name, value)
        weaker = centre + self.strength * (value - centre)
        changed = weaker + noise if (low, high) == UNIT else weaker * (1 + noise)
        return _clipped(round(changed) if name in self.whole else changed, (low, high))


def varying(events: Iterable[Event], usual: Mapping[str, float], strength: float, noise: float) -> Varying:
    """How the readings of these events vary. `usual`: the mean of each signal in the background.

    A signal without a top, such as tokens, has no scale in common with the background: its centre is the
    example's own mean.
    """
    values: dict[str, list[float]] = defaultdict(list)
    for event in events:
        for name, value in event.readings.items():
            if not isinstance(value, str):
                values[name].append(value)
    own = {name: sum(found) / len(found) for name, found in values.items()}
    shared = {name: mean for name, mean in usual.items() if name in own and _range(name) == UNIT}
    return Varying(
        strength,
        noise,
        own | shared,
        frozenset(name for name, found in values.items() if set(found) <= {0.0, 1.0}),
        frozenset(
            name
            for name, found in values.items()
            if _range(name) != UNIT and all(float(one).is_integer() for one in found)
        ),
    )


def means(events: Iterable[Event]) -> dict[str, float]:
    """The mean of every number that is read in these events.

    >>> means([Event.sample(readings={"a": 1.0}), Event.sample(readings={"a": 2.0, "b": "x"})])
    {'a': 1.5}
    """
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for event in events:
        for name, value in event.readings.items():
            if not isinstance(value, str):
                sums[name][0] += value
                sums[name][1] += 1
    return {name: total / count for name, (total, count) in sums.items()}


def _range(name: str) -> tuple[float, float]:
    return _ranges().get(name, (-math.inf, math.inf))


@lru_cache(maxsize=1)
def _ranges() -> Mapping[str, tuple[float, float]]:
    # Asked for at every reading, and walking the registry takes a while.
    numbers = {
        name: [one for one in found if not isinstance(one, str)] for name, found in known_ranges().items()
    }
    return {name: (float(found[0]), float(found[1])) for name, found in numbers.items() if len(found) == 2}


def _clipped(value: float, limits: tuple[float, float]) -> float:
    return round(min(max(value, limits[0]), limits[1]), 6)
