"""Lift: does order matter? Detections in histories as they were, against the same ones shuffled."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ..config import Settings
from ..detections.find import Found, find
from ..errors import BadUsage
from ..library.load import Library
from ..records import EPOCH, Event
from ..shapes.history import FIELDS
from ..shapes.program import Program
from ..shapes.tree import Attribute, Signal
from ..shapes.walk import named
from .analyze import load_library
from .lift_events import Source, batch_of, over_history, readable
from .lift_ratio import ratio_interval

Whose = tuple[str, str]
"""Source and subject."""
Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Lift:
    """One pattern: its detections as things were, and in each shuffle.

    `ratio` is the first over the mean of the others, `low` and `high` its interval of 95 % over subjects;
    None where no shuffle had any. `p` is the share of arrangements, the real one included, with as many
    detections or more. `lacking` names signals and attributes of the shape that no event carries.
    """

    pattern: str
    status: str
    histories: int
    insufficient: int
    detections: int
    shuffled: tuple[int, ...]
    ratio: float | None
    low: float | None
    high: float | None
    lacking: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """Detections in a shuffle, on average."""
        return sum(self.shuffled) / len(self.shuffled)

    @property
    def sd(self) -> float:
        """The spread of detections over the shuffles (sample standard deviation; 0 for one shuffle)."""
        n = len(self.shuffled)
        return math.sqrt(sum((one - self.mean) ** 2 for one in self.shuffled) / (n - 1)) if n > 1 else 0.0

    @property
    def p(self) -> float:
        """How often an arrangement, the real one included, has as many detections as the real one."""
        return (1 + sum(one >= self.detections for one in self.shuffled)) / (1 + len(self.shuffled))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "record": "lift",
            "pattern": self.pattern,
            "status": self.status,
            "histories": self.histories,
            "insufficient": self.insufficient,
            "detections": self.detections,
            "shuffled_mean": round(self.mean, 6),
            "shuffled_sd": round(self.sd, 6),
            "shuffled": list(self.shuffled),
            "ratio": self.ratio,
            "ratio_low": self.low,
            "ratio_high": self.high,
            "p": round(self.p, 6),
            "lacking": list(self.lacking),
        }


@dataclass(frozen=True, slots=True)
class Lifts:
    """The lift of every pattern asked for, in order of names. Iterating gives them."""

    lifts: tuple[Lift, ...]
    seed: int
    shuffles: int
    events: int
    subjects: int

    def __iter__(self) -> Iterator[Lift]:
        return iter(self.lifts)

    def __len__(self) -> int:
        return len(self.lifts)

    def summary(self) -> dict[str, Any]:
        """What it takes to get the same numbers again."""
        return {
            "record": "summary",
            "patterns": len(self.lifts),
            "events": self.events,
            "subjects": self.subjects,
            "shuffles": self.shuffles,
            "seed": self.seed,
        }


def lift(
    events: Source,
    patterns: Sequence[str | Path] | Library | None = None,
    *,
    shuffles: int = 20,
    seed: int = 0,
    history: Sequence[str] = (),
    as_of: datetime | None = None,
    settings: Settings | None = None,
    skip_bad: bool = False,
    tell: Tell | None = None,
) -> Lifts:
    """Detections of each pattern, beside those in histories whose readings were shuffled.

    Within each subject the readings change places among the events that have any; times, ids, targets,
    threads, attributes and texts stay where they are. `history` puts other histories in place of the
    patterns' own. `tell` is called with how many shuffles of how many are done.

    >>> lift([], patterns=["love_bombing"], shuffles=3).lifts[0].detections
    0
    """
    if shuffles < 1:
        raise BadUsage(f"shuffles is a number from 1, not {shuffles}")
    settings = settings or Settings()
    chosen = patterns if isinstance(patterns, Library) else load_library(patterns, settings)
    library = over_history(chosen, history)
    batch = batch_of(events, library, settings, skip_bad=skip_bad)
    asked = as_of or max((event.at for event in batch.events), default=EPOCH)
    programs = library.programs
    seen = readable((event for event in batch.events if event.at <= asked), programs, settings)
    real = find(programs, seen, as_of=asked, runner="batch")
    found: list[Mapping[str, Counter[Whose]]] = []
    for number in range(shuffles):
        if tell is not None:
            tell(number, shuffles)
        other = shuffled(seen, random.Random(f"{seed}:{number}"))
        found.append(_by_pattern(find(programs, other, as_of=asked, runner="batch")))
    return Lifts(
        tuple(
            _lift(program, real, found, _lacking(program, seen), seed)
            for program in sorted(programs, key=lambda one: one.name)
            if library.is_chosen(program)
        ),
        seed=seed,
        shuffles=shuffles,
        events=len(seen),
        subjects=len({(event.source, event.subject) for event in seen}),
    )


def shuffled(events: Sequence[Event], rng: random.Random) -> list[Event]:
    """The same events, with the readings of each subject in another order among its events that have any.

    >>> first, second = Event.sample(readings={"a": 1.0}), Event.sample(readings={"a": 2.0})
    >>> sorted(one.readings["a"] for one in shuffled([first, second], random.Random(1)))
    [1.0, 2.0]
    """
    places: dict[Whose, list[int]] = defaultdict(list)
    for place, event in enumerate(events):
        if event.readings:
            places[event.source, event.subject].append(place)
    out = list(events)
    for own in places.values():
        drawn = own[:]
        rng.shuffle(drawn)
        for place, other in zip(own, drawn, strict=True):
            from_ = events[other]
            out[place] = replace(
                events[place], readings=from_.readings, scorers=from_.scorers, widths=from_.widths
            )
    return out


def _lift(
    program: Program,
    real: Found,
    found: Sequence[Mapping[str, Counter[Whose]]],
    lacking: tuple[str, ...],
    seed: int,
) -> Lift:
    name = program.name
    own = _by_pattern(real).get(name, Counter())
    others = [one.get(name, Counter()) for one in found]
    middle = sum(others, Counter[Whose]())
    ratio, low, high = ratio_interval(own, middle, len(others), f"{seed}:{name}")
    return Lift(
        pattern=name,
        status=program.status,
        histories=real.checked.get(name, 0),
        insufficient=sum(one.program.name == name for one in real.insufficient),
        detections=own.total(),
        shuffled=tuple(one.total() for one in others),
        ratio=ratio,
        low=low,
        high=high,
        lacking=lacking,
    )


def _by_pattern(found: Found) -> dict[str, Counter[Whose]]:
    """Detections of each pattern, counted by whose they are."""
    out: dict[str, Counter[Whose]] = defaultdict(Counter)
    for one in found.detections:
        out[one.pattern][one.source, one.subject] += 1
    return out


def _lacking(program: Program, events: Sequence[Event]) -> tuple[str, ...]:
    """Signals and attributes of the shape that no event carries.

    An indicator that nobody found was still looked for, and is none of them.
    """
    wanted = {*named(program.body, Signal), *named(program.body, Attribute)}.difference(FIELDS)
    for event in events:
        wanted -= event.readings.keys() | event.attributes.keys()
        if not wanted:
            break
    return tuple(sorted(wanted))
