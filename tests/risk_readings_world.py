"""Generated readings of histories in which a pattern of the library would fire, and how plainly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from ethogram.models import Event

START = datetime(2026, 1, 1, tzinfo=UTC)


def event(who: str, number: int, minute: int, readings: dict[str, object], **more: object) -> Event:
    at = START + timedelta(minutes=minute)
    return Event(f"{who}-{number}", at, who, seq=number, readings=readings, **more)  # type: ignore[arg-type]


def warm_then_hard(rng: np.random.Generator, who: str) -> tuple[list[Event], float]:
    """Ordinary days, some warm ones, then a turn of some size; the size is what judges go by."""
    size, out = float(rng.uniform(0.12, 0.85)), []
    kind = int(rng.integers(3, 6))
    ordinary = [(rng.normal(0.3, 0.05), rng.normal(0.1, 0.02)) for _ in range(12)]
    warm = [(rng.uniform(0.72, 0.95), 0.1) for _ in range(kind)]
    for n, (compassion, manipulation) in enumerate([*ordinary, *warm, (rng.uniform(0.05, 0.3), 0.1 + size)]):
        readings = {
            "compassion": float(np.clip(compassion, 0, 1)),
            "manipulation": float(np.clip(manipulation, 0, 1)),
        }
        out.append(event(who, n, 60 * n, readings, target="bo"))
    return out, size


def failing_run(rng: np.random.Generator, who: str) -> tuple[list[Event], float]:
    """A run that fails the same way some times and then goes on; how often is what judges go by."""
    times, out = int(rng.integers(2, 8)), []
    keys = ["same"] * times
    steps = [{"error_key": key, "progress": 0.0, "changed": 0.0} for key in keys]
    good = [{"progress": 1.0, "changed": 1.0} for _ in range(int(rng.integers(3, 12)))]
    for n, readings in enumerate([*good, *steps, *good]):
        out.append(event(who, n, n, dict(readings), thread="r1", kind="action"))
    return out, float(times)
