"""Traces keep what counted, and no more points than a chart can show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ethogram.app.traces import MOST, thin
from reports import analyzed
from small import message, turns, warm_messages


@given(st.lists(st.booleans(), max_size=200), st.integers(2, 50))
def test_thinned_points_are_few_in_order_and_keep_every_proof(proofs, most):
    points = list(enumerate(proofs))
    kept = thin(points, most)
    assert len(kept) <= most
    assert kept == sorted(kept)
    assert set(kept) <= set(points)
    if sum(proofs) <= most:
        assert [point for point in points if point[1]] == [item for item in kept if item[1]]


def test_a_line_is_of_one_history_and_one_signal(tmp_path):
    other = [{**message(f"x-{n}", n, "ann", compassion=0.5), "target": "cy"} for n in (1, 2)]
    traces = analyzed(tmp_path, [*warm_messages(), *other]).traces
    assert [(line.signal, line.total) for line in traces.lines] == [("compassion", 4), ("manipulation", 4)]
    assert traces.lines[0].history == {"subject": "ann", "target": "bo"}
    assert [len(moments) for moments in traces.moments.values()] == [4]


def test_a_long_history_is_thinned(tmp_path):
    events = [
        {**turn, "at": f"2026-01-01T{n // 60:02d}:{n % 60:02d}:00Z"}
        for n, turn in enumerate(turns("a", [0.9] * 1_000, [1] * 1_000))
    ]
    traces = analyzed(tmp_path, events).traces
    (line,) = traces.lines
    assert (len(line.points), line.total) == (MOST, 1_000)
    assert [len(moments) for moments in traces.moments.values()] == [MOST]


def test_nobody_is_traced_without_a_detection(tmp_path):
    assert not analyzed(tmp_path, turns("a", [0.1, 0.1, 0.1], [1, 2, 3])).traces.moments
