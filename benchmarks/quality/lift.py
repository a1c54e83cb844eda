"""Lift: does order matter? Detections in histories as they were, against the same ones shuffled.

The interval of the ratio is drawn over subjects, since a few of them make most of the detections.
`batch_of` and `grouped_by`, which choose events and histories, serve planting too.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from ethogram.app.analyze import load_library
from ethogram.app.backtest import shuffled
from ethogram.app.readings import scored_events
from ethogram.config import Settings
from ethogram.engine.detect import SearchResult, find
from ethogram.errors import BadUsage, did_you_mean
from ethogram.ingest import Batch, Limits, events_of, read_events
from ethogram.ingest.collector import checked_events, latest_time
from ethogram.language.ast import Attribute, Signal
from ethogram.language.history import FIELDS
from ethogram.language.program import Program
from ethogram.language.visitor import named
from ethogram.models import EPOCH, Event
from ethogram.patterns.catalogue import known_ranges
from ethogram.patterns.library import Library

Whose = tuple[str, str]
"""Source and subject."""
Tell = Callable[[int, int], None]
K = TypeVar("K", bound=Hashable)
DRAWS = 1000
MIDDLE = (0.025, 0.975)
Source = str | Path | Sequence[str | Path] | Iterable[Event] | Iterable[Mapping[str, Any]]
KEYS = ("subject", "target", "thread", "session")


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
        return math.sqrt(sum((item - self.mean) ** 2 for item in self.shuffled) / (n - 1)) if n > 1 else 0.0

    @property
    def p(self) -> float:
        """How often an arrangement, the real one included, has as many detections as the real one."""
        return (1 + sum(item >= self.detections for item in self.shuffled)) / (1 + len(self.shuffled))

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
    group_by: Sequence[str] = (),
    as_of: datetime | None = None,
    settings: Settings | None = None,
    skip_bad: bool = False,
    tell: Tell | None = None,
) -> Lifts:
    """Detections of each pattern, beside those in histories whose readings were shuffled.

    Within each subject the readings change places among the events that have any; times, ids, targets,
    threads, attributes and texts stay where they are. `group_by` puts other keys in place of the
    patterns' own. `tell` is called with how many shuffles of how many are done.

    >>> lift([], patterns=["love_bombing"], shuffles=3).lifts[0].detections
    0
    """
    if shuffles < 1:
        raise BadUsage(f"shuffles is a number from 1, not {shuffles}")
    settings = settings or Settings()
    chosen = patterns if isinstance(patterns, Library) else load_library(patterns, settings)
    library = grouped_by(chosen, group_by)
    batch = batch_of(events, library, settings, skip_bad=skip_bad)
    asked = as_of or max((event.at for event in batch.events), default=EPOCH)
    programs = library.programs
    events = [event for event in batch.events if event.at <= asked]
    seen, _, _ = scored_events(events, programs, settings)
    real = find(programs, seen, as_of=asked, engine="columns")
    records: list[Mapping[str, Counter[Whose]]] = []
    for number in range(shuffles):
        if tell is not None:
            tell(number, shuffles)
        other = shuffled(seen, random.Random(f"{seed}:{number}"))
        records.append(_by_pattern(find(programs, other, as_of=asked, engine="columns")))
    return Lifts(
        tuple(
            _lift(program, real, records, _lacking(program, seen), seed)
            for program in sorted(programs, key=lambda program: program.name)
            if library.is_chosen(program)
        ),
        seed=seed,
        shuffles=shuffles,
        events=len(seen),
        subjects=len({(event.source, event.subject) for event in seen}),
    )


def _lift(
    program: Program,
    real: SearchResult,
    records: Sequence[Mapping[str, Counter[Whose]]],
    lacking: tuple[str, ...],
    seed: int,
) -> Lift:
    name = program.name
    own = _by_pattern(real).get(name, Counter())
    others = [item.get(name, Counter()) for item in records]
    middle = sum(others, Counter[Whose]())
    ratio, low, high = ratio_interval(own, middle, len(others), f"{seed}:{name}")
    return Lift(
        pattern=name,
        status=program.status,
        histories=real.checked.get(name, 0),
        insufficient=sum(item.program.name == name for item in real.insufficient),
        detections=own.total(),
        shuffled=tuple(other.total() for other in others),
        ratio=ratio,
        low=low,
        high=high,
        lacking=lacking,
    )


def _by_pattern(result: SearchResult) -> dict[str, Counter[Whose]]:
    """Detections of each pattern, counted by whose they are."""
    out: dict[str, Counter[Whose]] = defaultdict(Counter)
    for detection in result.detections:
        out[detection.pattern][detection.source, detection.subject] += 1
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


def ratio_interval(
    real: Counter[K], shuffled: Counter[K], shuffles: int, seed: str
) -> tuple[float | None, float | None, float | None]:
    """Real detections over those of a mean shuffle, with the 95 % interval of that ratio over subjects.

    Subjects are drawn again with a Poisson weight each (a bootstrap), since detections of one subject are not
    independent. None where no shuffle has any; `high` is None where too many draws have none either.

    >>> ratio_interval(Counter(), Counter(), 20, "0")
    (None, None, None)
    """
    if not shuffled:
        return None, None, None
    rng = random.Random(seed)
    pairs = [(real[item], shuffled[item] / shuffles) for item in sorted({*real, *shuffled}, key=str)]
    drawn = sorted(_drawn(pairs, rng) for _ in range(DRAWS))
    low, high = (_at(drawn, share) for share in MIDDLE)
    return round(real.total() * shuffles / shuffled.total(), 6), low, high


def _drawn(pairs: list[tuple[int, float]], rng: random.Random) -> float:
    """The ratio among subjects drawn again; infinite where only the shuffles are left out."""
    above = below = 0.0
    for own, other in pairs:
        if weight := _poisson(rng.random()):
            above, below = above + weight * own, below + weight * other
    if below:
        return above / below
    return math.inf if above else 1.0


def _poisson(u: float) -> int:
    """A Poisson number of mean 1 from a uniform one."""
    count, share = 0, math.exp(-1)
    total = share
    while u > total and count < 20:
        count += 1
        share /= count
        total += share
    return count


def _at(ordered: list[float], share: float) -> float | None:
    value = ordered[min(len(ordered) - 1, int(share * len(ordered)))]
    return None if math.isinf(value) else round(value, 6)


def batch_of(events: Source, library: Library, settings: Settings, *, skip_bad: bool = False) -> Batch:
    """Events of a path, of several, or made by a program, in order and in memory."""
    how: dict[str, Any] = {
        "source": settings.source,
        "skip_bad": skip_bad,
        "kinds": library.kinds,
        "ranges": known_ranges(),
        "limits": Limits(**settings.limits),
        "latest": (latest := latest_time(datetime.now(UTC), settings.max_future)),
    }
    if isinstance(events, (str, Path)):
        return read_events([events], **how)
    values: list[Any] = list(events)
    if values and all(isinstance(item, (str, Path)) for item in values):
        return read_events(values, **how)
    if values and all(isinstance(item, Event) for item in values):
        return checked_events(values, latest, skip_bad=skip_bad)
    return events_of(values, **how)


def grouped_by(library: Library, keys: Sequence[str]) -> Library:
    """The same patterns, looking at histories by these keys; none leaves each pattern its own.

    For data that lacks what a pattern's histories are made of, such as targets.
    """
    if not keys:
        return library
    for key in keys:
        if key not in KEYS:
            raise BadUsage(f"unknown key {key!r} of a history{did_you_mean(key, KEYS)}")
    if "subject" not in keys:
        raise BadUsage("a history is always one subject's: add subject to its keys")
    ordered = tuple(key for key in KEYS if key in keys)
    files = {
        name: replace(file, patterns=tuple(replace(pattern, group_by=ordered) for pattern in file.patterns))
        for name, file in library.files.items()
    }
    return replace(library, files=files)
