"""The batch runner: columns, blocks and arrangements, apart from what it finds (test_agreement.py)."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethogram.engine import plain
from ethogram.engine.columns import blocks, run
from ethogram.engine.columns.numbers import highest_below, lowest_above
from ethogram.engine.columns.table import EventColumns, Texts, from_parquet, values_of
from ethogram.engine.detect import find
from ethogram.engine.match import Finding
from ethogram.language.ast import (
    And,
    Compare,
    Elapsed,
    Measure,
    Number,
    OrElse,
    Pattern,
    Sequence,
    Signal,
    Silence,
    Step,
    StepMean,
    Threshold,
    Window,
)
from ethogram.language.compiler import compile_patterns
from ethogram.language.three_valued import above
from ethogram.models import EPOCH, Event, micros
from strategies import KINDS, Case, random_case


def over(name: str, value: float, op: str = ">") -> Compare:
    return Compare(op, Signal(name), Number(value))


def warm_then_pressing() -> Pattern:
    steps = (
        Step("warm", over("compassion", 0.6), times=2, collects=True),
        Step("press", over("manipulation", 0.5)),
    )
    return Pattern("love", Sequence(steps, max_gap=1), confidence=StepMean("warm", Signal("compassion")))


def high_on_average() -> Pattern:
    mean = Measure("mean", Signal("manipulation"))
    return Pattern("high", Threshold(Compare(">", mean, Number(0.5))), confidence=mean)


def events_of(case: Case) -> tuple[list[Event], int]:
    """The events of a case up to its moment, in order, and that moment."""
    ordered = sorted(case.events, key=lambda event: event.order)
    as_of = case.as_of or max(event.at for event in ordered)
    return [event for event in ordered if event.at <= as_of], micros(as_of)


def said(outcome: plain.Outcome) -> tuple[Any, ...]:
    """An outcome as plain values."""
    return [told(finding) for finding in outcome.findings], outcome.insufficient, outcome.checked


def told(finding: Finding) -> tuple[Any, ...]:
    history = (finding.history.source, finding.history.key, [event.id for event in finding.history.events])
    places = (finding.fired, finding.first, finding.last, finding.peak, finding.count)
    sure = (finding.severity, finding.confidence, finding.fired_confidence)
    return (
        finding.program.name,
        history,
        places,
        sure,
        finding.opened_at,
        finding.detected_at,
        finding.closed_at,
        finding.chain,
    )


def cases(count: int) -> Iterator[Case]:
    for kind in KINDS:
        for seed in range(count):
            yield random_case(seed, kind)


@pytest.mark.parametrize("rows", [1, 4, 131_072])
def test_the_size_of_blocks_changes_nothing(rows: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blocks, "ROWS", rows)
    for case in cases(12):
        events, as_of = events_of(case)
        programs = compile_patterns(case.patterns)
        theirs = plain.run(programs, events, as_of=as_of, cap=case.cap)
        assert said(run.run(programs, events, as_of=as_of, cap=case.cap)) == said(theirs)


def test_notes_and_counts_are_those_of_the_plain_runner_and_in_its_order():
    kept = 0
    for case in cases(30):
        events, as_of = events_of(case)
        programs = compile_patterns(case.patterns)
        ours = run.run(programs, events, as_of=as_of, cap=case.cap)
        theirs = plain.run(programs, events, as_of=as_of, cap=case.cap)
        assert (ours.insufficient, ours.checked) == (theirs.insufficient, theirs.checked)
        kept += len(theirs.insufficient)
    assert kept > 20


def many(subjects: int, each: int, seed: int = 0) -> list[Event]:
    """Events of many subjects, interleaved in time."""
    rng = random.Random(seed)
    return [
        Event(
            id=f"e{k}",
            at=EPOCH + timedelta(minutes=k),
            subject=f"s{rng.randrange(subjects)}",
            seq=k,
            readings={"compassion": round(rng.random(), 3), "manipulation": round(rng.random(), 3)},
        )
        for k in range(subjects * each)
    ]


def test_subjects_interleaved_or_one_after_another_are_the_same():
    events = many(40, 10)
    programs = compile_patterns([warm_then_pressing(), high_on_average()])
    theirs = plain.run(programs, events, as_of=micros(events[-1].at))
    assert len(theirs.findings) > 40
    assert said(run.run(programs, events, as_of=micros(events[-1].at))) == said(theirs)
    together = sorted(events, key=lambda event: (event.subject, event.order))
    ours = run.run(programs, together, as_of=micros(events[-1].at))
    key = str
    assert sorted(said(ours)[0], key=key) == sorted(said(theirs)[0], key=key)


def test_rows_that_stand_together_are_not_sorted():
    together = sorted(many(5, 4), key=lambda event: (event.subject, event.order))
    assert blocks.by_subject(EventColumns(together)) is None
    assert blocks.by_subject(EventColumns(many(5, 4))) is not None
    backwards = sorted(together, key=lambda event: event.subject, reverse=True)
    assert blocks.by_subject(EventColumns(backwards)) is None


def test_a_block_holds_whole_subjects_and_one_kind_of_time():
    events = many(6, 10)
    untimed = [Event.sample(id=f"u{k}", subject="s1", source="other", timed=False, seq=k) for k in range(9)]
    columns = EventColumns([*untimed, *events])
    result = list(blocks.blocks(columns, blocks.by_subject(columns), rows=4))
    subjects = [set(block.subject.tolist()) for block in result]
    assert sum(block.size for block in result) == len(events) + len(untimed)
    assert sum(map(len, subjects)) == len(set().union(*subjects))
    for block in result:
        assert len(set(columns.timed[block.rows].tolist())) == 1


def test_two_workers_find_what_one_does(monkeypatch: pytest.MonkeyPatch):
    events = many(60, 10)
    programs = compile_patterns([warm_then_pressing(), high_on_average()])
    monkeypatch.setattr(blocks, "ROWS", 50)
    item = run.run_columns(programs, EventColumns(events), as_of=micros(events[-1].at), workers=1)
    two = run.run_columns(programs, EventColumns(events), as_of=micros(events[-1].at), workers=2)
    assert said(item) == said(two)


# --- values ---------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", [True, float("nan"), float("inf"), 2**60])
def test_what_columns_cannot_hold_goes_the_plain_way(odd: Any):
    assert values_of([0.5, odd], Texts()).odd
    readings = [{"manipulation": x} for x in (0.9, odd, 0.7, 0.1)]
    events = [
        Event.sample(id=str(k), seq=k, at=EPOCH + timedelta(minutes=k), readings=reading)
        for k, reading in enumerate(readings)
    ]
    programs = compile_patterns(
        [Pattern("odd", Threshold(Compare("==", Signal("manipulation"), Number(1.0))))]
    )
    theirs = plain.run(programs, events, as_of=micros(events[-1].at))
    assert said(run.run(programs, events, as_of=micros(events[-1].at))) == said(theirs)


def test_a_key_that_columns_cannot_hold_goes_the_plain_way_too():
    events = [
        Event.sample(id=str(k), seq=k, readings={"topic": topic, "x": 0.9})
        for k, topic in enumerate((True, 1.0, "a", float("nan"), True))
    ]
    programs = compile_patterns([Pattern("odd", Threshold(over("x", 0.5)), ("subject", "topic"))])
    theirs = plain.run(programs, events, as_of=micros(events[-1].at))
    ours = run.run(programs, events, as_of=micros(events[-1].at))
    assert str(said(ours)) == str(said(theirs))
    assert len(theirs.findings) == 3


def test_numbers_and_texts_in_one_column_stay_apart():
    found = values_of([1, "1", None, 2.5], Texts())
    assert found.num is not None
    assert found.code is not None
    assert np.isnan(found.num).tolist() == [False, True, True, False]
    assert (found.code >= 0).tolist() == [False, True, False, False]


@pytest.mark.parametrize("c", [0.0, 0.5, 0.3, -0.7, 1.0, 1e9, -1e9, 1e-12, 123.456, 2.0**40])
def test_a_threshold_is_the_comparison_to_the_last_bit(c: float):
    for edge, is_over in ((lowest_above(c), True), (highest_below(c), False)):
        x = np.nextafter(edge, -np.inf)
        for _ in range(3):
            wanted = above(float(x), c) if is_over else above(c, float(x))
            assert wanted == (x >= edge if is_over else x <= edge)
            x = np.nextafter(x, np.inf)


def test_sums_that_drown_in_one_huge_value_are_still_exact():
    values = [1e17, 0.25, 0.5, -1e17, 0.5, 0.75, 0.5, 1e150, 0.5, 0.5]
    events = [
        Event.sample(id=str(k), seq=k, at=EPOCH + timedelta(minutes=k), readings={"x": x})
        for k, x in enumerate(values)
    ]
    for name, count in ((name, n) for name in ("sum", "mean", "std", "rise", "usual") for n in (4, 7, 10)):
        measure = Measure(name, Signal("x"), Window(skip=None, at_least=2))
        for threshold in (0.0, 0.25, 0.5):
            shape = Threshold(Compare(">", measure, Number(threshold)))
            programs = compile_patterns([Pattern("sum", shape, confidence=measure)])
            ours = run.run(programs, events[:count], as_of=micros(events[-1].at))
            assert said(ours) == said(plain.run(programs, events[:count], as_of=micros(events[-1].at)))


def test_a_value_that_is_the_same_everywhere_is_still_one_for_each_event():
    waited = Compare(">", OrElse(Elapsed("gap"), Number(0.5)), Number(0.2))
    share = Measure("share", waited, condition=True)
    shape = Threshold(And((Compare(">=", share, Number(1.0)), over("x", 0.5))))
    events = [Event.sample(id=str(k), seq=k, timed=False, readings={"x": 0.9}) for k in range(3)]
    programs = compile_patterns([Pattern("same", shape, confidence=share)])
    ours = run.run(programs, events, as_of=micros(events[-1].at))
    assert said(ours) == said(plain.run(programs, events, as_of=micros(events[-1].at)))
    assert len(ours.findings) == 1


# --- Parquet --------------------------------------------------------------------------------


def written(path: Path, events: list[Event]) -> Path:
    import pyarrow
    import pyarrow.parquet

    names = ("compassion", "manipulation")
    table = {
        "id": [event.id for event in events],
        "at": pyarrow.array([event.at for event in events], pyarrow.timestamp("us", "UTC")),
        "seq": [event.seq for event in events],
        "subject": [event.subject for event in events],
        "target": [event.target for event in events],
        **{name: [event.readings.get(name) for event in events] for name in names},
    }
    pyarrow.parquet.write_table(pyarrow.table(table), path)
    return path


@pytest.mark.parametrize("order", ["interleaved", "together", "shuffled"])
def test_a_parquet_file_gives_what_its_events_give(tmp_path: Path, order: str):
    events = many(30, 12, seed=3)
    rows = {
        "interleaved": events,
        "together": sorted(events, key=lambda event: (event.subject, event.order)),
        "shuffled": random.Random(1).sample(events, len(events)),
    }[order]
    columns = from_parquet(written(tmp_path / "events.parquet", rows))
    patterns = [warm_then_pressing(), high_on_average(), Pattern("quiet", Silence(Number(600.0)))]
    programs = compile_patterns(patterns)
    as_of = events[-1].at
    ours = run.run_columns(programs, columns, as_of=micros(as_of))
    theirs = plain.run(programs, events, as_of=micros(as_of))
    assert sorted(map(str, said(ours)[0])) == sorted(map(str, said(theirs)[0]))
    assert ours.checked == theirs.checked


def test_events_of_a_parquet_file_read_like_any_other(tmp_path: Path):
    events = [
        Event.sample(id="a", subject="ann", target="bo", readings={"compassion": 0.5}),
        Event.sample(id="b", subject="ann", seq=1, readings={"manipulation": 0.25}),
    ]
    columns = from_parquet(written(tmp_path / "events.parquet", events))
    for row, event in enumerate(events):
        made = columns.event(row)
        assert (made.id, made.at, made.subject, made.target) == (
            event.id,
            event.at,
            event.subject,
            event.target,
        )
        assert dict(made.readings) == dict(event.readings)
    assert columns.evaluated().all()


def test_numpy_is_not_loaded_before_it_is_used():
    code = "import sys, ethogram.cli.main, ethogram.engine.detect; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_detections_of_the_two_runners_are_equal_records():
    events = many(20, 15, seed=5)
    programs = compile_patterns([warm_then_pressing(), high_on_average()])
    ours = find(programs, events, as_of=events[-1].at, runner="batch")
    theirs = find(programs, events, as_of=events[-1].at)
    assert [detection.to_dict() for detection in ours.detections] == [
        detection.to_dict() for detection in theirs.detections
    ]
