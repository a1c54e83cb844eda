"""Many histories in one block: what is worked out for all at once stays within each of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks.speed.data import six_programs
from engine.batch_faults import AMONG_MANY, Fault, faulty
from ethogram.engine import plain
from ethogram.engine.columns import blocks
from ethogram.engine.columns.run import run
from ethogram.language.compiler import compile_patterns
from ethogram.language.program import Program
from ethogram.models import Event, moment
from ethogram.patterns.catalogue import load_vocabulary
from pattern_files import read_pattern_text

LATER = 1_800_000_000_000_000
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
THRESHOLDS = (
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
            said: dict[str, Any] = {"observed": rng.choice((0.0, 1.0))} if rng.random() < 0.9 else {}
            said |= {"task": rng.choice("abc")} if rng.random() < 0.8 else {}
            event = Event(
                id=f"{subject}.{k}", at=at, subject=f"s{subject}", seq=k, readings=readings, attributes=said
            )
            out.append(event)
    return out


def _said(outcome: plain.Outcome) -> tuple[object, ...]:
    found = sorted(
        (one.program.name, one.history.events[one.fired].id, one.first, one.last, one.peak, one.count,
         one.severity, one.confidence, one.opened_at, one.closed_at, str(one.chain))
        for one in outcome.findings
    )  # fmt: skip
    lacking = sorted(
        (one.program.name, one.key, one.have, one.need, one.reason) for one in outcome.insufficient
    )
    return found, lacking, outcome.checked


@pytest.mark.parametrize("fault", AMONG_MANY, ids=lambda fault: fault.says)
def test_a_fault_between_histories_is_caught(fault: Fault):
    shapes = [f"  threshold: {{when: '{when}'}}\n" for when in THRESHOLDS]
    shapes += [f"  sequence: {steps}\n  max_gap: 0\n" for steps in SEQUENCES]
    shapes += [f"  {shape}\n" for shape in OTHERS]
    programs = [_programs(shape) for shape in shapes]
    with faulty(fault) as wrong:
        assert any(
            _said(wrong(one, events, as_of=LATER, cap=512))
            != _said(plain.run(one, events, as_of=LATER, cap=512))
            for events in (_events(random.Random(seed), 0.3) for seed in range(5))
            for one in programs
        )


def _agree(programs: tuple[Program, ...], seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    rng = random.Random(seed)
    events = _events(rng, rng.choice((0.0, 0.0, 0.3)))
    monkeypatch.setattr(blocks, "ROWS", rng.choice((1, 50, 400, 131_072)))
    cap = rng.choice((7, 512, 512))
    expected = plain.run(programs, events, as_of=LATER, cap=cap)
    assert _said(run(programs, events, as_of=LATER, cap=cap)) == _said(expected), f"seed {seed}"
    return len(expected.findings)


@pytest.mark.parametrize("when", THRESHOLDS)
def test_thresholds_of_all_so_far(when: str, monkeypatch: pytest.MonkeyPatch):
    programs = _programs(f"  threshold: {{when: '{when}'}}\n")
    assert sum(_agree(programs, seed, monkeypatch) for seed in range(25)) > 20


@pytest.mark.parametrize("shape", OTHERS)
def test_contrasts_covers_and_counts(shape: str, monkeypatch: pytest.MonkeyPatch):
    programs = _programs(f"  {shape}\n")
    assert sum(_agree(programs, seed, monkeypatch) for seed in range(25)) > 20


@pytest.mark.parametrize("steps", SEQUENCES)
def test_sequences_without_gaps(steps: str, monkeypatch: pytest.MonkeyPatch):
    programs = _programs(f"  sequence: {steps}\n  max_gap: 0\n")
    assert sum(_agree(programs, seed, monkeypatch) for seed in range(25)) > 20


def test_the_six_shapes_together(monkeypatch: pytest.MonkeyPatch):
    assert sum(_agree(six_programs(), seed, monkeypatch) for seed in range(40)) > 20
