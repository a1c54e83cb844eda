"""Backgrounds: histories in which nothing was planted, real ones or made from quiet examples.

Readings of an example, made weaker and noisier, as real ones are.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache

from ethogram.errors import BadUsage
from ethogram.models import EPOCH, Event, Value, is_indicator_name
from ethogram.patterns.catalogue import known_ranges
from ethogram.patterns.pattern_file import PatternFile

LONGEST = 400
"""Events of a history that an episode is set into: the part around the place where it is set."""
SUBJECTS, DAYS, NOISE = 120, 30, 0.02
"""Of a generated background: how many histories, over how many days they begin, and their noise."""
UNIT = (0.0, 1.0)
FAINTEST = 0.01
"""What is left of an indicator at the least: one that was found does not vanish."""


@dataclass(frozen=True, slots=True)
class Background:
    """Histories by whose they are. `alarms` are (source, id) of events in which the pattern was seen."""

    histories: Mapping[tuple[str, str], Sequence[Event]]
    events: Sequence[Event]
    timed: bool
    means: Mapping[str, float]
    alarms: Collection[tuple[str, str]] = frozenset()
    steps: Mapping[tuple[str, str], tuple[Event, ...]] = field(default_factory=dict)
    """The call and the result that an event of a run, by (source, id), is one of."""

    def draw(self, count: int, rng: random.Random) -> list[list[Event]]:
        """Histories of different subjects; one with twice the events is drawn twice as often."""
        if count > len(self.histories):
            raise BadUsage(f"the background has {len(self.histories)} subjects, and an episode needs {count}")
        chosen: dict[tuple[str, str], int] = {}
        while len(chosen) < count:
            event = rng.choice(self.events)
            chosen.setdefault((event.source, event.subject), rng.randrange(LONGEST))
        return [_part(self.histories[whose], start) for whose, start in chosen.items()]

    def innocent(self, rng: random.Random) -> tuple[Event, ...]:
        """Any event in which the pattern was not seen; the last one tried, where that is hard to find.

        Of a run it is a whole step, a call and what it gave: an agent does not do half of one.
        """
        event = rng.choice(self.events)
        for _ in range(20):
            if (event.source, event.id) not in self.alarms:
                break
            event = rng.choice(self.events)
        return self.steps.get((event.source, event.id), (event,))


def background_of(events: Iterable[Event]) -> Background:
    """The histories in these events, which are in order."""
    whole = tuple(events)
    if not whole:
        raise BadUsage("there are no events to set episodes into")
    histories: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in whole:
        histories[event.source, event.subject].append(event)
    timed = all(event.timed for event in whole)
    return Background(histories, whole, timed, means(whole), steps=steps_of(whole))


def steps_of(events: Iterable[Event]) -> dict[tuple[str, str], tuple[Event, ...]]:
    """Each call of a run with its result: that of its id or, where it has none, the next one."""
    record: dict[tuple[str, str], tuple[Event, ...]] = {}
    waiting: dict[tuple[str, str, str | None, object], Event] = {}
    for event in events:
        key = (event.source, event.subject, event.thread, event.attributes.get("call_id"))
        if event.kind == "action":
            waiting[key] = event
        elif event.kind == "result" and (call := waiting.pop(key, None)) is not None:
            record[call.source, call.id] = record[event.source, event.id] = (call, event)
    return record


def generated(file: PatternFile, seed: int) -> list[Event]:
    """A background in which everybody lives through one of the pattern's quiet examples, with some noise.

    These are the nearest innocent histories there are, and short ones: good for trying things out.
    """
    rng = random.Random(f"{seed}:{file.name}:background")
    quiet = [example.events for example in file.examples if not example.fires]
    out: list[Event] = []
    for number in range(SUBJECTS):
        events = quiet[number % len(quiet)]
        how = varying(events, {}, 1.0, NOISE)
        later = rng.randrange(DAYS) * timedelta(days=1)
        ids = {event.id: f"b-{len(out) + place + 1}" for place, event in enumerate(events)}
        people = {event.subject for event in events}
        out += [
            replace(
                event,
                id=ids[event.id],
                source=f"background:{file.name}",
                subject=f"{event.subject}-{number + 1}",
                target=f"{event.target}-{number + 1}" if event.target in people else event.target,
                reply_to=ids.get(event.reply_to or ""),
                at=event.at + later if event.timed else event.at,
                readings=how.varied(event.readings, rng),
            )
            for event in events
        ]
    return _numbered(out)


def _numbered(events: Sequence[Event]) -> list[Event]:
    """The events in order. A source has times or has none, so one event without them is enough for none."""
    if all(event.timed for event in events):
        ordered = sorted(events, key=lambda event: event.at)
        return [replace(event, seq=number) for number, event in enumerate(ordered)]
    return [
        replace(event, seq=number, timed=False, at=EPOCH + timedelta(seconds=number))
        for number, event in enumerate(events)
    ]


def _part(history: Sequence[Event], start: int) -> list[Event]:
    if len(history) <= LONGEST:
        return list(history)
    first = start * (len(history) - LONGEST) // LONGEST
    return list(history[first : first + LONGEST])


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
    own = {name: sum(value) / len(value) for name, value in values.items()}
    shared = {name: mean for name, mean in usual.items() if name in own and _range(name) == UNIT}
    return Varying(
        strength,
        noise,
        own | shared,
        frozenset(name for name, value in values.items() if set(value) <= {0.0, 1.0}),
        frozenset(
            name
            for name, value in values.items()
            if _range(name) != UNIT and all(float(item).is_integer() for item in value)
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
        name: [item for item in result if not isinstance(item, str)]
        for name, result in known_ranges().items()
    }
    return {
        name: (float(number[0]), float(number[1])) for name, number in numbers.items() if len(number) == 2
    }


def _clipped(value: float, limits: tuple[float, float]) -> float:
    return round(min(max(value, limits[0]), limits[1]), 6)
