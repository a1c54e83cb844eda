"""Small patterns and histories with known answers, for tests of commands. The names are in no library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

WARM = """\
name: warm_then_cold
title: Love bombing
description: Three warm events towards one target, then pressure while the warmth is gone.
group_by: [subject, target]
parameters: {warmth: 0.6, pressure: 0.5}
shape:
  sequence:
    - warm: compassion > warmth
      at_least: 3
    - never: apology > 0.5
    - press: manipulation > warm.manipulation + pressure and compassion < 0.3
      within: [2d, 6 events]
  max_gap: 1
  within: 14d
confidence: mean(warm.compassion) * press.manipulation
severity: high
details: {times: warm.count}
explanation: "{subject} was warm to {target} {warm.count} times, then pressed ({press.manipulation:.2f})."
recommendation: Ask the target whether they felt free to say no.
examples:
  fires:
    - story: three kind messages, then a demand
      target: bo
      compassion:   [0.8, 0.9, 0.8, 0.2]
      manipulation: [0.1, 0.1, 0.1, 0.7]
      apology:      [0.0, 0.0, 0.0, 0.0]
      at: 4
  quiet:
    - {story: kind to the end, target: bo, compassion: [0.8, 0.9, 0.8, 0.9]}
    - {story: a demand after two, target: bo, compassion: [0.8, 0.9, 0.2], manipulation: [0.1, 0.1, 0.7]}
"""
HOT = """\
name: hot_for_long
title: Hot for long
description: The mean risk of three turns is high.
parameters: {line: 0.6}
shape:
  threshold: {when: "mean(risk, last=3, at_least=3) > line and count(risk > 0.8) >= 2", clears: risk < 0.2}
confidence: mean(risk, last=3)
severity: {medium: risk > 0, critical: risk > 0.95}
examples:
  fires: [{story: hot three times, risk: [0.9, 0.9, 0.9], at: 3}]
  quiet: [{story: cool, risk: [0.1, 0.1, 0.1]}, {story: hot once, risk: [0.1, 0.9, 0.1]}]
"""
GONE = """\
name: gone_away
title: Gone away
description: Nothing for two days after a risky turn.
shape:
  silence: {longer_than: 2d, after: risk > 0.5, at_least: 3}
confidence: 0.5
severity: low
examples:
  fires: [{story: gone after three, risk: [0.9, 0.9, 0.9], as_of: 5d, at: 3}]
  quiet: [{story: cool, risk: [0.1, 0.1, 0.1], as_of: 5d}, {story: too few, risk: [0.9, 0.9], as_of: 5d}]
"""
BOTH = """\
name: hot_then_gone
title: Hot, then gone
description: First hot for long, then gone.
shape: {in_order: [hot_for_long, gone_away], within: 3d}
severity: high
examples:
  fires: [{story: both, risk: [0.9, 0.9, 0.9], as_of: 5d}]
  quiet: [{story: cool, risk: [0.1, 0.1, 0.1], as_of: 5d}, {story: too few, risk: [0.9, 0.9], as_of: 5d}]
"""


def write_patterns(folder: Path, *texts: str) -> Path:
    """The folder, with these pattern files in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for text in texts:
        name = text.partition("\n")[0].removeprefix("name: ")
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def write_events(path: Path, events: Iterable[dict[str, Any]]) -> Path:
    """The file, with one event a line."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def message(name: str, day: int, subject: str, **readings: Any) -> dict[str, Any]:
    """A message to bo at noon of a day in January 2026."""
    at = f"2026-01-{day:02d}T12:00:00Z"
    return {"id": name, "at": at, "subject": subject, "target": "bo", "readings": readings}


def warm_messages(subject: str = "ann", days: Sequence[int] = (1, 2, 3, 4)) -> list[dict[str, Any]]:
    """Three warm messages, then a cold demand; its ids are ann-1 to ann-4."""
    scores = [(0.9, 0.1), (0.8, 0.1), (0.9, 0.2), (0.1, 0.8)]
    return [
        message(f"{subject}-{i}", day, subject, compassion=warm, manipulation=press)
        for i, (day, (warm, press)) in enumerate(zip(days, scores, strict=True), start=1)
    ]


def turns(subject: str, risks: Sequence[float], days: Sequence[int]) -> list[dict[str, Any]]:
    """Turns with a risk each; ids count from 1."""
    return [
        message(f"{subject}-{i}", day, subject, risk=risk)
        for i, (day, risk) in enumerate(zip(days, risks, strict=True), start=1)
    ]
