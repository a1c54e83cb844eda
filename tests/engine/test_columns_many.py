"""Many histories in one block: both engines give the same detections, to the last digit."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks.speed.data import six_programs
from ethogram.engine.columns import histories
from ethogram.engine.columns.run import run
from ethogram.engine.detections import detection_of
from ethogram.engine.live.engine import run as run_live
from ethogram.engine.match import Outcome
from ethogram.language.compiler import compile_patterns
from ethogram.language.program import Program
from ethogram.models import Event, moment
from ethogram.patterns.catalogue import load_vocabulary
from pattern_files import read_pattern_text
from sampling import seeds

LATER = 1_800_000_000_000_000
SEEDS = seeds(6, 20)
_HEAD = """\
name: one
title: one
description: A shape for this test.
severity: low
confidence: 1
examples:
  fires: [{story: unused, compassion: [1]}]
  quiet: [{story: unused, compassion: [0]}, {story: unused, compassion: [1]}]
shape:
"""
SEVERITIES = (
    "mean(compassion, at_least=3) > 0.5",
    "mean(compassion) >= 0.5",
    "mean(compassion, at_least=2) < 0.25",
    "0.5 < mean(compassion, where=manipulation > 0.5, at_least=2)",
    "std(compassion, at_least=3) > 0.35",
    "std(compassion, where=manipulation > 0.25) > 0.3",
    "rise(compassion, at_least=3) > 0.4 and mean(manipulation) < 0.5",
    "rise(compassion, where=manipulation < 0.75) >= 0.5",
    "share(compassion > 0.5, at_least=2) > 0.6 or sum(manipulation) > 9",
    "count(compassion > 0.5) > 6 and mean(compassion, at_least=4) > 0.5",
)
ANY = "\"or_else(task, 'any')\""
SIDES = "where: observed == 0, against: observed == 1"
HALVES = "where: manipulation > 0.25, against: manipulation < 0.75"
OTHERS = (
    f"contrast: {{of: compassion, {SIDES}, difference: 0.2, t: 1.5}}",
    f"contrast: {{of: compassion, {SIDES}, difference: 0.1, t: 1, last: 9, within_each: {ANY}}}",
    f"contrast: {{of: compassion, {HALVES}, difference: 0.1, t: 1, at_least: 3, within_each: task}}",
    "threshold: {when: 'cover((MAN_POWER, DEC_HIDDEN), last=12, at_least=2) > 1'}",
    "threshold: {when: 'cover((MAN_POWER, DEC_HIDDEN, MAN_SOCENG), where=compassion > 0.25) >= 2'}",
    "threshold: {when: \"surprise_count(compassion > 0.5, span='5m', last='1h', prior=(1, 1)) > 0.3\"}",
)
SEQUENCES = (
    "[{a: compassion > 0.5}, {b: compassion < 0.5}]",
    "[{a: compassion > 0.5}, {b: manipulation > 0.5}, {c: compassion < 0.5}]",
    "[{a: mean(compassion) > 0.5}, {b: compassion < 0.5}]",
)


def _programs(shape: str) -> tuple[Program, ...]:
    return compile_patterns(read_pattern_text(_HEAD + shape, load_vocabulary()).patterns)


def _events(rng: random.Random, gaps: float) -> list[Event]:
    """Subjects with histories of all lengths, one after another; values that tie often; some absent."""
    out: list[Event] = []
    fine = rng.random() < 0.5
    for subject in range(rng.randint(1, 40)):
        for k in range(rng.choice((1, 2, 3, 5, 17, 40, 60))):
            names = [n for n in ("compassion", "manipulation", "deception") if rng.random() >= gaps]
            readings = {n: rng.random() if fine else rng.choice((0, 0.25, 0.5, 0.75, 1.0)) for n in names}
            at = moment(1_700_000_000_000_000 + (subject * 100 + k) * 60_000_000)
            readings |= {n: 0.5 for n in ("MAN_POWER", "DEC_HIDDEN", "MAN_SOCENG") if rng.random() < 0.1}
            record: dict[str, Any] = {"observed": rng.choice((0.0, 1.0))} if rng.random() < 0.9 else {}
            record |= {"task": rng.choice("abc")} if rng.random() < 0.8 else {}
            event = Event(
                id=f"{subject}.{k}", at=at, subject=f"s{subject}", seq=k, readings=readings, attributes=record
            )
            out.append(event)
    return out


def _records(outcome: Outcome) -> tuple[object, ...]:
    detections = sorted(map(detection_of, outcome.matches), key=lambda item: item.order)
    lacking = sorted(
        (item.program.name, item.key, item.have, item.need, item.reason) for item in outcome.insufficient
    )
    return [detection.to_dict() for detection in detections], lacking, outcome.checked


def _agree(programs: tuple[Program, ...], seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    rng = random.Random(seed)
    events = _events(rng, rng.choice((0.0, 0.0, 0.3)))
    monkeypatch.setattr(histories, "BLOCK_ROWS", rng.choice((1, 50, 400, 131_072)))
    cap = rng.choice((7, 512, 512))
    expected = run_live(programs, events, as_of=LATER, cap=cap)
    assert _records(run(programs, events, as_of=LATER, cap=cap)) == _records(expected), f"seed {seed}"
    return len(expected.matches)


@pytest.mark.parametrize("when", SEVERITIES)
def test_levels_of_all_so_far(when: str, monkeypatch: pytest.MonkeyPatch):
    programs = _programs(f"  threshold: {{when: '{when}'}}\n")
    assert sum(_agree(programs, seed, monkeypatch) for seed in SEEDS) > len(SEEDS)


@pytest.mark.parametrize("shape", OTHERS)
def test_contrasts_covers_and_counts(shape: str, monkeypatch: pytest.MonkeyPatch):
    programs = _programs(f"  {shape}\n")
    assert sum(_agree(programs, seed, monkeypatch) for seed in SEEDS) > len(SEEDS)


@pytest.mark.parametrize("steps", SEQUENCES)
def test_sequences_without_gaps(steps: str, monkeypatch: pytest.MonkeyPatch):
    programs = _programs(f"  sequence: {steps}\n  max_gap: 0\n")
    assert sum(_agree(programs, seed, monkeypatch) for seed in SEEDS) > len(SEEDS)


def test_the_six_shapes_together(monkeypatch: pytest.MonkeyPatch):
    assert sum(_agree(six_programs(), seed, monkeypatch) for seed in SEEDS) > len(SEEDS)
