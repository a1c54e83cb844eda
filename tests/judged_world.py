"""A store in which each subject is hot once: how hot decides what is detected, and what judges say."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ethogram.app.analyze import load_library
from ethogram.app.judging.verdicts import VerdictInput, check_verdict, save_verdicts
from ethogram.app.sweep import sweep
from ethogram.config import Settings, load_settings
from ethogram.models import Detection, Event, Verdict
from ethogram.store import Store, open_store

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
RIGHT = 0.65
"""From here on judges agree; the pattern looks from .3 on."""
HOT = """\
name: too_hot
title: Too hot
description: The risk is above a line.
parameters: {line: 0.3, turns_seen: 1}
shape:
  threshold: {when: "mean(risk, last=turns_seen) > line"}
confidence: risk
severity: high
examples:
  fires: [{story: hot, risk: [0.1, 0.9, 0.1], at: 2}]
  quiet: [{story: cool, risk: [0.1, 0.1, 0.1]}, {story: nothing, risk: [0.0]}]
"""


def heats(count: int = 60, seed: int = 5) -> dict[str, float]:
    """How hot each subject gets, a tenth of them too little to be detected."""
    rng = random.Random(seed)
    found = {f"s{n:02}": round(rng.uniform(0.31, 1), 3) for n in range(count)}
    return found | {f"cool{n}": round(rng.uniform(0.1, 0.29), 3) for n in range(count // 10)}


def make_world(folder: Path, count: int = 60) -> dict[str, float]:
    """Settings that nobody trusts yet, the pattern and a swept store s.db; how hot each subject gets."""
    (folder / "patterns").mkdir()
    (folder / "patterns" / "too_hot.yaml").write_text(HOT, encoding="utf-8")
    (folder / "ethogram.yaml").write_text("patterns: [patterns]\n", encoding="utf-8")
    hot = heats(count)
    start = NOW - timedelta(days=3)
    events = [
        Event(f"{who}-{n}", start + timedelta(hours=n), who, seq=n, readings={"risk": risk})
        for who, top in hot.items()
        for n, risk in enumerate((0.1, top, 0.05))
    ]
    library = load_library(["too_hot"], Settings(patterns=(str(folder / "patterns"),)))
    with open_store(str(folder / "s.db"), create=True) as store:
        store.add(events)
        sweep(store, library, as_of=NOW, clock=lambda: NOW)
    return hot


def judge(
    store: Store, hot: dict[str, float], by: str = "ann", at: datetime = NOW, most: int = 1000
) -> list[Verdict]:
    """What an honest judge says of the detections, in order of their ids."""
    detections: list[Detection] = sorted(store.detections(), key=lambda detection: detection.id)[:most]
    settings = load_settings(environ={}).settings
    said = [
        VerdictInput("confirmed" if hot[item.subject] > RIGHT else "false_alarm", by, at, item.id)
        for item in detections
    ]
    made = [check_verdict(store, item, settings) for item in said]
    save_verdicts(store, made)
    return made
