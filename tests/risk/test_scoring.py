"""The promises of a risk: whatever is combined with whatever, they hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ethogram.models import SEVERITIES
from ethogram.risk.assessment import assess
from ethogram.risk.scoring import DAY as DAY_US
from ethogram.risk.scoring import (
    RiskContext,
    RiskWeights,
    combinations_by_part,
    compose,
    with_dependents,
)
from ethogram.stats import chance, either, multiplied, odds
from risk_makers import DAY, NOW, detection, detections, verdict, verdicts

WEIGHTS = RiskWeights(multipliers={"both": 2.0, "trio": 1.5}, half_lives={"drift": DAY_US})
MANY = settings(max_examples=settings.default.max_examples // 2, deadline=None)


def value(found, known=None, as_of=NOW):
    return compose(found, as_of=as_of, weights=WEIGHTS, context=known).value


@st.composite
def known_cases(draw):
    found = draw(detections())
    return found, RiskContext(tuple(draw(verdicts([item.id for item in found]))))


@MANY
@given(known_cases(), st.data())
def test_a_new_detection_never_lowers_it(case, data):
    found, known = case
    if found:
        taken = data.draw(st.integers(0, len(found) - 1))
        fewer = found[:taken] + found[taken + 1 :]
        assert value(fewer, known) <= value(found, known)


@MANY
@given(known_cases(), st.data())
def test_a_false_alarm_never_raises_it(case, data):
    found, known = case
    if found:
        of = data.draw(st.sampled_from([item.id for item in found]))
        by = data.draw(st.sampled_from(["ann", "bo", "new"]))
        said = verdict("false_alarm", of, by, data.draw(st.floats(0, 300)))
        assert value(found, replace(known, verdicts=(*known.verdicts, said))) <= value(found, known)


@MANY
@given(known_cases(), st.data())
def test_order_does_not_matter(case, data):
    found, known = case
    whole = compose(found, as_of=NOW, weights=WEIGHTS, context=known)
    assert compose(data.draw(st.permutations(found)), as_of=NOW, weights=WEIGHTS, context=known) == whole


@MANY
@given(known_cases(), st.floats(0, 1000))
def test_it_falls_with_time(case, days):
    found, known = case
    assert 0 <= value(found, known, NOW + days * DAY) <= value(found, known) <= 1


@MANY
@given(known_cases(), st.floats(0, 20), st.floats(0, 20))
def test_it_falls_with_time_also_while_an_episode_goes_on(case, first, second):
    found, known = case
    on = [replace(item, last_at=NOW + 10 * DAY) for item in found]
    early, late = sorted((first, second))
    assert value(on, known, NOW + late * DAY) <= value(on, known, NOW + early * DAY)


@MANY
@given(known_cases(), st.data())
def test_closing_changes_nothing_and_a_graver_or_surer_or_longer_episode_never_lowers_it(case, data):
    found, known = case
    if found:
        place = data.draw(st.integers(0, len(found) - 1))
        item, now = found[place], value(found, known)

        def instead(**changes):
            return value([*found[:place], replace(item, **changes), *found[place + 1 :]], known)

        assert instead(state="closed", closed_at=NOW) == now
        assert instead(severity=SEVERITIES[min(3, SEVERITIES.index(item.severity) + 1)]) >= now
        assert instead(confidence=min(1.0, item.confidence + 0.1)) >= now
        assert instead(last_at=NOW) >= now


@MANY
@given(known_cases())
def test_what_if_says_what_leaving_it_out_would_and_never_more(case):
    found, known = case
    now = value(found, known)
    for item in assess(found, as_of=NOW, weights=WEIGHTS, context=known).without:
        assert item.value <= now
        said = tuple(verdict("false_alarm", item.detection, f"judge{n}") for n in range(9))
        # A detection that everybody calls a false alarm is as good as not there.
        assert value(found, replace(known, verdicts=(*known.verdicts, *said))) == item.value
        gone = with_dependents(item.detection, combinations_by_part(found))
        assert value([other for other in found if other.id not in gone], known) == item.value


@MANY
@given(st.lists(st.floats(0, 1), max_size=12), st.lists(st.floats(1, 4), max_size=3))
def test_chances_are_put_together_as_fractions_would_be(parts, factors):
    left = prod((1 - Fraction(part) for part in parts), start=Fraction(1))
    assert either(parts) == pytest.approx(float(1 - left), abs=1e-12)
    raised = prod(map(Fraction, factors), start=1 - left)
    expected = pytest.approx(float(raised / (raised + left)), abs=1e-12)
    assert chance(multiplied(odds(parts), factors)) == expected


def plainly(found, as_of):
    """The formula as it stands in the documentation, for detections that nobody judged."""
    weights = {"low": 0.1, "medium": 0.3, "high": 0.6, "critical": 0.9}
    multipliers = {"both": 2.0, "trio": 1.5}
    causes, factors, least = {}, {}, 0.0
    for item in found:
        cause, days = item.cause or item.pattern, (as_of - item.detected_at) / DAY
        left = 2 ** (-days / (1 if cause == "drift" else 7)) * item.confidence
        causes[cause] = max(causes.get(cause, 0.0), weights[item.severity] * left)
        more = 1 + (multipliers.get(item.pattern, 1.0) - 1) * left
        factors[item.pattern] = max(factors.get(item.pattern, 1.0), more)
        if item.severity == "critical":
            least = max(least, 0.5 * item.confidence * 2 ** (-days / 30))
    none = prod(1 - value for value in causes.values())
    for_ = (1 - none) * prod(factors.values())
    return max(for_ / (for_ + none), least)


@MANY
@given(detections(), st.floats(0, 60))
def test_it_is_what_the_formula_says(found, days):
    as_of = NOW + days * DAY
    assert value(found, as_of=as_of) == pytest.approx(plainly(found, as_of), abs=2e-6)


def test_twice_the_same_cause_counts_once_and_two_causes_add_up():
    same = [detection("a", cause="stuck"), detection("b", cause="stuck", pattern="errors")]
    assert value(same) == 0.3
    assert value([same[0], detection("b", cause="drift")]) == pytest.approx(1 - 0.7 * 0.7)
    assert value([detection("a", confidence=0.5), detection("a", confidence=0.5)]) == 0.3


def test_half_a_life_later_it_is_half():
    assert value([detection("a", cause="stuck")], as_of=NOW + 7 * DAY) == 0.15
    assert value([detection("a", cause="drift")], as_of=NOW + DAY) == 0.15


def test_a_combination_multiplies_the_odds_and_falls_with_a_part():
    parts = [detection("a", cause="stuck", severity="medium", confidence=1.0)]
    both = detection("c", pattern="both", cause="stuck", severity="low", confidence=1.0, parts=("a",))
    assert value([*parts, both]) == pytest.approx(2 * 0.3 / (0.7 + 0.6), abs=1e-6)
    told = assess([*parts, both], as_of=NOW, weights=WEIGHTS).without
    without = {item.detection: item.value for item in told}
    assert without == {"a": 0.0, "c": 0.3}


def test_after_a_critical_one_a_floor_stays_and_decays():
    critical = [detection("a", severity="critical", confidence=1.0)]
    assert value(critical) == 0.9
    month = value(critical, as_of=NOW + 30 * DAY)
    assert month == 0.25
    assert 0 < value(critical, as_of=NOW + 365 * DAY) < 0.001


def test_what_is_not_yet_known_or_only_in_shadow_does_not_count():
    assert value([detection("a", days_ago=-1)]) == 0
    assert value([detection("a", status="shadow"), detection("b", state="withdrawn")]) == 0


def test_what_judges_say_counts_whatever_moment_is_asked_about():
    # A judgement of today about something of last month is as true of last month.
    found, said = [detection("a")], RiskContext((verdict("false_alarm", "a", days_ago=-100),))
    assert value(found, said) == 0
    assert value(found, said, NOW + timedelta(days=200)) == 0


def test_a_share_says_how_sure_its_detection_counts():
    found = [detection("a", cause="stuck"), detection("b", cause="drift")]
    known = RiskContext((verdict("confirmed", "a"),), calibrate=lambda item: 0.2)
    told = compose(found, as_of=NOW, context=known)
    assert [(cause.name, cause.probability) for cause in told.causes] == [("stuck", 1.0), ("drift", 0.2)]
    assert told.causes[1].to_dict()["probability"] == 0.2


def test_a_tie_of_judges_leaves_it_as_the_pattern_says():
    found = [detection("a", cause="stuck")]
    said = [verdict("confirmed", "a", "ann"), verdict("false_alarm", "a", "bo")]
    assert value(found, RiskContext((said[0],))) == 0.6
    assert value(found, RiskContext(tuple(said))) == 0.3
    assert value(found, RiskContext((*said, verdict("false_alarm", "a", "cy")))) == 0


def test_what_judges_made_of_it_stays_when_their_verdicts_are_gone():
    found = [detection("a", cause="stuck")]
    assert value(found, RiskContext(settled={"a": -1})) == 0
    assert value(found, RiskContext(settled={"a": 1})) == 0.6
    assert value(found, RiskContext((verdict("confirmed", "a"),), settled={"a": -1})) == 0.6


def test_without_times_nothing_fades():
    found = [detection("a", days_ago=500, source="log")]
    assert value(found, RiskContext(untimed=frozenset({"log"}))) == 0.3


def test_a_running_episode_is_as_old_as_its_last_event():
    found = [detection("a", days_ago=10, state="opened", closed_at=None, last_at=NOW - timedelta(days=7))]
    assert value(found) == 0.15


def test_combinations_that_are_made_of_each_other_end_somewhere():
    # No library makes such; a file that was tampered with may.
    found = [detection("a", pattern="both", parts=("b",)), detection("b", pattern="trio", parts=("a", "b"))]
    assert value(found) > 0
    assert value(found, RiskContext((verdict("false_alarm", "a"),))) == 0


def test_the_mode_is_the_severity_of_which_one_alone_would_make_as_much():
    told = compose([detection("a", severity="high", confidence=1.0)], as_of=NOW)
    assert (told.value, told.mode) == (0.6, "high")
    assert told.risk("ann", source="forum").to_dict() == {
        "record": "risk", "source": "forum", "subject": "ann", "thread": None,
        "as_of": "2026-06-01T00:00:00Z", "value": 0.6, "mode": "high", "detections": ["a"],
    }  # fmt: skip
    assert compose([], as_of=NOW).mode == ""


@pytest.mark.parametrize(
    "wrong",
    [{"multipliers": {"both": 0.5}}, {"weights": {"low": 0.5, "medium": 0.3, "high": 0.6, "critical": 0.9}},
     {"half_life": 0}, {"floor": 1.5}],
)  # fmt: skip
def test_numbers_that_would_break_a_promise_are_refused(wrong):
    with pytest.raises(ValueError):
        RiskWeights(**wrong)
