"""A watch holds a bounded number of histories: the longest without an event go, what was open is told."""

from __future__ import annotations

import gc
import json
import tracemalloc
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ethogram import Event, Watch
from ethogram.config import Settings
from small import BOTH, GONE, HOT, WARM, write_patterns

START = datetime(2026, 1, 1, tzinfo=UTC)
SPREAD = """\
name: heat_spreads
title: Heat spreads
description: Hot for long in one, then in two others it met.
shape: {spread: {from: hot_for_long, to: hot_for_long, at_least: 2, within: 10d}}
severity: high
examples:
  fires: [{story: not looked at here, risk: [0.9]}]
  quiet: [{story: cool, risk: [0.1]}, {story: alone, risk: [0.9, 0.9, 0.9]}]
"""


def said(k: int, subject: str, risk: float = 0.9, *, source: str = "input", target: str = "bo") -> Event:
    return Event(
        id=f"e{k}", at=START + timedelta(seconds=k), subject=subject, seq=k, source=source, target=target,
        thread=f"t{k}", kind="message", text="the same words",
        readings={"risk": risk, "compassion": 0.9, "manipulation": 0.1},
    )  # fmt: skip


@pytest.fixture
def small(tmp_path, no_shipped_patterns):
    folder = write_patterns(tmp_path / "p", WARM, HOT, GONE, BOTH, SPREAD)

    def make(most: int, **settings: Any) -> Watch:
        return Watch([folder], settings=Settings(max_histories=most, **settings))

    return make


def sizes(watch: Watch) -> dict[str, float]:
    """How many entries everything has that a watch keeps by subject or source."""
    intake = watch._intake
    live, engine = intake.live, intake.live.engine
    record: dict[str, float] = {
        "order": len(intake.order),
        "arrivals": len(intake.arrivals),
        "sources": len(live.sources),
        "deadlines": sum(map(len, engine.deadlines.queues.values())),
        "histories": engine.held,
        "wholes": max(len(group.wholes) for group in engine.groups),
        "of_subject": max(len(group._of_subject) for group in engine.groups),
        "joined": max((len(join.joined) for join in live.joins if hasattr(join, "joined")), default=0),
        "starts": sum(len(start) for spread in live.spreads for start in spread.starts.values()),
    }
    if intake.measurer is not None:
        record["states"] = len(intake.measurer.states()) / max(1, len(intake.measurer.signals))
    return record


def test_of_three_times_as_many_subjects_the_newest_are_held_and_the_others_counted(small):
    most = 64
    watch = small(most)
    number = 0
    for who in range(3 * most):
        for _ in range(4):
            watch.observe(said(number, f"s{who}"))
            number += 1
        assert max(sizes(watch).values()) <= 2 * most, sizes(watch)
    assert watch.held <= most
    assert watch.evicted == 3 * most - watch.held
    held = {subject for _, subject in watch._intake.order}
    assert held == {f"s{who}" for who in range(3 * most - watch.held, 3 * most)}
    counts = f"{watch.held} held, {watch.evicted} evicted, 0 late, 0 repeated, 0 refused"
    assert repr(watch) == f"<Watch: {counts}>"


def test_sources_go_with_their_last_subject(small):
    watch = small(64)
    for k in range(200):
        watch.observe(said(k, "ann", source=f"source {k}"))
    assert max(sizes(watch).values()) <= 64


def test_all_shipped_patterns_stay_within_a_bound_of_memory():
    most = 150
    watch = Watch(settings=Settings(max_histories=most))
    taken = []
    tracemalloc.start()
    try:
        for who in range(3 * most):
            watch.observe(said(who, f"s{who}"))
            if (who + 1) % most == 0:
                watch.forget_arrivals()  # events whose ids are known again have a bound of their own
                gc.collect()
                taken.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # Each that is held takes more than 10 kB, so 150 more would be above a megabyte.
    assert taken[2] - taken[0] < most * 1_000, taken
    assert watch.held + watch.evicted == 3 * most
    assert max(sizes(watch).values()) <= most + 1


def test_one_that_is_active_again_and_again_is_held(small):
    watch, told = small(10), []
    for k in range(300):
        told += watch.observe(said(2 * k, "ann", 0.9))
        told += watch.observe(said(2 * k + 1, f"s{k}", 0.1))
    assert [(item.subject, item.state) for item in told if item.pattern == "hot_for_long"] == [
        ("ann", "opened")
    ]


def test_what_is_open_of_one_that_is_let_go_is_told_as_closed(small):
    watch, told = small(4), []
    for k in range(3):
        told += watch.observe(said(k, "ann"))
    assert [(item.pattern, item.state) for item in told] == [("hot_for_long", "opened")]
    closed = []
    for k in range(3, 10):
        closed += watch.observe(said(k, f"s{k}", 0.1))
    assert [(item.id, item.state, item.subject) for item in closed] == [(told[0].id, "closed", "ann")]
    # Four are held, so ann goes with the fourth other: at the time of its event.
    assert closed[0].closed_at == START + timedelta(seconds=6)
    assert watch.open() == []


def test_one_that_comes_back_begins_anew(small):
    watch, told = small(4), []
    for k in (0, 1):
        watch.observe(said(k, "ann"))
    for k in range(2, 10):
        watch.observe(said(k, f"s{k}", 0.1))
    for k in (10, 11):
        told += watch.observe(said(k, "ann"))
    assert told == []
    assert [item.pattern for item in watch.observe(said(12, "ann"))] == ["hot_for_long"]


def test_one_subject_with_targets_without_end_pushes_out_its_own(small):
    watch = small(2_000)
    for k in range(50):
        watch.observe(said(k, f"s{k}"))
    for k in range(50, 8_000):
        watch.observe(said(k, "ann", target=f"target {k}"))
    assert watch.held == 51
    assert sizes(watch)["histories"] <= 2_000 + 1_024
    assert watch.evicted > 0


@pytest.mark.parametrize("lateness", [0, 60_000_000])
def test_below_the_maximum_everything_is_the_same(small, lateness):
    events = [said(k, f"s{k % 12}", 0.9 if k % 100 > 20 else 0.1) for k in range(400)]
    rows = []
    for most in (12, 100_000):
        watch = small(most, lateness=lateness)
        told = watch.observe_many(events)
        assert watch.evicted == 0
        rows.append([item.to_dict() for item in [*told, *watch.flush()]])
    assert rows[0] == rows[1]
    assert rows[0]


def test_the_order_is_saved(small, tmp_path):
    watch = small(4)
    for k, who in enumerate(["a", "b", "c", "d", "a"]):
        watch.observe(said(k, who))
    saved = json.loads(json.dumps(watch.save()))
    again = Watch.load(saved, [tmp_path / "p"], settings=Settings(max_histories=4))
    again.observe(said(9, "e"))
    assert [subject for _, subject in again._intake.order] == ["c", "d", "a", "e"]
    assert again.evicted == 1


@pytest.mark.parametrize(("others", "spreads"), [(0, 1), (60, 0)])
def test_one_that_was_let_go_begins_no_spread(small, others, spreads):
    watch = small(40)
    # Ann is hot and meets two; with many others, who meet neither, she is let go before these are hot.
    turns = [*[("ann", 0.9, "di")] * 3, ("ann", 0.9, "bo"), ("ann", 0.9, "cy")]
    turns += [(f"s{k}", 0.1, "di") for k in range(others)]
    turns += [*[("bo", 0.9, "di")] * 3, *[("cy", 0.9, "di")] * 3]
    told = watch.observe_many(said(k, who, risk, target=to) for k, (who, risk, to) in enumerate(turns))
    told += watch.flush()
    assert sum(item.pattern == "heat_spreads" and item.state == "opened" for item in told) == spreads
