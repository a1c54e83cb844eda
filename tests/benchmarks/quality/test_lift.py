"""Lift says whether the order of readings matters, and the same seed says the same."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.quality.lift import Lift, lift, ratio_interval
from ethogram.app.backtest import shuffled
from ethogram.errors import BadUsage
from ethogram.models import Event
from ethogram.patterns.library import load_patterns
from pattern_files import examples, write

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def history(subject: str, noise: list[float | None], **fields) -> list[Event]:
    """One event a minute, with a reading of noise where there is one."""
    return [
        Event(
            id=f"{subject}{i}",
            at=BEGIN + timedelta(minutes=i),
            subject=subject,
            seq=i,
            readings={} if item is None else {"noise": item},
            **fields,
        )
        for i, item in enumerate(noise)
    ]


@pytest.fixture
def outburst(tmp_path):
    """Calm, then loud, within three events."""
    return load_patterns([write(tmp_path)])


def test_a_pattern_of_order_is_found_more_often_in_order(outburst):
    events = [event for n in range(40) for event in history(f"s{n}", [0.1, 0.9])]
    (item,) = lift(events, outburst, shuffles=20, seed=1)
    assert item.detections == 40
    # Of two readings half of the shuffles keep the order: 20 of 40 on average.
    assert 17 < item.mean < 23
    assert item.ratio == pytest.approx(40 / item.mean, abs=1e-5)
    assert item.low is not None
    assert item.high is not None
    assert 1.5 < item.low < item.ratio < item.high < 2.7
    assert item.p == pytest.approx(1 / 21)


def test_a_threshold_is_found_as_often_in_any_order(tmp_path):
    threshold = write(
        tmp_path,
        shape={"threshold": {"when": "mean(noise, last=2, at_least=2) > 0.5"}},
        confidence=0.5,
        explanation="loud",
        examples=examples(
            fires=[{"story": "loud", "noise": [0.9, 0.9], "at": 2}],
            quiet=[{"story": "calm", "noise": [0.1, 0.1]}, {"story": "one", "noise": [0.9]}],
        ),
    )
    events = [event for n in range(10) for event in history(f"s{n}", [0.9, 0.8])]
    (item,) = lift(events, load_patterns([threshold]), shuffles=5)
    assert (item.detections, item.shuffled) == (10, (10,) * 5)
    assert (item.ratio, item.low, item.high, item.p) == (1.0, 1.0, 1.0, 1.0)


def test_readings_change_places_within_a_subject_and_nothing_else_moves():
    events = history("ann", [0.1, None, 0.2, 0.3]) + history("bo", [0.7, 0.8, 0.9])
    other = shuffled(events, random.Random(3))
    assert [(item.id, item.at, item.subject) for item in other] == [
        (event.id, event.at, event.subject) for event in events
    ]
    assert other[1].readings == {}
    for who in ("ann", "bo"):
        before, after = (
            Counter(item.readings.get("noise") for item in group if item.subject == who)
            for group in (events, other)
        )
        assert before == after
    assert [item.readings for item in other] != [event.readings for event in events]


def test_the_scorer_goes_with_the_reading():
    first = Event.sample(id="a", readings={"noise": 1.0}, scorers={"noise": "x"})
    second = Event.sample(id="b", readings={"noise": 2.0}, scorers={"noise": "y"})
    for seed in range(5):
        for item in shuffled([first, second], random.Random(seed)):
            assert item.scorers["noise"] == {1.0: "x", 2.0: "y"}[item.readings["noise"]]


def test_the_same_seed_gives_the_same_and_another_seed_another(outburst):
    events = [event for n in range(20) for event in history(f"s{n}", [0.1, 0.9, 0.1])]
    same = [lift(events, outburst, shuffles=6, seed=5).lifts[0].to_dict() for _ in range(2)]
    assert same[0] == same[1]
    assert lift(events, outburst, shuffles=6, seed=6).lifts[0].shuffled != tuple(same[0]["shuffled"])


def test_p_counts_the_real_arrangement_among_the_others():
    item = Lift("x", "stable", 1, 0, 3, (1, 3, 4), None, None, None)
    assert (item.mean, item.p) == (pytest.approx(8 / 3), 0.75)
    assert item.sd == pytest.approx(1.527525, abs=1e-6)
    assert Lift("x", "stable", 1, 0, 3, (1,), None, None, None).sd == 0


def test_where_no_shuffle_has_any_there_is_no_ratio():
    assert ratio_interval(Counter({("s", "ann"): 3}), Counter(), 20, "0") == (None, None, None)


def test_one_subject_with_everything_makes_the_ratio_no_surer():
    many = Counter({("s", str(n)): 1 for n in range(60)})
    lump = Counter({("s", "ann"): 60})
    half = Counter({("s", str(n)): 10 for n in range(60)})
    ratio, low, high = ratio_interval(many, half, 20, "0")
    assert ratio == 2.0
    assert (low, high) == (2.0, 2.0)
    ratio, low, high = ratio_interval(lump, half, 20, "0")
    assert ratio == 2.0
    assert low == 0.0
    assert high is not None
    assert high > 4


def test_histories_may_be_those_of_subjects_where_there_are_no_targets():
    events = [
        {
            "at": f"2026-01-0{day}T12:00:00Z",
            "subject": "ann",
            "readings": {"compassion": c, "manipulation": m},
        }
        for day, (c, m) in enumerate([(0.8, 0.1), (0.9, 0.1), (0.8, 0.1), (0.1, 0.8)], start=1)
    ]
    (own,) = lift(events, ["love_bombing"], shuffles=2)
    (other,) = lift(events, ["love_bombing"], shuffles=2, group_by=["subject"])
    assert (own.histories, own.detections) == (0, 0)
    assert (other.histories, other.detections) == (1, 1)
    assert own.lacking == ("apology",)


@pytest.mark.parametrize(
    ("group_by", "said"), [(["subjet"], "did you mean 'subject'"), (["target"], "always one subject's")]
)
def test_a_history_that_cannot_be_is_refused(group_by, said):
    with pytest.raises(BadUsage, match=said):
        lift([], ["love_bombing"], group_by=group_by)


def test_shuffles_are_counted_from_one():
    with pytest.raises(BadUsage, match="shuffles"):
        lift([], ["love_bombing"], shuffles=0)
