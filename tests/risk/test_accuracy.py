import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram.risk.accuracy import (
    accuracy,
    agreement,
    cohen,
    fleiss,
    recall_at_least,
    recall_at_most,
    second_look,
)
from ethogram.risk.verdicts import Counts, Slot, consensus_by_item, count_verdicts
from risk_makers import detection, verdict


def test_a_later_verdict_of_the_same_judge_replaces_and_the_earlier_stays():
    said = [verdict("confirmed", days_ago=2), verdict("false_alarm", days_ago=1)]
    assert consensus_by_item(said)["detection", "d1"].verdict == "false_alarm"
    assert consensus_by_item(said[::-1])["detection", "d1"].verdict == "false_alarm"


def test_two_judges_who_differ_are_a_dispute_and_a_third_decides():
    said = [verdict("confirmed", by="ann"), verdict("false_alarm", by="bo")]
    assert count_verdicts(said) == {Slot("loop", "v1"): Counts(disputed=1)}
    assert sum(count_verdicts([*said, verdict("confirmed", by="cy")]).values(), Counts()) == Counts(
        confirmed=1
    )


def test_counts_are_by_version_source_and_month_of_the_detection():
    found = [detection("d1", days_ago=40, source="mail"), detection("d2", source="chat")]
    said = [
        verdict(of="d1"),
        verdict("false_alarm", of="d2", version="v2"),
        verdict("missed", None, subject="bo"),
    ]
    counts = count_verdicts(said, found)
    assert counts[Slot("loop", "v1", "mail", "2026-04", 50)] == Counts(confirmed=1)
    assert counts[Slot("loop", "v2", "chat", "2026-06", 50)] == Counts(false_alarm=1)
    assert [item.version for item in accuracy(counts, "loop")] == ["v1", "v2"]
    untimed = count_verdicts(said, found, untimed={"mail"})
    assert untimed[Slot("loop", "v1", "mail", "", 50)] == Counts(confirmed=1)


def test_below_the_minimum_nothing_is_said():
    few = accuracy(count_verdicts([verdict(of=str(n)) for n in range(19)]), "loop")[0].to_dict()
    assert few["insufficient"] == {"have": 19, "need": 20}
    assert few["precision"] is None
    said = [verdict("confirmed" if n < 15 else "false_alarm", of=str(n)) for n in range(20)]
    enough = accuracy(count_verdicts(said), "loop")[0].to_dict()
    assert enough["insufficient"] is None
    assert enough["precision"] == 0.75
    assert enough["precision_low"] == pytest.approx(0.531, abs=1e-3)


def test_known_misses_bound_recall_from_above():
    counts = Counts(confirmed=8, false_alarm=3, missed=2)
    assert recall_at_most(counts) == 0.8
    assert recall_at_most(counts, unjudged=10) == 0.9
    assert recall_at_least(counts, 100) is not None


def test_a_random_look_at_silences_bounds_recall_from_below():
    rng, held = random.Random(5), 0
    for _ in range(200):
        # 1000 silences of which 30 were misses; 100 are looked at; 70 of 70 detections confirmed: recall .7
        missed = sum(rng.sample([1] * 30 + [0] * 970, 100))
        least = recall_at_least(Counts(confirmed=70, missed=missed, correct_silence=100 - missed), 1000)
        held += least <= 0.7
    assert held >= 195


def test_kappa_is_one_for_agreement_and_nothing_where_there_is_no_choice():
    assert cohen([(True, True), (False, False)]).value == 1
    assert cohen([(True, True)] * 9).value is None
    assert fleiss([[True, False, True]] * 3 + [[False] * 3] * 3).value == pytest.approx(0.25)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_kappa_lies_in_its_interval_and_does_not_depend_on_which_judge_is_first(pairs):
    item, other = cohen(pairs), cohen([(b, a) for a, b in pairs])
    assert item == other
    if item.value is not None:
        assert item.low - 1e-12 <= item.value <= item.high + 1e-12


@pytest.mark.parametrize(("n", "wrong"), [(20, 0.05), (40, 0.2), (80, 0.35)])
def test_the_interval_of_kappa_holds_the_truth(n, wrong):
    rng, held, runs = random.Random(n), 0, 400
    true = (1 - 2 * wrong) ** 2  # two judges with the same share of errors, half of the items true
    for _ in range(runs):
        truth = [rng.random() < 0.5 for _ in range(n)]
        pairs = [(item != (rng.random() < wrong), item != (rng.random() < wrong)) for item in truth]
        found = cohen(pairs)
        held += found.low <= true <= found.high
    assert held / runs >= 0.92


def test_a_second_look_is_drawn_by_id_alone():
    said = [verdict("confirmed", of=f"d{n}", by="ann") for n in range(500)]
    asked = second_look(said, "bo", share=0.2)
    assert 70 <= len(asked) <= 130
    others = [replace(item, verdict="false_alarm") for item in said]
    assert second_look(others, "bo", share=0.2) == asked
    done = [*said, verdict("confirmed", of=asked[0], by="bo")]
    assert second_look(done, "bo", share=0.2) == asked[1:]
    assert second_look(said, "ann") == []


def test_agreement_is_told_for_all_and_for_each_pair():
    said = [verdict("confirmed", of=str(n), by="ann") for n in range(10)]
    said += [verdict("false_alarm" if n % 2 else "confirmed", of=str(n), by="bo") for n in range(10)]
    found = agreement(said)
    assert found.judges == {"ann": 10, "bo": 10}
    assert found.pairs["ann", "bo"].observed == 0.5
    assert found.pairs["ann", "bo"].value == 0


def test_agreement_beyond_chance_is_never_below_minus_one():
    for kappa in (fleiss([[True, False]]), cohen([(True, False), (False, True)])):
        assert kappa.value == kappa.low == -1
        assert kappa.low <= kappa.value <= kappa.high <= 1
