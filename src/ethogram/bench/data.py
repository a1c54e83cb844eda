"""Data for benchmarks: evaluations of many subjects, most of them ordinary, some acting out a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
