"""The columnar engine apart from what it finds (test_agreement.py): tables, blocks, threads, numbers."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from agreement import differences, plain_reading, row_of
from ethogram.engine.columns import histories, run
from ethogram.engine.columns.numbers import highest_below, lowest_above
from ethogram.engine.columns.table import EventRows, EventTable, Texts, column_of, table_of
from ethogram.engine.detections import detection_of
from ethogram.engine.live import engine as live
from ethogram.engine.match import Outcome
from ethogram.ingest import read_frame
from ethogram.ingest.event_columns import EventColumns
from ethogram.language.ast import (
    And,
    Arithmetic,
    Compare,
    Elapsed,
    Function,
    Measure,
    Number,
    Or,
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
from waiting import PATIENCE_SECONDS

SHAPES_OF_EVENTS = tuple(kind for kind in KINDS if kind not in ("combination", "spread"))


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


def rows_of(outcome: Outcome) -> list[dict[str, Any]]:
    """What was found, in the order of detections."""
    return [
        row_of(item) for item in sorted(map(detection_of, outcome.matches), key=lambda entry: entry.order)
    ]


def check(patterns: list[Pattern], events: list[Event], table: EventTable | None = None) -> int:
    """How much is found, after making sure that it is what the plain reading finds."""
    theirs, _ = plain_reading(Case(tuple(patterns), tuple(events)))
    table = EventRows(events) if table is None else table
    ours = run.run_table(compile_patterns(patterns), table, as_of=micros(max(event.at for event in events)))
    assert differences(rows_of(ours), theirs) == []
    return len(theirs)


def events_of(case: Case) -> tuple[list[Event], int]:
    """The events of a case up to its moment, in order, and that moment."""
    ordered = sorted(case.events, key=lambda event: event.order)
    as_of = case.as_of or max(event.at for event in ordered)
    return [event for event in ordered if event.at <= as_of], micros(as_of)


def cases(count: int) -> Iterator[Case]:
    for kind in SHAPES_OF_EVENTS:
        for seed in range(count):
            yield random_case(seed, kind)


@pytest.mark.parametrize("rows", [1, 4, 131_072])
def test_the_size_of_blocks_changes_nothing(rows: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(histories, "BLOCK_ROWS", rows)
    for case in cases(15):
        events, as_of = events_of(case)
        ours = run.run(compile_patterns(case.patterns), events, as_of=as_of, cap=case.cap)
        assert differences(rows_of(ours), plain_reading(case)[0]) == []


def test_insufficient_histories_and_counts_are_those_of_the_live_engine():
    notes = 0
    for case in cases(30):
        events, as_of = events_of(case)
        programs = compile_patterns(case.patterns)
        ours = run.run(programs, events, as_of=as_of, cap=case.cap)
        theirs = live.run(programs, events, as_of=as_of, cap=case.cap)
        assert (ours.insufficient, ours.checked) == (theirs.insufficient, theirs.checked)
        listed = list(ours.insufficient)
        assert [item.order for item in listed] == sorted(item.order for item in listed)
        counts = Counter((item.program.name, item.reason) for item in listed)
        assert (ours.insufficient.counts(), len(ours.insufficient)) == (counts, len(listed))
        notes += len(listed)
    assert notes > 20


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
    patterns = [warm_then_pressing(), high_on_average()]
    assert check(patterns, events) > 40
    check(patterns, events, EventRows(sorted(events, key=lambda event: (event.subject, event.order))))


def lengths(events: list[Event], *counts: int) -> list[Event]:
    """The events shared out among subjects, so many to each."""
    subjects = [f"s{number}" for number, count in enumerate(counts) for _ in range(count)]
    random.Random(3).shuffle(subjects)
    return [replace(event, subject=subject) for event, subject in zip(events, subjects, strict=False)]


@pytest.mark.parametrize("over_subject", [False, True])
def test_histories_too_short_for_a_condition_are_passed_over(over_subject: bool):
    window = Window(at_least=6, over_subject=over_subject)
    mean, slope = (
        Measure(name, Signal("manipulation"), replace(window, at_least=least))
        for name, least in (("mean", 6), ("rise", 7))
    )
    conditions = {
        "both": And((Compare(">", mean, Number(0.4)), Compare(">", slope, Number(0.0)))),
        "either": Or((Compare(">", mean, Number(0.6)), over("compassion", 0.9))),
        "sum": Compare(">", Arithmetic("+", mean, slope), Number(0.5)),
    }
    patterns = [
        Pattern(name, Threshold(when), confidence=Number(1.0), group_by=("subject", "thread"))
        for name, when in conditions.items()
    ]
    events = lengths(many(50, 3), *[1, 2, 3] * 15, 6, 7, 12, 30)
    events = [replace(event, thread=f"t{event.seq % 2}") for event in events]
    assert check(patterns, events) > 5
    programs, as_of = compile_patterns(patterns), micros(events[-1].at)
    ours, theirs = (engine.run(programs, events, as_of=as_of) for engine in (run, live))
    assert (ours.insufficient, ours.checked) == (theirs.insufficient, theirs.checked)


def test_a_step_is_judged_where_an_event_has_what_it_reads():
    events = [
        event if len(event.subject) == 2 else replace(event, readings={"manipulation": 0.7})
        for event in many(20, 4)
    ]
    programs, as_of = compile_patterns([warm_then_pressing()]), micros(events[-1].at)
    ours, theirs = (engine.run(programs, events, as_of=as_of) for engine in (run, live))
    assert ours.insufficient == theirs.insufficient
    assert {str(item.key[0]) for item in ours.insufficient} == {f"s{number}" for number in range(10, 20)}


def test_rows_that_stand_together_are_not_sorted():
    def is_sorted(events: list[Event]) -> bool:
        (block,) = histories.blocks(EventRows(events))
        return not isinstance(block.rows, slice)

    together = sorted(many(5, 4), key=lambda event: (event.subject, event.order))
    assert not is_sorted(together)
    assert is_sorted(many(5, 4))
    assert not is_sorted(sorted(together, key=lambda event: event.subject, reverse=True))


def test_a_block_holds_whole_subjects_and_one_kind_of_time():
    events = many(6, 10)
    untimed = [Event.sample(id=f"u{k}", subject="s1", source="other", timed=False, seq=k) for k in range(9)]
    table = EventRows([*untimed, *events])
    blocks = list(histories.blocks(table, size=4))
    subjects = [set(table.who[block.rows].tolist()) for block in blocks]
    assert sum(block.size for block in blocks) == len(events) + len(untimed)
    assert sum(map(len, subjects)) == len(set().union(*subjects))
    for block in blocks:
        assert len(set(table.timed[block.rows].tolist())) == 1


def test_two_workers_find_what_one_does(monkeypatch: pytest.MonkeyPatch):
    events = many(60, 10)
    programs = compile_patterns([warm_then_pressing(), high_on_average()])
    monkeypatch.setattr(histories, "BLOCK_ROWS", 50)
    item, two = (
        run.run_table(programs, EventRows(events), as_of=micros(events[-1].at), workers=workers)
        for workers in (1, 2)
    )
    assert (item.matches, item.insufficient, item.checked) == (two.matches, two.insufficient, two.checked)
    assert item.matches


# Values.


@pytest.mark.parametrize("strange", [True, float("nan"), float("inf"), -float("inf"), 2**60, [1], 10**400])
def test_strange_readings_count_as_the_plain_reading_says(strange: Any):
    events = [
        Event.sample(id=str(k), seq=k, at=EPOCH + timedelta(minutes=k), readings={"x": x})
        for k, x in enumerate((0.9, strange, 0.7, 0.1))
    ]
    if strange == 10**400:
        # No float is so large: the plain reading has nothing to say about it.
        assert np.isnan(column_of([strange], Texts()).num).all()  # type: ignore[arg-type]
        return
    for shape in (
        Threshold(over("x", 1.0, "==")),
        Threshold(Compare(">", Measure("count", Signal("x")), Number(2))),
    ):
        check([Pattern("strange", shape)], events)


def test_strange_values_in_a_key_are_their_numbers_or_lack():
    events = [
        Event.sample(id=str(k), seq=k, attributes={"topic": topic}, readings={"x": 0.9})
        for k, topic in enumerate((True, 1.0, "a", float("nan"), [1], True))
    ]
    assert check([Pattern("odd", Threshold(over("x", 0.5)), ("subject", "topic"))], events) == 2


def test_numbers_and_texts_in_one_column_stay_apart():
    column = column_of([1, "1", None, 2.5], Texts())
    assert column.num is not None
    assert column.code is not None
    assert np.isnan(column.num).tolist() == [False, True, True, False]
    assert (column.code >= 0).tolist() == [False, True, False, False]


@pytest.mark.parametrize("c", [0.0, 0.5, 0.3, -0.7, 1.0, 1e9, -1e9, 1e-12, 123.456, 2.0**40])
@pytest.mark.parametrize("rounded", [True, False])
def test_a_threshold_is_the_comparison_to_the_last_bit(c: float, rounded: bool):
    def read(x: float) -> float:
        return x if rounded or abs(x) >= 1e9 else round(x * 1e6) / 1e6

    for edge, is_over in ((lowest_above(c, rounded), True), (highest_below(c, rounded), False)):
        x = np.nextafter(edge, -np.inf)
        for _ in range(3):
            wanted = above(read(float(x)), c) if is_over else above(c, read(float(x)))
            assert wanted == (x >= edge if is_over else x <= edge)
            x = np.nextafter(x, np.inf)


LARGE = (
    [1e17, 0.25, 0.5, -1e17, 0.5, 0.75, 0.5, 1e100, 0.5, 0.5],
    [1e6, 1e6 + 0.25, 3.0, 2e6, 5e5, 1e6, 2.5, 7.0],
    [9e12, 9e12, -9e12, 1.0, 8e12, 0.5],
    [4e3, 5e3, 4.5e3, 6e3, 100.0, 2e4],
)


@pytest.mark.parametrize("values", LARGE, ids=["huge", "millions", "trillions", "thousands"])
def test_sums_that_have_no_room_in_64_bits_are_still_exact(values: list[float]):
    events = [
        Event.sample(id=str(k), seq=k, at=EPOCH + timedelta(minutes=k), readings={"x": x, "y": float(k % 2)})
        for k, x in enumerate(values)
    ]
    found = 0
    for name in ("sum", "mean", "std", "rise", "usual", "surprise", "min", "median", "jump"):
        measure = Measure(name, Signal("x"), Window(at_least=2))
        for limit in (0.0, 0.25, 0.5, 1e3):
            shape = Threshold(Compare(">", measure, Number(limit)))
            found += check([Pattern(name, shape, confidence=measure, details=(("x", measure),))], events)
    assert found > 10


def test_a_value_that_is_the_same_everywhere_is_still_one_for_each_event():
    waited = Compare(">", OrElse(Elapsed("gap"), Number(0.5)), Number(0.2))
    share = Measure("share", waited, condition=True)
    shape = Threshold(And((Compare(">=", share, Number(1.0)), over("x", 0.5))))
    events = [Event.sample(id=str(k), seq=k, timed=False, readings={"x": 0.9}) for k in range(3)]
    assert check([Pattern("same", shape, confidence=share)], events) == 1


def test_gaps_before_1970_are_gaps():
    events = [
        Event.sample(id=str(k), seq=k, at=EPOCH + timedelta(seconds=3 * k - 9), readings={"x": 0.9})
        for k in range(6)
    ]
    waited = Measure("sum", Elapsed("gap"))
    assert check([Pattern("old", Threshold(Compare(">=", waited, Number(6.0))))], events) == 1


# Columns of event lines and DataFrames.


def columns_of(events: list[Event]) -> EventTable:
    import pyarrow

    names = ("compassion", "manipulation")
    table = {
        "id": [event.id for event in events],
        "at": pyarrow.array([event.at for event in events], pyarrow.timestamp("us", "UTC")),
        "seq": [event.seq for event in events],
        "subject": [event.subject for event in events],
        "target": pyarrow.array([event.target for event in events], pyarrow.string()),
        **{
            name: pyarrow.array([event.readings.get(name) for event in events], pyarrow.float64())
            for name in names
        },
    }
    lines = read_frame(pyarrow.table(table)).events
    assert isinstance(lines, EventColumns)
    return table_of(lines)


@pytest.mark.parametrize("order", ["interleaved", "together", "shuffled"])
def test_columns_give_what_their_events_give(order: str):
    events = many(20, 10, seed=3)
    rows = {
        "interleaved": events,
        "together": sorted(events, key=lambda event: (event.subject, event.order)),
        "shuffled": random.Random(1).sample(events, len(events)),
    }[order]
    patterns = [warm_then_pressing(), high_on_average(), Pattern("quiet", Silence(Number(600.0)))]
    assert check(patterns, events, columns_of(rows)) > 20


def test_readings_of_columns_are_rounded_like_those_of_events():
    values = (0.5000004, 0.5000006, 0.4999996, 0.5)
    events = [Event.sample(id=str(k), seq=k, readings={"compassion": x}) for k, x in enumerate(values)]
    import pyarrow

    columns = {"id": [event.id for event in events], "seq": [0, 1, 2, 3], "subject": ["sam"] * 4}
    table = table_of(read_frame(pyarrow.table(columns | {"compassion": values})).events)
    events = table.events(np.arange(table.rows))
    assert [event.readings["compassion"] for event in events] == [0.5, 0.500001, 0.5, 0.5]
    same = Measure("run", Signal("compassion"))
    patterns = [
        Pattern("over", Threshold(over("compassion", 0.5))),
        Pattern("run", Threshold(Compare(">=", same, Number(2.0))), details=(("n", same),)),
    ]
    assert check(patterns, events, table) == 2


def test_events_of_columns_read_like_any_other():
    events = [
        Event.sample(id="a", subject="ann", target="bo", readings={"compassion": 0.5}),
        Event.sample(id="b", subject="ann", seq=1, readings={"manipulation": 0.25}),
    ]
    table = columns_of(events)
    assert table.events(np.arange(2)) == events
    assert table.evaluated.all()


def test_numpy_is_not_loaded_before_it_is_used():
    code = (
        "import sys, ethogram; ethogram.analyze([{'subject': 'ann', 'text': 'Hello?'}]); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=PATIENCE_SECONDS, check=False).returncode == 0


@pytest.mark.parametrize("argument", [0.0, 0.5, 1.01, 9.0])
def test_a_confidence_that_is_always_the_same_is_that_of_the_plain_reading(argument: float):
    """The logarithm of 0 is absent, others lie below, within and above what a confidence can be."""
    sure = Function("log", (Number(argument),))
    events = many(3, 4)
    assert check([Pattern("sure", Threshold(over("compassion", -1)), confidence=sure)], events) == 3


@pytest.mark.parametrize(("op", "found"), [("==", 0), ("!=", 3)])
def test_a_category_never_equals_a_number(op: str, found: int):
    events = [
        Event.sample(id=str(k), seq=k, at=EPOCH + timedelta(minutes=k), readings={"mood": "calm", "x": 0.5})
        for k in range(3)
    ]
    steps = (Step("differs", Compare(op, Signal("mood"), Signal("x"))),)
    assert check([Pattern("apart", Sequence(steps, max_gap=0), confidence=Number(1.0))], events) == found
