"""Scores put together: weighed over what is present, and a crisis said in words is never averaged away."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram.errors import BadUsage
from ethogram.models.constants import FUSION_WEIGHTS
from ethogram.usage.finding import Finding
from ethogram.usage.fusion import CAUSES, behavioural_score, fuse

share = st.floats(0, 1)
scores = st.dictionaries(st.sampled_from(sorted(FUSION_WEIGHTS)), st.none() | share)


@pytest.mark.parametrize(
    ("given_scores", "right"),
    [
        ({"text": 1, "voice": 1, "behaviour": 1, "image": 1}, 1.0),
        ({"text": 0.5}, 0.5),
        ({"text": 0.6, "voice": 0.0}, 0.6 * 0.40 / 0.65),
        ({"text": 0.8, "behaviour": 0.2}, (0.8 * 0.4 + 0.2 * 0.2) / 0.6),
        ({"text": 0.8, "behaviour": None}, 0.8),
        ({"text": 0.1, "voice": 0.2, "behaviour": 0.3, "image": 0.4}, 0.04 + 0.05 + 0.06 + 0.06),
    ],
)
def test_scores_are_weighed_over_what_is_present(given_scores, right):
    assert fuse(given_scores).score == pytest.approx(right, abs=1e-6)


def test_nothing_known_is_not_nothing_wrong():
    assert fuse({}).score is None
    assert fuse({"text": None, "behaviour": None}).score is None
    assert fuse({}).sentence == "Nothing is known."


@given(scores, share)
def test_a_statement_of_crisis_is_never_averaged_away(content, sure):
    found = fuse(content, explicit_crisis=sure)
    if sure >= 0.5:
        assert found.is_crisis
        assert found.score >= 0.9
    elif sure > 1e-6:
        assert found.score >= sure - 1e-6


@given(scores)
def test_weights_add_up_to_one_and_the_score_lies_between_its_parts(content):
    found = fuse(content)
    present = [value for value in content.values() if value is not None]
    if not present:
        assert found.score is None
        return
    assert math.isclose(sum(found.weights.values()), 1)
    assert min(present) - 1e-6 <= found.score <= max(present) + 1e-6
    assert set(found.absent) | set(found.weights) == set(FUSION_WEIGHTS)


@given(scores, st.sampled_from(sorted(FUSION_WEIGHTS)), share, share)
def test_a_higher_score_never_lowers_the_whole(content, name, one, other):
    low, high = sorted((one, other))
    assert fuse({**content, name: low}).score <= fuse({**content, name: high}).score


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"smell": 0.4}, "no weight for smell"),
        ({"text": 1.2}, "the score text is 1.2: expected a number from 0 to 1"),
        ({"text": math.nan}, "expected a number from 0 to 1"),
    ],
)
def test_bad_scores_are_told(bad, said):
    with pytest.raises(BadUsage, match=said):
        fuse(bad)


def test_a_bad_weight_is_told():
    with pytest.raises(BadUsage, match="the weight of text is -1"):
        fuse({"text": 0.5}, weights={"text": -1})
    with pytest.raises(BadUsage, match="explicit_crisis is 2"):
        fuse({"text": 0.5}, explicit_crisis=2.0)


def finding(name, severity, strength):
    return Finding(name, "ok", 1.0, severity, strength, "said")


severities = st.sampled_from(["none", "low", "medium"])
findings = st.lists(
    st.builds(finding, st.sampled_from(sorted(CAUSES)), severities, share), unique_by=lambda build: build.name
)


def test_all_at_full_is_one_and_nothing_is_nought():
    assert behavioural_score([finding(name, "medium", 1.0) for name in CAUSES])[0] == 1.0
    assert behavioural_score([finding(name, "none", 1.0) for name in CAUSES]) == (0.0, {})


def test_one_cause_counts_once():
    both = behavioural_score([finding("drop", "low", 1.0), finding("withdrawal", "medium", 1.0)])
    assert both == behavioural_score([finding("withdrawal", "medium", 1.0)])


@given(findings)
def test_the_score_is_a_share_and_grows_with_evidence(found):
    whole, parts = behavioural_score(found)
    assert 0 <= whole <= 1
    assert set(parts) <= {cause for cause, _ in CAUSES.values()}
    for i in range(len(found)):
        assert behavioural_score(found[:i] + found[i + 1 :])[0] <= whole


@given(findings)
def test_the_order_of_signals_does_not_matter(found):
    assert behavioural_score(found)[0] == behavioural_score(found[::-1])[0]
