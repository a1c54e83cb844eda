"""Patterns in code for tests, one of each kind: off unless named, and registered only inside `registered`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import ethogram
from ethogram import Event, Match
from ethogram.testing import action, forget, numbered, says


def edits(*paths: str, **more: Any) -> list[Event]:
    return numbered([action("file_edit", path=path, **more) for path in paths])


def ping_pong(events: Sequence[Event]) -> Match | None:
    """The agent goes back and forth between two files: twice each, or more."""
    paths = [event.attributes.get("path") for event in events]
    rounds = 0
    while len(paths) >= 2 * rounds + 2 and paths[-2 * rounds - 2 :][:2] == paths[-2:]:
        rounds += 1
    if rounds < 2 or paths[-1] == paths[-2] or None in paths[-2:]:
        return None
    return Match(
        confidence=min(1.0, rounds / 4),
        severity="high" if rounds >= 3 else "medium",
        details={"files": sorted(map(str, paths[-2:])), "rounds": rounds},
        evidence=list(events[-2 * rounds : -1]),
        explanation=f"{events[-1].subject} went back and forth {rounds} times.",
    )


class ColdShoulder:
    """Three messages in a row to one person, none of them warm."""

    start: ClassVar[dict[str, int]] = {"cold": 0}

    def step(self, event: Event, state: dict[str, int]) -> tuple[Match | None, dict[str, int]]:
        warmth = event.readings.get("compassion")
        cold = 0 if warmth is None or float(warmth) > 0.2 else state["cold"] + 1
        match = Match(confidence=min(1.0, cold / 6), details={"cold": cold}) if cold >= 3 else None
        return match, {"cold": cold}


class Burst:
    """More events of one subject within a minute than `most`."""

    title = "Many events in a minute"
    status = "experimental"
    severity = "medium"
    start: tuple[float, ...] = ()

    def __init__(self, most: int) -> None:
        self.most = most

    def step(self, event: Event, state: tuple[float, ...]) -> tuple[Match | None, list[float]]:
        now = event.at.timestamp()
        recent = [*[at for at in state if at > now - 60][-self.most :], now]
        return (Match(1.0, details={"events": len(recent)}) if len(recent) > self.most else None), recent


PATTERNS: dict[str, tuple[Any, dict[str, Any]]] = {
    "ping_pong": (
        ping_pong,
        {
            "title": "Two files in turn",
            "status": "experimental",
            "group_by": ["subject", "thread"],
            "kinds": ["action"],
            "severity": ["medium", "high"],
            "window": 8,
            "misses": ["Three files in turn."],
            "fires": [
                ("two files, twice each", edits("a.py", "b.py", "a.py", "b.py"), 4),
                {
                    "story": "three times each",
                    "events": edits(*("a.py", "b.py") * 3),
                    "at": 4,
                    "severity": "high",
                },
            ],
            "quiet": [
                ("four files", edits("a.py", "b.py", "c.py", "d.py")),
                ("one file", edits(*["a.py"] * 6)),
                (
                    "half of it in another run",
                    numbered(
                        action("file_edit", path=path, thread=run)
                        for run in ("one", "other")
                        for path in ("a", "b")
                    ),
                ),
            ],
        },
    ),
    "cold_shoulder": (
        ColdShoulder(),
        {
            "title": "Three answers in a row without warmth",
            "status": "experimental",
            "group_by": ["subject", "target"],
            "needs": ["compassion"],
            "kinds": ["message"],
            "severity": "low",
            "version": 2,
            "fires": [
                (
                    "three cold messages to one person",
                    numbered([says("no", target="bo", readings={"compassion": 0.1})] * 3),
                    3,
                )
            ],
            "quiet": [
                ("two", numbered([says("no", target="bo", readings={"compassion": 0.1})] * 2)),
                (
                    "to three persons",
                    numbered(
                        [says("no", target=who, readings={"compassion": 0.1}) for who in ("bo", "cy", "di")]
                    ),
                ),
                ("not measured", numbered([says("no", target="bo")] * 4)),
            ],
        },
    ),
    "burst": (
        Burst(3),
        {
            "fires": [("four in half a minute", edits("a", "b", "c", "d"), 4)],
            "quiet": [("three", edits("a", "b", "c")), ("one", edits("a"))],
        },
    ),
}


@contextmanager
def registered() -> Iterator[None]:
    """All of them are registered inside."""
    for name, (made, said) in PATTERNS.items():
        ethogram.register(made, name, **said)
    try:
        yield
    finally:
        for name in PATTERNS:
            forget(name)
