import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from ethogram.risk import tuning
from ethogram.risk.parameter_grid import (
    JudgedItem,
    ParameterGrid,
    Period,
    detected_again,
    judged_items,
    period_of,
)
from ethogram.risk.proposal import Effect, NoProposal, Proposal, add_recent, measure_effect
from ethogram.risk.tuning import (
    LearningOptions,
    best_value,
    learn,
    permutation_p,
    posterior,
    threshold_interval,
    youden,
)
from risk_lines_world import NOW_AT, made, one_run, replayer, things
from risk_makers import NOW, detection, verdict


def test_nothing_is_proposed_for_few_verdicts_or_a_good_pattern():
    rng = np.random.default_rng(1)
    assert one_run(rng, 20)[1] == NoProposal("p", "insufficient verdicts: 20 of 30")
    assert "not below" in one_run(rng, share=0.9)[1].why
    assert "it takes 5" in one_run(rng, share=0.0)[1].why


def test_a_proposal_says_what_it_would_change():
    _, told = one_run(np.random.default_rng(3), right=0.7)
    assert isinstance(told, Proposal)
    assert told.before.confirmed + told.before.false_alarms == 60
    assert told.lost_confirmed == 0
    assert told.after.precision == 1
    assert told.diff().splitlines()[-2:] == ["-     threshold: 0.3", f"+     threshold: {told.new:g}"]
    assert "losing 0 confirmed" in told.sentence()
    assert "41 instead of 96" in replace(told, recent=(96, 41)).sentence()
    assert Proposal.from_dict(json.loads(json.dumps(told.to_dict()))) == replace(
        told, luck=round(told.luck, 6)
    )


def test_what_each_value_would_find_is_told_and_falls_with_the_threshold():
    _, told = one_run(np.random.default_rng(3), right=0.7)
    tried = {item.value: item for item in told.values}
    assert (tried[told.old].true, tried[told.old].false_alarms) == (
        told.before.true,
        told.before.false_alarms,
    )
    assert (tried[told.new].true, tried[told.new].false_alarms) == (told.after.true, told.after.false_alarms)
    found = [item.confirmed + item.false_alarms for item in told.values]
    assert found == sorted(found, reverse=True)


def test_a_right_value_beyond_all_that_were_tried_is_told_as_such():
    x, judged = things(np.random.default_rng(3), 60, NOW_AT, 0.7)
    # 30 is looked for from half of it to the double; the right value is 70.
    told = learn("p", {"threshold": 30.0}, judged, replayer(100 * x))
    assert isinstance(told, Proposal)
    assert told.is_at_end
    assert "Nothing beyond 15 to 60 was tried" in told.sentence()


def test_verdicts_that_go_with_subjects_and_not_with_readings_are_seen_through():
    """Ten subjects with ten things each: what is said goes by subject, and readings do too."""
    rng = np.random.default_rng(7)
    grouped = single = 0
    for _ in range(30):
        subject = np.repeat(np.arange(10), 10)
        true = (rng.random(10) < 0.5)[subject]
        x = rng.random(10)[subject]
        values = tuple(np.linspace(0, 1, 9))
        line = ParameterGrid("t", 0.0, values, x[:, None] > np.array(values))
        if 0 < true.sum() < 100:
            grouped += permutation_p([line], true, [f"s{n}" for n in subject], 1) <= 0.05
            single += permutation_p([line], true, [str(n) for n in range(100)], 1) <= 0.05
    assert grouped <= 4
    assert single >= 15  # what would happen if things of one subject were taken for independent


def test_the_objective_does_not_depend_on_the_share_that_is_true():
    true = np.array([True] * 4 + [False] * 6)
    kept = np.array([[True, True, False]] * 4 + [[True, False, False]] * 6)
    assert youden(true, kept).tolist() == [0, 1, 0]
    more = np.repeat(np.arange(10), [5] * 4 + [1] * 6)
    assert youden(true[more], kept[more]).tolist() == [0, 1, 0]


def test_of_equally_good_values_it_is_the_middle_one():
    true = np.array([False, True])
    x = np.array([0.2, 0.8])
    values = tuple(np.linspace(0, 1, 11))
    line = ParameterGrid("t", 0.0, values, x[:, None] > np.array(values) + 1e-9)
    assert values[best_value([line], true)[1]] == pytest.approx(0.5, abs=0.1)
    assert threshold_interval(line, true)[0] <= 0.5 <= threshold_interval(line, true)[1]


def test_a_judged_episode_is_known_again_by_time_and_not_by_id():
    item = detection("a", opened_at=NOW, detected_at=NOW, closed_at=NOW + timedelta(hours=5))
    later = detection("b", opened_at=NOW + timedelta(hours=3), detected_at=NOW + timedelta(hours=3))
    judged = judged_items([verdict(of="a")], [item], {})
    assert detected_again(judged, [later]).tolist() == [True]
    assert detected_again(judged, [replace(later, history={"subject": "ann", "target": "bo"})]).tolist() == [
        True
    ]
    assert detected_again(judged, [replace(later, subject="bo", history={"subject": "bo"})]).tolist() == [
        False
    ]
    after = detection("c", days_ago=-2)
    assert detected_again(judged, [after]).tolist() == [False]


def test_what_was_missed_counts_as_true_and_can_be_caught():
    said = verdict("missed", None, subject="ann", first_event="e1", last_event="e9")
    where = Period(("input", "ann"), NOW, NOW + timedelta(hours=2))
    (missed,) = judged_items([said], [], {("", "ann", "e1", "e9"): where})
    assert missed.true
    assert not missed.detected
    assert detected_again([missed], [detection("x")]).tolist() == [True]


@pytest.mark.parametrize(
    ("fields", "is_caught"), [({}, True), ({"thread": "a"}, True), ({"thread": "b"}, False)]
)
def test_what_was_missed_in_one_run_is_not_caught_in_another(fields, is_caught):
    where = Period(("input", "ann"), NOW, NOW + timedelta(hours=2), fields)
    missed = JudgedItem("m", True, False, where, "")
    found = detection("x", thread="a", history={"subject": "ann", "thread": "a"})
    assert detected_again([missed], [found]).tolist() == [is_caught]


def test_misses_pull_a_threshold_down():
    rng = np.random.default_rng(8)
    x, judged = things(rng, 60, 0.3, 0.7)
    # Judges also found ten true things that lie below the threshold in force.
    low = rng.uniform(0.1, 0.25, 40)
    missed = [
        replace(judged[0], id=f"m{i}", true=True, detected=False, period=period_of(made(100 + i)))
        for i in range(40)
    ]

    def replay(overlays):
        for overlay in overlays:
            t = overlay["threshold"]
            yield [made(i) for i in np.flatnonzero(x > t)] + [made(100 + i) for i in np.flatnonzero(low > t)]

    told = learn("p", {"threshold": 0.3}, [*judged, *missed], replay)
    assert isinstance(told, NoProposal) or told.new < 0.3 or told.new > 0.6


def test_the_last_days_are_counted_with_the_old_and_the_new_value():
    rng = np.random.default_rng(3)
    x, judged = things(rng, 60, NOW_AT, 0.7)
    told = learn("p", {"threshold": NOW_AT}, judged, replayer(x))
    since = NOW + timedelta(hours=10 * 30)
    recent = add_recent(told, replayer(x), since).recent
    assert recent == (30, int((x[30:] > told.new).sum()))
    # A new value that loses confirmed ones: only those of the last days are told beside the last days.
    strict = add_recent(replace(told, new=0.9), replayer(x), since, judged)
    assert strict.recent_lost == int(((x > 0.7) & (x <= 0.9))[30:].sum()) > 0
    assert f"losing {strict.recent_lost} confirmed." in strict.sentence()


def test_what_is_lost_is_not_made_up_for_by_what_is_found_instead():
    true, every = np.array([True, True, True, False]), np.ones(4, dtype=bool)
    now, then = np.array([True, False, False, True]), np.array([False, True, True, False])
    assert measure_effect(true, every, then, now) == Effect(confirmed=2, false_alarms=0, lost=1)


def test_what_the_present_value_does_well_speaks_for_no_other():
    """Judged from .3 on; .5 is in force and right, and what is said of the rest is chance."""
    rng = np.random.default_rng(9)
    x = rng.uniform(0.3, 1, 120)
    now = x > 0.5
    values = tuple(np.linspace(0, 1, 21))
    line = ParameterGrid("t", 0.5, values, x[:, None] > np.array(values))
    groups = [str(n) for n in range(120)]
    true = now & (rng.random(120) < 0.6)
    assert permutation_p([line], true, groups, 1) <= 0.01
    assert permutation_p([line], true, groups, 1, 999, 1.0, now) > 0.05
    # With a better value among what is found now it shows.
    assert permutation_p([line], x > 0.7, groups, 1, 999, 1.0, now) <= 0.01


def test_an_equally_good_value_is_not_proposed():
    """Five are wrong whatever the number: with .5 in force, .55 would find the same."""
    x = np.r_[np.linspace(0.6, 0.9, 30), np.linspace(0.31, 0.49, 30), np.full(20, 0.95)]
    true = [*[True] * 30, *[False] * 50]
    judged = [JudgedItem(f"d{i}", t, True, period_of(made(i)), f"s{i}") for i, t in enumerate(true)]
    told = learn("p", {"threshold": 0.5}, judged, replayer(x))
    assert isinstance(told, NoProposal)


def test_where_nothing_is_known_every_stretch_is_as_likely_as_it_is_wide():
    line = ParameterGrid("t", 0.0, (0.0, 0.1, 0.2, 0.3, 1.0), np.ones((2, 5), dtype=bool))
    found = posterior(line, np.array([True, False]))
    assert found[4] > 4 * found[1]


def test_a_further_try_must_show_more():
    assert LearningOptions(tries=3).alpha < LearningOptions().alpha / 10
    assert LearningOptions(tries=3).permutations > LearningOptions().permutations


def test_what_one_subject_repeats_widens_the_interval_and_single_things_do_not():
    rng = np.random.default_rng(6)
    own = np.arange(120) // 6
    x = np.clip(rng.uniform(0.3, 1, 20)[own] + rng.normal(0, 0.02, 120), 0, 1)
    true = (x > 0.65) ^ (rng.random(20) < 0.2)[own]
    values = tuple(np.linspace(0, 1, 41))
    line = ParameterGrid("t", 0.3, values, x[:, None] > np.array(values))
    plain, grouped, single = (
        threshold_interval(line, true, groups)
        for groups in ([], [str(item) for item in own], [str(n) for n in range(120)])
    )
    assert single == plain
    assert grouped[1] - grouped[0] > plain[1] - plain[0]


def test_what_luck_alone_would_let_through_must_still_help_others(monkeypatch):
    monkeypatch.setattr(tuning, "permutation_p", lambda *_: 0.0)
    told = [one_run(np.random.default_rng(seed), wrong=0.5)[1] for seed in range(8)]
    blocked = [
        item for item in told if isinstance(item, NoProposal) and "does not help with others" in item.why
    ]
    passed = [item for item in told if isinstance(item, Proposal)]
    assert blocked
    assert all(
        item.held_out.confirmed / item.before.confirmed
        > item.held_out.false_alarms / item.before.false_alarms
        for item in passed
    )


def test_no_more_verdicts_are_dealt_once_luck_is_certain_to_be_above_the_limit():
    rng = np.random.default_rng(2)
    true, values = rng.random(60) < 0.5, tuple(np.linspace(0, 1, 9))
    x = rng.random(60)
    line = ParameterGrid("t", 0.0, values, x[:, None] > np.array(values))
    groups = [str(n) for n in range(60)]
    whole = permutation_p([line], true, groups, 1, 20_000)
    # A tenth of a second of dealing instead of 20 million: the answer is above the limit all the same.
    soon = permutation_p([line], true, groups, 1, 20_000_000, limit=1e-6)
    assert whole > 0.01
    assert soon > 1e-6
    assert soon == pytest.approx(whole, abs=0.1)
    honest = permutation_p(
        [replace(line, hits=(x[:, None] > np.array(values)))], x > 0.5, groups, 1, 5_000, 0.001
    )
    assert honest == pytest.approx(1 / 5_001)


def test_a_proposal_says_what_share_is_right_where_it_is_known():
    _, told = one_run(np.random.default_rng(3), right=0.7)
    assert isinstance(told, Proposal)
    assert f"{told.after.detected} of the judged (100% right) instead of" in told.sentence()
    nothing = replace(told, after=Effect(0, 0))
    assert "0 of the judged instead of" in nothing.sentence()
