"""What a pattern of the library would have found with other numbers, and whether learning finds them."""

from __future__ import annotations

import os
import secrets

import numpy as np
import pytest

from ethogram.app.judging.replay import replayer, variant
from ethogram.app.readings import measured_events
from ethogram.config import Settings
from ethogram.engine.detect import find
from ethogram.patterns.library import load_patterns
from ethogram.risk.parameter_grid import JudgedItem, group_of, period_of
from ethogram.risk.proposal import Proposal
from ethogram.risk.tuning import learn
from risk_readings_world import event, failing_run, warm_then_hard

CASES = [
    ("love_bombing", warm_then_hard, [{"pressure": 0.2}, {"pressure": 0.6}, {"warmth": 0.4}]),
    ("repetitive_errors", failing_run, [{"threshold": 2}, {"threshold": 6}, {"window_size": 3}]),
    ("stuck_run", failing_run, [{}]),
]


def measured(name, events):
    settings = Settings()
    ordered = sorted(events, key=lambda event: event.order)
    found, _ = measured_events(ordered, variant(name, settings).programs, settings)
    return settings, found


@pytest.mark.parametrize(("name", "make", "overlays"), CASES)
def test_variants_run_together_find_what_each_finds_alone(name, make, overlays):
    rng = np.random.default_rng(4)
    settings, events = measured(name, [item for n in range(6) for item in make(rng, f"s{n}")[0]])
    as_of = events[-1].at
    together = list(replayer(name, settings, lambda: [events], as_of)(overlays))
    for overlay, found in zip(overlays, together, strict=True):
        library = load_patterns([name], parameters={name: overlay} if overlay else None)
        alone = find(library.programs, events, as_of=as_of).detections
        own = [item for item in alone if item.pattern == name]
        assert sorted(item.id for item in found) == sorted(item.id for item in own)


def test_numbers_that_make_no_pattern_are_no_variant():
    assert variant("repetitive_errors", Settings(), {"window_size": 0}) is None
    assert variant("repetitive_errors", Settings(), {"window_size": 7}) is not None


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "make", "parameter", "planted", "right"),
    [
        ("love_bombing", warm_then_hard, "pressure", 0.15, 0.5),
        ("repetitive_errors", failing_run, "threshold", 2, 5),
    ],
)
def test_a_wrong_number_planted_in_a_pattern_of_the_library_is_found(name, make, parameter, planted, right):
    seed, runs, inside = secrets.randbelow(2**32), int(os.environ.get("LEARNING_RUNS", "6")), 0
    rng = np.random.default_rng(seed)
    settings = Settings(parameters={name: {parameter: planted}})
    for _ in range(runs):
        events, sizes = [], {}
        for number in range(120):
            own, sizes[f"s{number}"] = make(rng, f"s{number}")
            events += own
        _, seen = measured(name, events)
        replay = replayer(name, settings, lambda seen=seen: [seen], seen[-1].at)
        (found,) = replay([{}])
        judged = [
            JudgedItem(item.id, sizes[item.subject] >= right, True, period_of(item), group_of(item))
            for item in found
        ][:60]
        told = learn(name, variant(name, settings).files[name].parameters, judged, replay)
        if isinstance(told, Proposal) and told.parameter == parameter:
            inside += told.low <= right <= told.high
    print(f"{name}.{parameter}: seed {seed}: the right one inside in {inside} of {runs}")
    assert inside >= 0.9 * runs - 1


STAGED = """\
name: warm_up
title: Warm, then hot
description: Warm first and hot later.
parameters: {line: 0.5}
shape: {sequence: [{warm: risk > 0.2}, {hot: risk > line}], within: 30d}
confidence: hot.risk
severity: high
tell_at: 1
examples:
  fires: [{story: both, risk: [0.3, 0.9], at: 2}]
  quiet: [{story: cool, risk: [0.1, 0.1]}, {story: warm, risk: [0.3, 0.3]}]
"""


def test_what_is_told_early_is_not_counted_as_the_pattern(tmp_path):
    (tmp_path / "warm_up.yaml").write_text(STAGED)
    settings = Settings(patterns=(str(tmp_path),))
    events = [event("ann", n, n, {"risk": risk}) for n, risk in enumerate((0.3, 0.9))]
    early = find(variant("warm_up", settings).programs, events, as_of=events[-1].at).detections
    assert {item.pattern for item in early} == {"warm_up", "warm_up@1"}
    replay = replayer("warm_up", settings, lambda: [events], events[-1].at)
    assert [[item.pattern for item in found] for found in replay([{}, {"line": 0.95}])] == [["warm_up"], []]
