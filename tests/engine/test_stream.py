"""The live runner: its generated code, and the bounds of its state."""

from __future__ import annotations

import math
import random
from datetime import timedelta

import pytest

from ethogram.engine import values as st
from ethogram.engine.live import aggregates
from ethogram.engine.live.engine import Stream
from ethogram.engine.live.source import Captures, Writer, functions
from ethogram.language.ast import (
    Arithmetic,
    Compare,
    Elapsed,
    Events,
    Expr,
    Measure,
    Number,
    Pattern,
    Sequence,
    Signal,
    Step,
    Text,
    Threshold,
    Window,
)
from ethogram.language.compiler import compile_pattern
from ethogram.models import micros
from naive import Event
from strategies import START


def stream_of(*patterns: Pattern) -> Stream:
    return Stream([program for pattern in patterns for program in compile_pattern(pattern)])


def events_with(name: str, values: list[float]) -> list[Event]:
    return [
        Event(f"e{k}", START + timedelta(minutes=k), "ann", seq=k, readings={name: value})
        for k, value in enumerate(values)
    ]


def test_what_a_user_wrote_is_never_in_the_source():
    writer = Writer(Captures(()))
    name, word = "x'); import os #", '"""\n'
    text = writer.true(Compare("==", Signal(name), Text(word))) + writer.value(Signal(name))
    assert "import" not in text
    assert '"' not in text
    assert {name, word} <= set(map(str, writer.names.values()))


def test_an_expression_may_be_deeper_than_python_has_brackets():
    expr: Expr = Signal("x")
    for _ in range(100):
        expr = Arithmetic("+", expr, Number(1.0))
    stream = stream_of(Pattern("deep", Threshold(Compare(">", expr, Number(100.5))), confidence=Number(1.0)))
    changes = [change for event in events_with("x", [0.0, 1.0]) for change in stream.observe(event)]
    assert [change.episode.fired.id for change in changes] == ["e1"]


def test_generated_functions_see_each_other_and_nothing_else():
    made = functions("def f(x):\n return g(x) + K\ndef g(x):\n return x * 2", {"K": 1})
    assert made["f"](3) == 7
    with pytest.raises(NameError):
        functions("def f():\n return nothing_of_the_kind", {})["f"]()


def test_rows_and_kept_values_stay_within_what_windows_ask_for():
    small = Measure("mean", Signal("x"), Window(last=(Events(5),), skip=Events(2)))
    far = Measure("max", Signal("x"), Window(keep=3, where=Compare(">", Signal("x"), Number(0.9))))
    when = Compare(">", Arithmetic("+", small, far), Number(9.0))
    stream = stream_of(Pattern("bounded", Threshold(when), confidence=Number(1.0)))
    rng = random.Random(1)
    for event in events_with("x", [rng.random() for _ in range(3000)]):
        stream.observe(event)
    (watched,) = stream.tracks[0].watched.values()
    assert watched.rows.n == 3000
    assert len(watched.rows.times) <= 2 * 8 + 33
    assert all(len(column) == len(watched.rows.times) for column in watched.rows.columns)
    assert all(len(kept) <= 3 + 33 for kept in watched.rows.kept)


def test_further_evidence_is_at_most_fifty_events_before_the_first():
    warm = Step("warm", Compare(">", Signal("x"), Number(0.5)), times=2, collects=True)
    cold = Step("cold", Compare("<", Signal("x"), Number(0.5)))
    pattern = Pattern("many", Sequence((warm, cold), within=(Events(500),)), confidence=Number(1.0))
    stream = stream_of(pattern)
    changes = [c for event in events_with("x", [0.9] * 200 + [0.1]) for c in stream.observe(event)]
    (change,) = changes
    assert change.episode.count == 50 + 2 + 1
    assert change.episode.evidence[0][1].id == f"e{200 - 52}"


def test_a_deadline_waits_once_for_each_history():
    from ethogram.language.ast import Silence

    stream = stream_of(Pattern("gone", Silence(Number(3600.0)), confidence=Number(1.0)))
    for event in events_with("x", [0.1] * 500):
        assert stream.advance(event.source, micros(event.at)) == []
        stream.observe(event)
    (queue,) = stream.deadlines.queues.values()
    assert len(queue) == 1
    newest = micros(START + timedelta(minutes=499))
    assert stream.advance("input", newest + 3600 * 1_000_000) == []
    assert [c.what for c in stream.advance("input", newest + 3600 * 1_000_000 + 1)] == ["opened"]


def test_a_deadline_is_worked_out_only_when_it_may_have_passed():
    from ethogram.language.ast import Function, Silence

    # Twice the longest pause so far, which is 50 minutes, and an hour at least.
    longest = Measure("max", Elapsed("gap"), Window(keep=50))
    longer = Function("max", (Number(3600.0), Arithmetic("*", Number(2.0), longest)))
    stream = stream_of(Pattern("gone", Silence(longer), confidence=Number(1.0)))
    minutes = [0, 50, 100, 110]
    for k, minute in enumerate(minutes):
        at = START + timedelta(minutes=minute)
        assert stream.advance("input", micros(at)) == []
        stream.observe(Event(f"e{k}", at, "ann", seq=k, readings={"x": 0.1}))
    last = micros(START + timedelta(minutes=110))
    (watched,) = stream.tracks[0].watched.values()
    assert watched.state.is_early
    assert stream.advance("input", last + 100 * 60 * 1_000_000) == []
    assert not watched.state.is_early
    (change,) = stream.advance("input", last + 100 * 60 * 1_000_000 + 1)
    assert change.episode.opened_at == last + 100 * 60 * 1_000_000


@pytest.mark.parametrize("seed", range(30))
def test_quick_measures_are_the_same_to_the_last_bit(seed: int):
    rng = random.Random(seed)
    count = rng.choice((0, 1, 2, 3, 10, 60))
    values = [rng.choice((rng.random(), 0.25, 0.5, -1.0, 1e6 * rng.random())) for _ in range(count)]
    assert aggregates.rise(values) == st.rise(values)
    assert aggregates.tau(values) == st.tau(values)
    assert aggregates.top_count(values) == st.top_count(values)
    assert aggregates.excess(values, 0.3) == st.excess(values, 0.3)
    assert aggregates.legs(values, 0.25) == st.legs(values, 0.25)
    assert aggregates.swing_growth(values, 0.25) == st.swing_growth(values, 0.25)
    assert not any(x is not None and math.isnan(x) for x in (aggregates.rise(values), aggregates.tau(values)))
