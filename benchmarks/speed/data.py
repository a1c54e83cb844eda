"""Data of the speed benchmarks.

`evaluations` makes columns of readings of many subjects, most of them ordinary, some acting out a pattern.
`six_programs` are the shapes over absolute thresholds that every candidate runs. `Events` makes single events
for the live engine: twelve traits each, an indicator now and then.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethogram.language.compiler import compile_patterns
from ethogram.language.program import Program
from ethogram.language.yaml_source import read_yaml
from ethogram.models import Event
from ethogram.models.event import TRAITS as ALL_TRAITS
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.pattern_file import check_pattern

GOOD = ("compassion", "goodwill", "accuracy")
BAD = ("manipulation", "deception", "exploitation", "fabrication")
TRAITS = (*GOOD, *BAD)
PER_SUBJECT = 100
PLANTED = 0.02
"""The share of subjects that act out one of the six shapes once."""

_SCRIPTS: tuple[tuple[dict[str, float], ...], ...] = (
    (*({"compassion": 0.9},) * 3, {"compassion": 0.1, "manipulation": 0.8}),
    ({"deception": 0.8}, {"manipulation": 0.8}, {"exploitation": 0.8}),
    (*({"goodwill": 0.9},) * 2, {"fabrication": 0.8}, {"manipulation": 0.8}),
    (*({"accuracy": 0.9},) * 5, {"accuracy": 0.1}),
)
_HEAD = """\
name: {name}
title: {name}
description: A shape for measuring speed.
severity: low
confidence: 1
examples:
  fires: [{{story: unused, compassion: [1]}}]
  quiet: [{{story: unused, compassion: [0]}}, {{story: unused, compassion: [1]}}]
shape:
"""
SHAPES = {
    "love_bombing": """\
  sequence:
    - warm: compassion > 0.6
      times: 3
    - press: manipulation > 0.5 and compassion < 0.3
  max_gap: 0
""",
    "darvo": """\
  sequence: [{deny: deception > 0.5}, {attack: manipulation > 0.5}, {victim: exploitation > 0.5}]
  max_gap: 0
""",
    "con_game": """\
  sequence:
    - rapport: goodwill > 0.6
      times: 2
    - tale: fabrication > 0.5
    - ask: manipulation > 0.5
  max_gap: 0
""",
    "sandbagging": """\
  sequence:
    - able: accuracy > 0.7
      times: 5
    - drop: accuracy < 0.3
  max_gap: 0
""",
    "alignment_faking": """\
  threshold:
    when: >-
      mean(manipulation, where=observed == 1, at_least=5) < 0.2 and
      mean(manipulation, where=observed == 0, at_least=5) > 0.5
""",
    "intermittent_reward": """\
  threshold: {when: "std(compassion, at_least=5) > 0.3 and rise(manipulation, at_least=5) > 0"}
""",
}
POSITIVE_TRAITS = frozenset({"virtue", "goodwill", "accuracy", "reasoning", "recognition", "compassion"})
INDICATED = 0.1
"""The share of events with an indicator, which is any of them."""
START = datetime(2016, 1, 1, tzinfo=UTC)
"""So long ago that no event lies in the future, however many there are."""


@dataclass(frozen=True, slots=True)
class Evaluations:
    """Columns clustered by subject and in order of time; `observed` is 1 where the subject was watched."""

    subject: NDArray[np.int64]
    at: NDArray[np.int64]
    observed: NDArray[np.float64]
    traits: dict[str, NDArray[np.float64]]

    @property
    def rows(self) -> int:
        return len(self.subject)


def evaluations(rows: int, seed: int = 7, per_subject: int = PER_SUBJECT) -> Evaluations:
    """So many evaluations, the same for the same seed."""
    rng = np.random.default_rng(seed)
    subjects = max(1, rows // per_subject)
    subject = np.repeat(np.arange(subjects, dtype=np.int64), per_subject)[:rows]
    subject = np.pad(subject, (0, rows - len(subject)), mode="edge")
    at = np.arange(rows, dtype=np.int64) * 60_000_000
    traits = {name: rng.beta(2.5, 3.0, rows) for name in GOOD}
    traits |= {name: rng.beta(1.2, 8.0, rows) for name in BAD}
    _plant(rng, traits, rows, subjects, per_subject)
    # Readings have six decimals; peers are to see the same.
    traits = {name: np.round(column, 6) for name, column in traits.items()}
    return Evaluations(subject, at, (rng.random(rows) < 0.5).astype(np.float64), traits)


def _plant(
    rng: np.random.Generator, traits: dict[str, Any], rows: int, subjects: int, per_subject: int
) -> None:
    chosen = rng.choice(subjects, max(1, int(subjects * PLANTED)), replace=False)
    for number, subject in enumerate(chosen):
        script = _SCRIPTS[number % len(_SCRIPTS)]
        start = int(subject) * per_subject + int(rng.integers(0, max(1, per_subject - len(script))))
        for step, readings in enumerate(script):
            for name, value in readings.items():
                if start + step < rows:
                    traits[name][start + step] = value


def six_programs() -> tuple[Program, ...]:
    """The six as programs."""
    vocabulary = load_vocabulary()
    files = [
        check_pattern(read_yaml(_HEAD.format(name=name) + shape, name), name, vocabulary)
        for name, shape in SHAPES.items()
    ]
    return compile_patterns(pattern for file in files for pattern in file.patterns)


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
        readings = {name: self._reading(name in POSITIVE_TRAITS) for name in ALL_TRAITS}
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
