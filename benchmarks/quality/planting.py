"""Plant: episodes of a pattern set into histories, and how many of them are found again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.quality.background import Background, background_of, generated
from benchmarks.quality.episodes import Episode, Setting, detected, episode, programs_of, scripts_of
from benchmarks.quality.lift import Source, batch_of, grouped_by
from ethogram.app.readings import scored_events
from ethogram.config import Settings
from ethogram.engine.detect import find
from ethogram.errors import BadUsage
from ethogram.language.program import Program
from ethogram.models import Detection, Event
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.library import Library, select
from ethogram.patterns.pattern_file import PatternFile
from ethogram.stats import wilson

HALF = 0.5
"""The recall below which a pattern stays experimental."""
Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Planted:
    """One pattern: how many episodes were set into a background, and what was found with and without them.

    `found` counts episodes that the pattern detects in at least one of the events that make it, `found_weak`
    and `found_strong` those of the weaker and stronger half. `found_scrambled` counts the same episodes with
    what happens in them in another order. `alarms` are detections in the background as it was, in so many
    `histories`.
    """

    pattern: str
    status: str
    episodes: int
    found: int
    weak: int
    found_weak: int
    strong: int
    found_strong: int
    found_scrambled: int
    alarms: int
    histories: int
    planted: tuple[Episode, ...] = ()

    @property
    def recall(self) -> float:
        """The share of episodes that was found."""
        return self.found / self.episodes

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 % for the recall."""
        return wilson(self.found, self.episodes)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        low, high = self.interval
        return {
            "record": "planted",
            "pattern": self.pattern,
            "status": self.status,
            "episodes": self.episodes,
            "found": self.found,
            "recall": round(self.recall, 6),
            "recall_low": round(low, 6),
            "recall_high": round(high, 6),
            "recall_weak": round(self.found_weak / self.weak, 6) if self.weak else None,
            "recall_strong": round(self.found_strong / self.strong, 6) if self.strong else None,
            "recall_scrambled": round(self.found_scrambled / self.episodes, 6),
            "alarms": self.alarms,
            "histories": self.histories,
            "alarms_per_100": round(100 * self.alarms / self.histories, 6) if self.histories else None,
            "enough": self.recall >= HALF,
        }


@dataclass(frozen=True, slots=True)
class Planting:
    """What became of every pattern asked for. Iterating gives one Planted each, in order of names."""

    planted: tuple[Planted, ...]
    background: Sequence[Event]
    seed: int
    setting: Setting

    def __iter__(self) -> Iterator[Planted]:
        return iter(self.planted)

    def __len__(self) -> int:
        return len(self.planted)

    def lines(self) -> Iterator[dict[str, Any]]:
        """Event lines of the background and of every history with an episode, which is a source of its own.

        Events of an episode carry the attributes `planted`, the pattern's name, and `act`, true for those
        that make the pattern.
        """
        for event in self.background:
            yield {**event.to_dict(), "source": event.source}
        for item in (made for planted in self.planted for made in planted.planted):
            for event in item.events:
                yield {**_marked(event, item).to_dict(), "source": item.source}

    def summary(self) -> dict[str, Any]:
        """What it takes to get the same numbers again."""
        return {
            "record": "summary",
            "patterns": len(self.planted),
            "background_events": len(self.background),
            "seed": self.seed,
            "strength": list(self.setting.strength),
            "noise": self.setting.noise,
            "gaps": self.setting.gaps,
        }


def plant(
    patterns: Sequence[str | Path] | str | Path | Library,
    events: Source | None = None,
    *,
    episodes: int = 200,
    seed: int = 0,
    setting: Setting = Setting(),  # noqa: B008 (frozen)
    group_by: Sequence[str] = (),
    settings: Settings | None = None,
    skip_bad: bool = False,
    tell: Tell | None = None,
) -> Planting:
    """Set episodes of each pattern into histories, and count how many of them are found.

    Episodes are drawn from the pattern's own firing examples and varied as `setting` says. `events` are the
    background: a path, several, Event objects or dicts; without any, one is made of the pattern's quiet
    examples. `group_by` replaces the patterns' own keys. `tell` is called with how many
    patterns of how many are done.

    >>> [(one.episodes, one.recall > 0.5) for one in plant("gaslighting", episodes=10)]
    [(10, True)]
    """
    _check(episodes, setting)
    settings = settings or Settings()
    library = grouped_by(_library(patterns, settings), group_by)
    real = None if events is None else batch_of(events, library, settings, skip_bad=skip_bad).events
    done: list[Planted] = []
    made: list[Event] = []
    for number, file in enumerate(library):
        if tell is not None:
            tell(number, len(library))
        around = real if real is not None else tuple(generated(file, seed))
        made += () if real is not None else around
        done.append(_planted(library, file, background_of(around), episodes, seed, setting, settings))
    return Planting(tuple(done), real if real is not None else tuple(made), seed, setting)


def _check(episodes: int, setting: Setting) -> None:
    low, high = setting.strength
    if episodes < 1:
        raise BadUsage(f"episodes is a number from 1, not {episodes}")
    if not 0 <= low <= high <= 2:
        raise BadUsage(f"strength goes from a low to a high number, 0 to 2; here is {low:g} to {high:g}")
    if not 0 <= setting.noise <= 1 or not 0 <= setting.gaps <= 1:
        raise BadUsage("noise and gaps are numbers from 0 to 1")


def _library(patterns: Sequence[str | Path] | str | Path | Library, settings: Settings) -> Library:
    if isinstance(patterns, Library):
        return patterns
    return select(
        [patterns] if isinstance(patterns, (str, Path)) else patterns,
        more=settings.patterns,
        vocabulary=load_vocabulary(settings.signals),
        parameters=settings.parameters,
        status=settings.status,
    )


def _planted(
    library: Library,
    file: PatternFile,
    background: Background,
    episodes: int,
    seed: int,
    setting: Setting,
    settings: Settings,
) -> Planted:
    programs = programs_of(library, file)
    scripts = scripts_of(file, programs)
    asked = max(event.at for event in background.events)
    seen, _, _ = scored_events(background.events, programs, settings)
    quiet = find(programs, seen, as_of=asked, engine="columns")
    alarms = [detection for detection in quiet.detections if detected(detection.pattern, file.name)]
    around = replace(
        background, alarms=frozenset((alarm.source, e.event) for alarm in alarms for e in alarm.evidence)
    )
    made, other = (
        [
            episode(file.name, n, scripts[n % len(scripts)], around, setting, seed, scrambled=scrambled)
            for n in range(episodes)
        ]
        for scrambled in (False, True)
    )
    numbers = _found(made, file.name, programs, asked, settings)
    middle = sum(setting.strength) / 2
    weak = {item.number for item in made if item.strength < middle}
    return Planted(
        pattern=file.name,
        status=file.status,
        episodes=episodes,
        found=len(numbers),
        weak=len(weak),
        found_weak=len(numbers & weak),
        strong=episodes - len(weak),
        found_strong=len(numbers - weak),
        found_scrambled=len(_found(other, file.name, programs, asked, settings)),
        alarms=len(alarms),
        histories=max((n for name, n in quiet.checked.items() if detected(name, file.name)), default=0),
        planted=tuple(made),
    )


def _found(
    made: Sequence[Episode], name: str, programs: Sequence[Program], request: datetime, settings: Settings
) -> set[int]:
    """The numbers of the episodes that the pattern detects."""
    whole = sorted((event for item in made for event in item.events), key=lambda event: event.order)
    events, _, _ = scored_events(whole, programs, settings)
    moment = max([request, *(item.until for item in made), *(event.at for event in events)])
    detections = find(programs, events, as_of=moment, engine="columns")
    by_source = {item.source: item for item in made}
    return {
        by_source[detection.source].number
        for detection in detections.detections
        if detected(detection.pattern, name) and _overlaps(detection, by_source[detection.source])
    }


def _overlaps(detection: Detection, made: Episode) -> bool:
    return any(evidence.event in made.acts for evidence in detection.evidence)


def _marked(event: Event, item: Episode) -> Event:
    if event.id not in item.planted:
        return event
    marks = {"planted": item.pattern, "act": event.id in item.acts}
    return replace(event, attributes={**event.attributes, **marks})
