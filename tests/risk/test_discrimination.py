"""Figures on labelled things: the area, intervals by groups, baselines, versions in pairs, horizon."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, mannwhitneyu

from benchmarks.quality.separation import area_of, figures, over_time
from ethogram.risk import versions
from ethogram.risk.discrimination import (
    ScoredItem,
    TargetTimeline,
    area_difference,
    auroc,
    discrimination,
    lead_time,
    rate,
    recall_at_rate,
    recovery_time,
)
from ethogram.risk.versions import compare_versions, sign_flip_test
from ethogram.stats import wilson

cases = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.booleans()), min_size=2, max_size=30)


@given(cases)
def test_the_area_is_that_of_mann_and_whitney(told):
    x, true = [s for s, _ in told], [t for _, t in told]
    found = auroc(x, true, range(len(x)))
    if not 0 < sum(true) < len(true):
        assert found is None
        return
    ours, others = [s for s, t in told if t], [s for s, t in told if not t]
    assert found.value == pytest.approx(mannwhitneyu(ours, others).statistic / len(ours) / len(others))
    assert 0 <= found.interval[0] <= found.value + 1e-9
    assert found.value - 1e-9 <= found.interval[1] <= 1


def direct(x, true):
    """DeLong's variance as it is usually written, pair by pair."""
    ours, others = x[true], x[~true]
    wins = (ours[:, None] > others) + 0.5 * (ours[:, None] == others)
    return wins.mean(1).var(ddof=1) / len(ours) + wins.mean(0).var(ddof=1) / len(others)


def test_the_error_is_delongs_where_every_thing_is_a_group_of_its_own():
    rng = np.random.default_rng(2)
    true = rng.random(300) < 0.4
    x = rng.normal(true * 1.0)
    assert auroc(x, true, range(300)).error == pytest.approx(direct(x, true) ** 0.5, rel=0.01)


@pytest.mark.parametrize("a_group", [1, 5])
def test_the_interval_of_the_area_holds_the_truth_also_in_groups(a_group):
    rng = np.random.default_rng(a_group)
    held = runs = 0
    for _ in range(400):
        n = 80
        own = rng.normal(size=n)[: n // a_group].repeat(a_group)  # what a group has in common
        true = (rng.random(n // a_group) < 0.5).repeat(a_group)
        x = own + 0.5 * rng.normal(size=n) + true
        found = auroc(x, true, np.arange(n) // a_group)
        if found is not None:
            runs += 1
            held += found.interval[0] <= 0.736 <= found.interval[1]  # P(N(1, 2 x 1.25) > 0)
    assert held / runs > 0.92


@pytest.mark.parametrize(("ours", "others"), [(3, 100), (100, 3), (5, 40), (6, 6)])
def test_a_few_things_that_score_alike_do_not_make_the_area_certain(ours, others):
    """Scores as patterns give them: most things have none, so that few of them often do not vary at all."""
    rng = np.random.default_rng(ours)
    true = [True] * ours + [False] * others
    # A target is marked with .4, another thing with .1: P(above) = .4 x .9 + (.4 x .1 + .6 x .9) / 2 = .65.
    held = 0
    for _ in range(400):
        x = (rng.random(ours + others) < np.where(true, 0.4, 0.1)).astype(float)
        low, high = auroc(x, true, range(len(x))).interval
        held += low <= 0.65 <= high
    assert held / 400 > 0.9


def test_areas_and_recall_drawn_again_agree_with_the_formula():
    """Conversations have drawn intervals, everything else DeLong's: both say the same."""
    rng = np.random.default_rng(11)
    bad, good = rng.normal(1, 1, 150), rng.normal(0, 1, 200)
    value, low, high = figures(bad, good)["auroc"]
    told = auroc([*bad, *good], [True] * 150 + [False] * 200, range(350))
    assert value == round(told.value, 4) == round(area_of(bad, good), 4)
    assert (low, high) == pytest.approx(told.interval, abs=0.015)


def test_perfect_scores_have_an_interval_all_the_same():
    found = auroc([0.0] * 10 + [1.0] * 10, [False] * 10 + [True] * 10, range(20))
    assert found.value == 1
    assert 0.6 < found.interval[0] < 0.8


def test_two_areas_on_the_same_things_are_compared_in_pairs():
    rng = np.random.default_rng(1)
    true = rng.random(200) < 0.5
    common = rng.normal(size=200)
    areas = [auroc(common + true + 0.1 * rng.normal(size=200), true, range(200)) for _ in range(2)]
    told = area_difference(*areas, range(200))
    assert told.high - told.low < 0.5 * (areas[0].interval[1] - areas[0].interval[0])
    assert told.p > 0.01
    assert area_difference(areas[0], areas[0], range(200)).p == 1


def items(n=200, lift=0.6, base=0.1, seed=0, group=1):
    rng = np.random.default_rng(seed)
    out = []
    for number in range(n):
        true = bool(rng.random() < 0.3)
        fired = bool(rng.random() < (lift if true else base))
        length = float(rng.normal(10 + 2 * true, 3))
        out.append(
            ScoredItem(f"t{number}", true, fired, fired * 0.5, f"g{number // group}", {"length": length})
        )
    return out


def test_a_score_comes_with_intervals_and_the_best_trivial_baseline():
    told = discrimination(items())
    assert told.items == 200
    assert told.recall.interval[0] < 0.6 < told.recall.interval[1]
    assert told.false_alarms.interval[0] < 0.1 < told.false_alarms.interval[1]
    assert [item.name for item in told.baselines] == ["length", "all"]
    assert told.lift > 1.5
    assert told.baselines[1].precision == pytest.approx(told.targets / 200)


def test_nothing_marked_is_no_precision_and_nothing_there_is_no_recall():
    quiet = discrimination([ScoredItem("a", True, False), ScoredItem("b", False, False)])
    assert quiet.precision.value is None
    assert quiet.recall.value == 0
    assert discrimination([]).area is None
    assert discrimination([ScoredItem("a", False, False)]).recall.value is None


def test_things_of_one_group_are_worth_less_than_as_many_groups():
    hit = [True] * 20 + [False] * 20
    alone, grouped = rate(hit, range(40)), rate(hit, [n // 10 for n in range(40)])
    assert alone.value == grouped.value
    assert grouped.interval[1] - grouped.interval[0] > 1.8 * (alone.interval[1] - alone.interval[0])


@pytest.mark.parametrize(("groups", "each"), [(5, 20), (10, 10)])
def test_the_interval_of_a_rate_holds_the_truth_with_few_groups(groups, each):
    rng, held = np.random.default_rng(groups), 0
    for _ in range(400):
        own = rng.beta(0.7 * 7 / 3, 0.3 * 7 / 3, groups).repeat(each)  # alike by 0.3 within a group
        low, high = rate(
            (rng.random(groups * each) < own).tolist(), np.arange(groups * each) // each
        ).interval
        held += low <= 0.7 <= high
    assert held / 400 > 0.93


def test_one_group_is_worth_one_thing_and_single_things_are_worth_what_they_are():
    hit = [True, False] * 20
    assert rate(hit, [0] * 40).interval == pytest.approx(wilson(0.5, 1))
    assert rate(hit, range(40)).interval == pytest.approx(wilson(20, 40))


def sided(targets, others):
    """Things that score like this, targets and others."""
    return [
        *(ScoredItem(f"t{n}", True, target > 0, target) for n, target in enumerate(targets)),
        *(ScoredItem(f"o{n}", False, other > 0, other) for n, other in enumerate(others)),
    ]


def test_recall_at_a_rate_knows_how_little_it_knows():
    all_found = recall_at_rate(sided([1.0] * 3, [0.0] * 1000), 0.05)
    assert all_found.value == 1.0
    assert all_found.interval == pytest.approx(wilson(3, 3))
    none_found = recall_at_rate(sided([0.0] * 3, [0.0] * 1000), 0.05)
    assert none_found.value == 0.0
    assert none_found.interval == pytest.approx(wilson(0, 3))
    # With forty others none of them need be above what 5 % of all are above: nobody knows how high that is.
    assert recall_at_rate(sided([1.0] * 30, [0.0] * 40), 0.05).interval[0] == 0.0
    assert recall_at_rate(sided([1.0], []), 0.05) is None


def test_recall_at_a_rate_goes_by_groups():
    alone = sided([1.0] * 20 + [0.0] * 20, [0.0] * 400)
    grouped = [replace(item, group=f"{item.target}{n // 10}") for n, item in enumerate(alone)]
    wide, narrow = (recall_at_rate(every, 0.05).interval for every in (grouped, alone))
    assert wide[1] - wide[0] > 1.5 * (narrow[1] - narrow[0])


def test_the_interval_of_recall_at_a_rate_holds_the_truth():
    rng, held = np.random.default_rng(3), 0
    for _ in range(100):
        item = recall_at_rate(sided(rng.normal(2, 1, 20).tolist(), rng.normal(0, 1, 200).tolist()), 0.05)
        held += item.interval[0] <= 0.6388 <= item.interval[1]  # P(N(2, 1) > 1.645)
    assert held >= 95


def test_versions_that_differ_alike_in_a_few_groups_are_no_more_certain_than_heads_in_a_row():
    old = [ScoredItem(f"t{n}", n < 4, n < 4, float(n < 4)) for n in range(5)]
    told = compare_versions(old, [replace(item, marked=False, score=0.0) for item in old])
    assert told.p == 0.125
    assert told.recall.value == -1.0
    assert told.recall.p == 0.125  # four targets: 2 / 2 ** 4
    assert (told.recall.low, told.recall.high) == pytest.approx((-1.0, -wilson(4, 4)[0]))
    # The only other thing was never marked: that says next to nothing of false alarms.
    alarms, most = told.false_alarms, wilson(0, 1)[1]
    assert (alarms.low, alarms.high) == pytest.approx((-most, most))
    assert told.auroc.p >= 1 / 16
    assert told.auroc.high > -0.4


@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_is_the_exact_binomial_test(better, worse):
    want = binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert sign_flip_test([1] * better + [-1] * worse) == pytest.approx(want)


def test_a_better_version_is_seen_in_pairs_and_the_same_one_is_not():
    old = items(300)
    new = [replace(item, marked=item.target or item.marked, score=float(item.target)) for item in old]
    told = compare_versions(old, new)
    assert told.worse == 0
    assert told.p < 0.001
    assert told.recall.low > 0.2
    assert told.false_alarms.value == 0
    assert told.auroc.value > 0.1
    same = compare_versions(old, old)
    assert (same.better, same.worse, same.p) == (0, 0, 1.0)
    assert same.precision.value == 0
    assert same.precision.p == 1


def test_versions_that_differ_at_random_are_seldom_called_different(monkeypatch):
    """Whole groups change together, which a test of single things would take for more than it is."""
    monkeypatch.setattr(versions, "RESAMPLES", 10)  # intervals are not asked for here
    rng, low, single = np.random.default_rng(5), 0, 0
    for run in range(100):
        old = items(150, seed=run, group=5)
        turned = rng.random(30) < 0.5
        new = [replace(item, marked=bool(turned[n // 5]) != item.target) for n, item in enumerate(old)]
        old = [replace(item, marked=item.target != bool(rng.random() < 0.5)) for item in old]
        low += compare_versions(old, new).p < 0.05
        single += (
            compare_versions(
                [replace(item, group="") for item in old], [replace(item, group="") for item in new]
            ).p
            < 0.05
        )
    assert low <= 11
    assert single > low


def test_versions_on_other_things_are_refused():
    with pytest.raises(ValueError, match="same items"):
        compare_versions(items(10), items(11))


def test_the_horizon_is_of_histories_that_were_quiet_before():
    early = TargetTimeline(target=10, detections=((6, 12),), begins=4)
    on_already = TargetTimeline(target=10, detections=((2, None),), begins=4)
    silent = TargetTimeline(target=10)
    late = TargetTimeline(target=10, detections=((11, None),))
    told = lead_time([early, on_already, silent, late])
    assert (told.of, told.count, told.median, told.left_out) == (3, 1, 4, 1)


def test_recovery_is_from_the_end_of_the_target_to_the_end_of_the_detection():
    soon = TargetTimeline(target=10, over=12, detections=((9, 13),))
    stuck = TargetTimeline(target=10, over=12, detections=((9, None),))
    before = TargetTimeline(target=10, over=12, detections=((9, 11),))
    told = recovery_time([soon, stuck, before, TargetTimeline(target=1)])
    assert (told.of, told.count, told.median, told.left_out) == (2, 1, 1, 1)


def test_a_test_of_very_many_groups_is_that_of_a_normal_law(monkeypatch):
    many = [1] * 5300 + [-1] * 5000
    exact = sign_flip_test(many)
    monkeypatch.setattr(versions, "EXACT_LIMIT", 100)
    assert sign_flip_test(many) == pytest.approx(exact, rel=0.05)


def test_draws_do_not_depend_on_how_many_are_made_at_a_time(monkeypatch):
    old = items(60)
    new = [replace(item, marked=not item.marked) for item in old[:7]] + old[7:]
    whole = compare_versions(old, new).recall
    monkeypatch.setattr(versions, "CHUNK", 60 * 300)
    assert compare_versions(old, new).recall == whole


def test_a_rate_over_time_is_of_people_and_not_of_what_they_do():
    """One person with all the openings says less about others than many people with one each."""
    alike = over_time([1] * 10, [2.0] * 10)
    item = over_time([10, *[0] * 9], [2.0] * 10)
    assert alike == (0.5, (0.5, 0.5))
    assert item[0] == 0.5
    assert item[1][0] == 0.0
    assert item[1][1] > 1
