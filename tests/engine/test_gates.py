"""The gate of a pattern set lets through all that matters: with it and without, the same is found."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from agreement import differences, plain_reading, product
from ethogram.engine.live import engine
from ethogram.engine.live.engine import Stream
from ethogram.engine.live.prefilter import ABSENT, FALSE, TRUE, Carried
from ethogram.language.ast import (
    And,
    AnyOf,
    Compare,
    Events,
    Function,
    Indicator,
    Known,
    Measure,
    Number,
    Or,
    OrElse,
    Pattern,
    Sequence,
    Signal,
    Step,
    Threshold,
    Window,
)
from ethogram.language.compiler import compile_pattern
from naive import Event
from strategies import KINDS, START, random_case

CASES = 12


@pytest.mark.parametrize("gated", [0, 1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_without_gates_and_mixed_the_plain_reading_is_met(kind: str, gated: int, monkeypatch):
    monkeypatch.setattr(engine, "MOST_GATED", gated)
    for seed in range(CASES):
        case = random_case(seed, kind)
        theirs, insufficient = plain_reading(case)
        ours, lacking = product(case, "stream")
        assert differences(ours, theirs) == [], case
        assert lacking == insufficient, case


def high(limit: float, name: str = "x") -> Compare:
    return Compare(">", Signal(name), Number(limit))


def fired(stream: Stream, values: list[dict[str, float | str]]) -> list[str]:
    events = [
        Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k, readings=readings)
        for k, readings in enumerate(values)
    ]
    return [change.episode.fired.id for event in events for change in stream.observe(event)]


def stream_of(*patterns: Pattern) -> Stream:
    return Stream([program for pattern in patterns for program in compile_pattern(pattern)])


# --- contiguous sequences -------------------------------------------------------------------


def contiguous(times: int) -> Pattern:
    steps = (Step("high", high(0.5), times=times), Step("low", Compare("<", Signal("x"), Number(0.2))))
    return Pattern(f"after_{times}", Sequence(steps, max_gap=0), confidence=Number(1.0))


def test_bits_say_what_stands():
    values = [0.9, 0.9, 0.1, 0.9, 0.9, 0.9, 0.1, 0.1, 0.9, 0.3, 0.1]
    # After two high ones: e2 and e6. After three: e6 alone.
    texts = fired(stream_of(contiguous(2), contiguous(3)), [{"x": x} for x in values])
    assert sorted(texts) == ["e2", "e6", "e6"]


def test_an_event_of_another_program_does_not_come_between():
    other = Pattern("other", Sequence((Step("y", high(0.5, "y")),), max_gap=0), confidence=Number(1.0))
    values: list[dict[str, float | str]] = [{"x": 0.9}, {"y": 0.1}, {"x": 0.9}, {"y": 0.9}, {"x": 0.1}]
    assert fired(stream_of(contiguous(2), other), values) == ["e3", "e4"]


def test_no_event_is_used_by_two_firings():
    twice = Pattern("twice", Sequence((Step("high", high(0.5), times=2),), max_gap=0), confidence=Number(1.0))
    assert fired(stream_of(twice), [{"x": 0.9}] * 5) == ["e1", "e3"]


# --- what a gate lets pass ------------------------------------------------------------------


def test_a_category_where_a_number_is_due_is_absent():
    rising = Pattern("rising", Threshold(high(0.5)), confidence=Number(1.0))
    assert fired(stream_of(rising), [{"x": "high"}, {"x": 0.9}]) == ["e1"]


@pytest.mark.parametrize("distance", [-2e-9, 0.0, 0.5e-9, 2e-9])
def test_near_ties_are_decided_by_the_tolerance(distance: float):
    """a > b means more than 1e-9 above it, and a >= b not more than that below."""
    above = Pattern("above", Sequence((Step("a", high(0.5)),)), confidence=Number(1.0))
    least = Compare(">=", Signal("x"), Number(0.5))
    at_least = Pattern("least", Sequence((Step("a", least),)), confidence=Number(1.0))
    records: list[dict[str, float | str]] = [{"x": 0.5 + distance}]
    assert bool(fired(stream_of(above), records)) == (distance > 1e-9)
    assert bool(fired(stream_of(at_least), records)) == (distance > -1e-9)


def test_readings_too_large_for_sums_are_looked_at_exactly():
    mean = Measure("mean", Signal("x"), Window(last=(), at_least=2))
    pattern = Pattern("vast", Threshold(Compare(">", mean, Number(1e150))), confidence=Number(1.0))
    assert fired(stream_of(pattern), [{"x": 1e200}, {"x": 1e200}, {"x": 1.0}]) == ["e1"]


def test_a_mean_that_has_forgotten_a_large_reading_is_right():
    """The sum of what is left after 1e12 has come and gone is off by far more than what is asked for."""
    small = Measure("mean", Signal("x"), Window(last=(Events(2),), at_least=1))
    pattern = Pattern("small", Threshold(Compare(">", small, Number(0.25))), confidence=Number(1.0))
    values: list[dict[str, float | str]] = [{"x": x} for x in (0.1, 1e12, -1e12, 0.2, 0.2, 0.3, 0.31)]
    # Means of two: .1, 5e11, 0, -5e11, .2, .25, .305; open at e1, closed at e2, open again at e6.
    assert fired(stream_of(pattern), values) == ["e1", "e1", "e6"]


# --- what is absent -------------------------------------------------------------------------


def test_conditions_come_down_to_what_an_event_carries():
    carried = Carried(frozenset({"x"}), attributes=False, evaluated=True)
    assert carried.reduce(Signal("y")) == ABSENT
    assert carried.reduce(high(0.5, "y")) == ABSENT
    assert carried.reduce(Or((high(0.5), high(0.5, "y")))) == Or((high(0.5), ABSENT))
    assert carried.reduce(And((Known(Signal("y")), high(0.5)))) == FALSE
    assert carried.reduce(OrElse(Signal("y"), Number(0.3))) == Number(0.3)
    assert carried.reduce(AnyOf((Indicator("MAN_A"), Indicator("MAN_B")))) == FALSE
    signs = Function("max", (Indicator("MAN_A"), Number(0.7)))
    assert carried.reduce(Compare(">", signs, Number(0.5))) == TRUE


def test_on_an_event_nobody_evaluated_an_indicator_is_unknown():
    carried = Carried(frozenset(), attributes=False, evaluated=False)
    assert carried.reduce(AnyOf((Indicator("MAN_A"), Indicator("MAN_B")))) == ABSENT


# --- many names -----------------------------------------------------------------------------


def test_any_number_of_names_makes_no_more_than_so_many_gates():
    stream = stream_of(Pattern("any", Threshold(high(0.5)), confidence=Number(1.0)))
    rng = random.Random(3)
    for k in range(3000):
        readings = {"x": 0.1, f"made_up_{rng.random()}": 1.0}
        stream.observe(Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k, readings=readings))
    assert len(stream._routes._gated) == 1
    assert all(len(found) <= engine.MOST_ROUTES for found in stream._found)
