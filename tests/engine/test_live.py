"""The live engine: the bounds of its state, its routing, and what only it has to get right."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import pytest

from ethogram.engine.history import histories
from ethogram.engine.live.engine import MOST_ROUTES, Engine, prepared
from ethogram.engine.live.expressions import reader
from ethogram.engine.live.routing import Here, Names, prospects, truths
from ethogram.language.ast import (
    And,
    AnyOf,
    Arithmetic,
    Compare,
    Cover,
    Duration,
    Elapsed,
    Events,
    Expr,
    Function,
    Indicator,
    Known,
    Measure,
    Not,
    Number,
    Or,
    OrElse,
    Pattern,
    Sequence,
    Signal,
    Silence,
    Step,
    Threshold,
    Window,
)
from ethogram.language.compiler import compile_pattern, compile_patterns
from ethogram.language.program import SequenceProgram, ThresholdProgram
from ethogram.models import micros
from naive import Event
from strategies import KINDS, START, random_case

Readings = dict[str, float | str]


def engine_of(*patterns: Pattern) -> Engine:
    return Engine([program for pattern in patterns for program in compile_pattern(pattern)])


def events_with(values: list[Readings]) -> list[Event]:
    return [
        Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k, readings=readings)
        for k, readings in enumerate(values)
    ]


def fired(engine: Engine, values: list[Readings]) -> list[str]:
    return [change.match.fired.id for event in events_with(values) for change in engine.observe(event)]


def high(limit: float, name: str = "x") -> Compare:
    return Compare(">", Signal(name), Number(limit))


# --- bounds ---------------------------------------------------------------------------------


def test_events_and_readings_stay_within_what_windows_ask_for():
    small = Measure("mean", Signal("x"), Window(last=(Events(5),), skip=Events(2)))
    far = Measure("max", Signal("x"), Window(keep=3, where=high(0.9)))
    when = Compare(">", Arithmetic("+", small, far), Number(9.0))
    engine = engine_of(Pattern("bounded", Threshold(when), confidence=Number(1.0)))
    rng = random.Random(1)
    fired(engine, [{"x": rng.random()} for _ in range(3000)])
    (history,) = engine.groups[0].histories.values()
    assert history.n == 3000
    assert len(history.events) == len(history.times) <= 7 + 15
    assert len(history.columns) == 2
    assert all(len(column.values) <= 7 + 15 for column in history.columns.values())


def test_a_history_without_windows_keeps_no_events():
    engine = engine_of(Pattern("plain", Sequence((Step("a", high(0.5)), Step("b", high(0.8))))))
    fired(engine, [{"x": 0.1}] * 100)
    (history,) = engine.groups[0].histories.values()
    assert (history.events, history.states, history.columns) == ([], [None], {})


def test_texts_and_what_nobody_asks_for_are_not_kept():
    mean = Measure("mean", Signal("x"), Window(last=(Events(5),)))
    engine = engine_of(Pattern("mean", Threshold(Compare(">", mean, Number(9.0)))))
    event = Event("e", START, "ann", text="long", attributes={"tool": "x"}, readings={"x": 0.5})
    engine.observe(event)
    (history,) = engine.groups[0].histories.values()
    assert (history.events[0].text, dict(history.events[0].attributes)) == (None, {})


def test_any_number_of_names_makes_no_more_than_so_many_routes():
    engine = engine_of(Pattern("any", Threshold(high(0.5)), confidence=Number(1.0)))
    rng = random.Random(3)
    fired(engine, [{"x": 0.1, f"made_up_{rng.random()}": 1.0} for _ in range(3000)])
    assert len(engine._routes) <= MOST_ROUTES


def test_further_evidence_is_at_most_fifty_events_before_the_first():
    warm = Step("warm", high(0.5), times=2, collects=True)
    cold = Step("cold", Compare("<", Signal("x"), Number(0.5)))
    pattern = Pattern("many", Sequence((warm, cold), within=(Events(500),)), confidence=Number(1.0))
    values: list[Readings] = [{"x": 0.9}] * 200 + [{"x": 0.1}]
    engine = engine_of(pattern)
    (change,) = [item for event in events_with(values) for item in engine.observe(event)]
    assert change.match.count == 50 + 2 + 1
    assert change.match.evidence[0][1].id == f"e{200 - 52}"


def test_a_deadline_waits_once_for_each_history():
    engine = engine_of(Pattern("gone", Silence(Number(3600.0)), confidence=Number(1.0)))
    for event in events_with([{"x": 0.1}] * 500):
        assert engine.advance(event.source, micros(event.at)) == []
        engine.observe(event)
    (queue,) = engine.deadlines.queues.values()
    assert len(queue) == 1
    newest = micros(START + timedelta(minutes=499))
    assert engine.advance("input", newest + 3600 * 1_000_000) == []
    assert [c.what for c in engine.advance("input", newest + 3600 * 1_000_000 + 1)] == ["opened"]


def test_a_deadline_follows_what_is_usual():
    # Twice the longest pause so far, which is 50 minutes, and an hour at least.
    longest = Measure("max", Elapsed("gap"), Window(keep=50))
    longer = Function("max", (Number(3600.0), Arithmetic("*", Number(2.0), longest)))
    engine = engine_of(Pattern("gone", Silence(longer), confidence=Number(1.0)))
    for k, minute in enumerate([0, 50, 100, 110]):
        at = START + timedelta(minutes=minute)
        assert engine.advance("input", micros(at)) == []
        engine.observe(Event(f"e{k}", at, "ann", seq=k, readings={"x": 0.1}))
    last = micros(START + timedelta(minutes=110))
    assert engine.advance("input", last + 100 * 60 * 1_000_000) == []
    (change,) = engine.advance("input", last + 100 * 60 * 1_000_000 + 1)
    assert change.match.opened_at == last + 100 * 60 * 1_000_000


# --- values ---------------------------------------------------------------------------------


def test_an_expression_may_be_deep():
    expr: Expr = Signal("x")
    for _ in range(100):
        expr = Arithmetic("+", expr, Number(1.0))
    deep = Pattern("deep", Threshold(Compare(">", expr, Number(100.5))), confidence=Number(1.0))
    assert fired(engine_of(deep), [{"x": 0.0}, {"x": 1.0}]) == ["e1"]


def test_a_category_where_a_number_is_due_is_absent():
    rising = Pattern("rising", Threshold(high(0.5)), confidence=Number(1.0))
    assert fired(engine_of(rising), [{"x": "high"}, {"x": 0.9}]) == ["e1"]


@pytest.mark.parametrize("distance", [-2e-6, -0.4e-6, 0.0, 0.4e-6, 2e-6])
def test_readings_count_to_six_decimals(distance: float):
    above = Pattern("above", Sequence((Step("a", high(0.5)),)), confidence=Number(1.0))
    least = Compare(">=", Signal("x"), Number(0.5))
    at_least = Pattern("least", Sequence((Step("a", least),)), confidence=Number(1.0))
    readingses: list[Readings] = [{"x": 0.5 + distance}]
    assert bool(fired(engine_of(above), readingses)) == (distance > 1e-6)
    assert bool(fired(engine_of(at_least), readingses)) == (distance > -1e-6)


@pytest.mark.parametrize("distance", [-2e-9, 0.0, 0.5e-9, 2e-9])
def test_near_ties_of_computed_numbers_are_decided_by_the_tolerance(distance: float):
    """a > b means more than 1e-9 above it, and a >= b not more than that below."""
    computed = Arithmetic("+", Signal("x"), Number(distance))
    above = Pattern("above", Sequence((Step("a", Compare(">", computed, Number(0.5))),)))
    at_least = Pattern("least", Sequence((Step("a", Compare(">=", computed, Number(0.5))),)))
    assert bool(fired(engine_of(above), [{"x": 0.5}])) == (distance > 1e-9)
    assert bool(fired(engine_of(at_least), [{"x": 0.5}])) == (distance > -1e-9)


def test_readings_of_any_size_can_be_summed():
    mean = Measure("mean", Signal("x"), Window(last=(), at_least=2))
    pattern = Pattern("vast", Threshold(Compare(">", mean, Number(1e150))), confidence=Number(1.0))
    assert fired(engine_of(pattern), [{"x": 1e200}, {"x": 1e200}, {"x": 1.0}]) == ["e1"]


def test_a_mean_that_has_forgotten_a_large_reading_is_right():
    """Floats would be off by far more than what is asked for after 1e12 has come and gone."""
    small = Measure("mean", Signal("x"), Window(last=(Events(2),), at_least=1))
    pattern = Pattern("small", Threshold(Compare(">", small, Number(0.25))), confidence=Number(1.0))
    values: list[Readings] = [{"x": x} for x in (0.1, 1e12, -1e12, 0.2, 0.2, 0.3, 0.31)]
    # Means of two: .1, 5e11, 0, -5e11, .2, .25, .305; open at e1, closed at e2, open again at e6.
    assert fired(engine_of(pattern), values) == ["e1", "e1", "e6"]


def test_no_event_is_used_by_two_firings():
    twice = Pattern("twice", Sequence((Step("high", high(0.5), times=2),), max_gap=0), confidence=Number(1.0))
    assert fired(engine_of(twice), [{"x": 0.9}] * 5) == ["e1", "e3"]


def test_an_event_of_another_program_does_not_come_between():
    steps = (Step("high", high(0.5), times=2), Step("low", Compare("<", Signal("x"), Number(0.2))))
    low = Pattern("low", Sequence(steps, max_gap=0), confidence=Number(1.0))
    other = Pattern("other", Sequence((Step("y", high(0.5, "y")),), max_gap=0), confidence=Number(1.0))
    values: list[Readings] = [{"x": 0.9}, {"y": 0.1}, {"x": 0.9}, {"y": 0.9}, {"x": 0.1}]
    assert fired(engine_of(low, other), values) == ["e3", "e4"]


# --- routing --------------------------------------------------------------------------------


def test_names_decide_what_conditions_can_be():
    scored, plain = Here(Names(frozenset({"x"}), True)), Here(Names(frozenset({"x"}), False))
    any_of = AnyOf((Indicator("MAN_A"), Indicator("MAN_B")))
    assert truths(high(0.5, "y"), scored) == {None}
    assert True in truths(Or((high(0.5), high(0.5, "y"))), scored)
    assert truths(And((Known(Signal("y")), high(0.5))), scored) == {False, None}
    assert truths(Compare(">", OrElse(Signal("y"), Number(0.3)), Number(0.2)), scored) == {True}
    assert truths(any_of, scored) == {False}
    assert truths(any_of, plain) == {None}
    assert truths(Not(any_of), scored) == {True}
    signs = Function("max", (Indicator("MAN_A"), Number(0.7)))
    assert truths(Compare(">", signs, Number(0.5)), scored) == {True}


def test_names_of_a_history_decide_what_aggregates_can_be():
    window = Window(last=(Events(5),))
    mean, count = (
        Measure("mean", Signal("y"), window),
        Measure("count", high(0.5, "y"), window, condition=True),
    )
    cover = Cover((Indicator("MAN_A"),), (1.0,), window)
    own = Names(frozenset({"x"}), True)
    never, once = Here(own, own), Here(own, own.joined(Names(frozenset({"y", "MAN_A"}), False)))
    for measure, absent in ((mean, {None}), (count, {False}), (cover, {False})):
        assert truths(Compare(">", measure, Number(0.5)), never) == absent
        assert True in truths(Compare(">", measure, Number(0.5)), once)
        assert True in truths(Compare(">", measure, Number(0.5)), Here(own))


def test_a_window_may_change_at_an_event_without_its_readings():
    """At the last event 0.9 has left the window of two events, and 0.1 is left."""
    window = Window(last=(Events(2),))
    low = Compare("<", Measure("mean", Signal("x"), window), Number(0.5))
    pattern = Pattern("low", Threshold(And((low, Known(Signal("y"))))), confidence=Number(1.0))
    values: list[Readings] = [{"y": 0.5}, {"y": 0.5}, {"x": 0.9, "y": 0.5}, {"x": 0.1, "y": 0.5}, {"y": 0.5}]
    assert fired(engine_of(pattern), values) == ["e4"]


def waiting(engine: Engine) -> int:
    return sum(len(item.events) for backlogs in engine._lanes.values() for item in backlogs.values())


def test_events_that_matter_to_no_program_count_all_the_same():
    """They wait for another kind of event, at which the mean of y is (0.1 + 0.1 + 0.7) / 3 = 0.3."""
    own, whole = (
        Compare(">", Signal("x"), Measure("mean", Signal("y"), Window(last=(Events(3),), over_subject=over)))
        for over in (False, True)
    )
    steps = Sequence((Step("a", high(0.5)), Step("b", high(0.8, "y"))))
    engine = engine_of(
        Pattern("own", Threshold(own), confidence=Number(1.0)),
        Pattern("whole", Threshold(whole), group_by=("subject", "thread"), confidence=Number(1.0)),
        Pattern("steps", steps, group_by=("subject", "session")),
    )
    values: list[Readings] = [{"y": 0.1}] * 200 + [{"x": 0.35, "y": 0.7}]
    *dull, last = (replace(event, thread="t", session="s") for event in events_with(values))
    assert [engine.observe(event) for event in dull] == [[]] * 200
    assert waiting(engine) > 0
    assert {change.match.program.name for change in engine.observe(last)} == {"own", "whole"}
    assert [history.n for group in engine.groups for history in group.histories.values()] == [201] * 3


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("combination", "spread")])
def test_where_nothing_can_begin_nothing_does(kind: str):
    """Of random programs, a condition that routing rules out is never true, nor known where it says so."""
    ruled_out = 0
    for seed in range(60):
        case = random_case(seed, kind)
        for program in compile_patterns(case.patterns):
            body = program.body
            if not isinstance(body, SequenceProgram | ThresholdProgram):
                continue
            condition = body.places[0].condition if isinstance(body, SequenceProgram) else body.when
            names = prepared(program, case.cap).names
            for history in histories(program, case.events, case.cap):
                ever = Names.of(history.events[0], names)
                for at, event in enumerate(history.events):
                    own = Names.of(event, names)
                    ever = ever.joined(own)
                    begins, unknown = prospects(program, Here(own, ever, history.timed))
                    if not begins:
                        ruled_out += 1
                        truth = reader(condition)(event, at, history)
                        assert truth is None if unknown else truth is not True
    assert ruled_out or kind == "silence"


def test_a_rate_knows_of_events_that_the_cap_left_out():
    """Then the hours are those from the oldest event that is left to now: 3 events in 2 minutes."""
    rate = Measure("rate", high(0.0), Window(last=(Duration(3_600_000_000),)), condition=True)
    pattern = Pattern("often", Threshold(Compare(">", rate, Number(50.0))), confidence=Number(1.0))
    engine = Engine(compile_pattern(pattern), cap=3)
    assert fired(engine, [{"x": 0.5}] * 40) == ["e3"]
