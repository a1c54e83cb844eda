"""An assessment: what was found, the risk it makes up, and what to do first."""

from __future__ import annotations

from ethogram.patterns.library import load_patterns
from ethogram.risk.assessment import DEFAULT_RECOMMENDATION, Intervention, ResponseHistory, assess
from ethogram.risk.scoring import RiskContext, RiskWeights, compose
from risk_makers import DAY, NOW, detection, verdict

LADDER = ("nudge", "remind", "ask")


def test_an_assessment_tells_single_patterns_combinations_risk_and_what_to_do():
    loop = detection("a", pattern="loop", cause="stuck", recommendation="Look at the cause.")
    drift = detection(
        "b", pattern="drift", cause="drift", severity="medium", recommendation="Say the goal again."
    )
    both = detection(
        "c", pattern="both", cause="stuck", parts=("a", "b"), severity="high", confidence=0.9,
        recommendation="Stop it.",
    )  # fmt: skip
    weights = RiskWeights(multipliers={"both": 2.0})
    told = assess([drift, both, loop], as_of=NOW, weights=weights)
    assert [pattern.id for pattern in told.individual_patterns] == ["b", "a"]
    assert [pattern.id for pattern in told.combined_patterns] == ["c"]
    assert told.overall_risk == compose([loop, drift, both], as_of=NOW, weights=weights).value
    # .6 x .9 = .54 is for now, .6 x .5 = .3 for soon, .3 x .5 = .15 for later.
    assert [(recommendation.pattern, recommendation.urgency) for recommendation in told.recommendations] == [
        ("both", "now"), ("loop", "soon"), ("drift", "later"),
    ]  # fmt: skip
    assert told.to_dict()["overall_risk"] == told.overall_risk


def test_what_was_told_early_gives_way_to_the_whole():
    early = detection("a", pattern="praise@3", cause="p", severity="low", recommendation="early")
    whole = detection("b", pattern="praise", cause="p", severity="high", recommendation="whole")
    told = assess([early, whole], as_of=NOW)
    assert [(recommendation.text, recommendation.detections) for recommendation in told.recommendations] == [
        ("whole", ("b", "a"))
    ]


def test_nothing_is_no_risk_and_a_pattern_that_says_nothing_is_to_be_looked_at():
    told = assess([], as_of=NOW)
    assert (told.overall_risk, told.mode, told.recommendations) == (0.0, "", ())
    assert assess([detection("a")], as_of=NOW).recommendations[0].text == DEFAULT_RECOMMENDATION


def test_every_pattern_that_ships_says_what_to_do():
    for file in load_patterns(any_status=True):
        assert all(pattern.recommendation for pattern in file.patterns), file.name


def test_what_is_long_past_is_only_watched():
    found = [detection("a", severity="critical", confidence=1.0)]
    assert assess(found, as_of=NOW).recommendations[0].urgency == "now"
    # A month later its own share is next to nothing, and the floor is .25; half a year later less than .01.
    assert assess(found, as_of=NOW + 30 * DAY).recommendations[0].urgency == "soon"
    assert assess(found, as_of=NOW + 180 * DAY).recommendations[0].urgency == "watch"


def test_what_is_urgent_comes_before_what_was_graver_and_is_faint():
    faint = detection("a", pattern="old", cause="old", severity="high", confidence=0.1)
    fresh = detection("b", pattern="new", cause="new", severity="medium", confidence=1.0)
    assert [
        recommendation.pattern for recommendation in assess([faint, fresh], as_of=NOW).recommendations
    ] == ["new", "old"]


def test_a_false_alarm_asks_for_nothing():
    told = assess([detection("a")], as_of=NOW, context=RiskContext((verdict("false_alarm", "a"),)))
    assert (told.overall_risk, told.individual_patterns, told.recommendations) == (0.0, (), ())


def test_the_ladder_tells_what_was_tried_and_what_comes_next():
    loop = detection("a", pattern="loop", recommendation="Another way.")
    path = detection("b", pattern="scope", severity="critical", cause="scope", recommendation="Ask.")
    responses = ResponseHistory(
        LADDER, {"loop": [Intervention("nudge", "went_on")]}, {"a": ["grep -r x", "ls"]}
    )
    told = {
        recommendation.pattern: recommendation
        for recommendation in assess([loop, path], as_of=NOW, responses=responses).recommendations
    }
    assert told["loop"].ladder is not None
    assert told["loop"].ladder.to_dict() == {
        "next": "remind", "rungs": ["nudge", "remind", "ask"],
        "given": [{"rung": "nudge", "effect": "went_on"}],
    }  # fmt: skip
    assert told["loop"].tried == ("grep -r x", "ls")
    # What is critical is asked about at once.
    assert told["scope"].ladder is not None
    assert told["scope"].ladder.next == "ask"
    assert assess([loop], as_of=NOW).recommendations[0].ladder is None
