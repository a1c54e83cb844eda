"""What a backtest counts: detections, histories, overlaps and examples."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from ethogram.models import Detection, Evidence
from ethogram.risk.backtest import backtest

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def detection(name: str, days_ago: float = 0.0, **given: Any) -> Detection:
    at = NOW - timedelta(days=days_ago)
    record: dict[str, Any] = {
        "id": name, "pattern": "loop", "version": "v1", "state": "closed", "subject": "ann", "target": None,
        "thread": None, "severity": "high", "confidence": 0.5, "opened_at": at, "detected_at": at,
        "closed_at": at, "first_event": "e1", "last_event": "e2", "count": 1, "details": {}, "confirms": (),
        "scorer": "given", "explanation": "", "recommendation": "", "history": {"subject": "ann"},
    }  # fmt: skip
    return Detection(**record | given)


def found(name, pattern, who, *events, **given):
    evidence = tuple(Evidence("s", event, NOW, {}) for event in events)
    ends = {"first_event": events[0], "last_event": events[-1]}
    history = {"subject": who, **given.pop("history", {})}
    return detection(name, pattern=pattern, subject=who, history=history, evidence=evidence, **ends, **given)


def test_it_tells_counts_examples_lift_and_overlap():
    own = [found("a", "new", "ann", "e1", "e2"), found("b", "new", "ann", "e5", severity="critical"),
           found("c", "new", "bo", "e9", confidence=0.1)]  # fmt: skip
    others = [found("x", "loop", "ann", "e2", "e3"), found("y", "drift", "cy", "e7")]
    told = backtest("new", own, others, histories=10, shuffled=[1, 0, 2])
    assert (told.detections, told.histories, told.looked_at) == (3, 2, 10)
    assert told.by_severity == {"low": 0, "medium": 0, "high": 2, "critical": 1}
    assert [example.id for example in told.examples] == ["b", "c", "a"]
    assert told.lift == 3
    (item,) = told.overlaps
    assert (item.other, item.both, item.jaccard, item.covered) == ("loop", 1, 1 / 5, 1 / 4)
    assert item.together == 0.5 / 0.1  # half of those with the new one have the other; a tenth of all have


def test_older_and_withdrawn_detections_do_not_count():
    own = [
        found("a", "new", "ann", "e1"),
        found("b", "new", "ann", "e2", days_ago=40),
        found("c", "new", "ann", "e3", state="withdrawn"),
    ]
    told = backtest("new", own, [], histories=1, since=NOW - timedelta(days=30))
    assert told.detections == 1
    assert told.lift is None


def test_nothing_found_is_told_as_nothing():
    told = backtest("new", [], [found("x", "loop", "ann", "e2")], histories=3).to_dict()
    assert told["detections"] == 0
    assert told["examples"] == []
    assert told["overlaps"] == []


def test_histories_are_counted_as_the_pattern_tells_them_apart():
    own = [found(f"a{n}", "new", "ann", f"e{n}", history={"target": f"t{n}"}) for n in range(10)]
    told = backtest("new", own, [], histories=20)
    assert (told.histories, told.looked_at) == (10, 20)


def test_of_patterns_that_group_events_differently_nothing_is_said_of_common_histories():
    own = [found("a", "new", "ann", "e1", history={"target": "t"})]
    assert backtest("new", own, [found("x", "old", "ann", "e1")], histories=9).overlaps[0].together is None
