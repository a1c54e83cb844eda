"""check_answer: what of a model's answer can be used, whatever it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram.evaluators import response_parser
from ethogram.evaluators.prompt import MOST_TEXT
from ethogram.evaluators.response_parser import MOST_BYTES, check_answer, even
from ethogram.evaluators.rubric import MOST_INDICATORS
from ethogram.models import TRAITS
from ethogram.patterns.catalogue import indicator_catalogue

REASONS = {
    getattr(response_parser, name)
    for name in (
        "EXTRA", "SHAPELESS", "UNKNOWN", "CONFIDENCE", "NO_QUOTE", "NOT_QUOTED", "TWICE", "TOO_MANY",
    )
}  # fmt: skip
"""Why a part of an answer is dropped."""

FENCE = "5f0c1d2e"
TEXT = "Well:  “Act\n  now”, it's the last day. Act now!"
IDS = tuple(indicator_catalogue())


def sign(
    quote: Any = "last day", name: Any = "MAN_URGENCY", confidence: Any = 0.9, **more: Any
) -> dict[str, Any]:
    return {"id": name, "confidence": confidence, "quote": quote, **more}


def response_parser(*indicators: Any, **more: Any) -> dict[str, Any]:
    return {
        "fence": FENCE,
        "traits": dict.fromkeys(TRAITS, 0.25),
        "indicators": list(indicators),
        **more,
    }


def dropped(*indicators: Any, **more: Any) -> dict[str, int]:
    found = check_answer(response_parser(*indicators, **more), TEXT, FENCE)
    assert found.fault is None
    return dict(found.dropped)


# --- what is usable ------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", ["{}", " \n{}\n", "```json\n{}\n```", "```\n{}\n```\n"])
def test_one_object_is_read_with_or_without_a_code_block(wrap):
    found = check_answer(wrap.replace("{}", json.dumps(response_parser(sign()))), TEXT, FENCE)
    assert found.fault is None
    assert list(found.traits) == list(TRAITS)
    assert [
        (indicator.id, indicator.confidence, TEXT[indicator.start : indicator.end])
        for indicator in found.indicators
    ] == [("MAN_URGENCY", 0.9, "last day")]
    assert not found.dropped


def test_without_a_boundary_the_fence_is_not_looked_at():
    assert check_answer(response_parser(), TEXT).fault is None


def test_whole_numbers_are_numbers_and_there_is_no_negative_zero():
    traits = dict.fromkeys(TRAITS, 0) | {"virtue": 1, "goodwill": -0.0}
    found = check_answer(response_parser(traits=traits), TEXT, FENCE)
    assert (found.traits["virtue"], str(found.traits["goodwill"])) == (1.0, "0.0")


@pytest.mark.parametrize("quote", ['"Act now"', "Act now", "“Act\tnow”", " it’s the  last\nday "])
def test_a_quote_may_differ_in_white_space_and_in_its_quotation_marks(quote):
    [item] = check_answer(response_parser(sign(quote)), TEXT, FENCE).indicators
    assert even(TEXT[item.start : item.end]) == even(quote).strip()


# --- what makes the whole of it useless -----------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("", "not one JSON object"),
        ("I will not score this.", "not one JSON object"),
        ("[]", "not one JSON object"),
        (json.dumps(response_parser()) + json.dumps(response_parser()), "not one JSON object"),
        ("Sure! " + json.dumps(response_parser()), "not one JSON object"),
        ("```python\n" + json.dumps(response_parser()) + "\n```", "not one JSON object"),
        ("[" * 50_000, "not one JSON object"),
        # Python 3.14 reads it, and finds it is for another message.
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "the answer is "),
        ('{"fence": 1, "fence": 2}', "given twice"),
        (json.dumps(response_parser()).replace("0.25", "NaN", 1), "not one JSON object"),
        (json.dumps(response_parser()).replace("0.25", "Infinity", 1), "not one JSON object"),
        (json.dumps(response_parser(note="x" * MOST_BYTES)), "too long"),
        (None, "not one JSON object"),
        (response_parser(fence="another"), "for another message"),
        ({key: value for key, value in response_parser().items() if key != "fence"}, "for another message"),
        (response_parser(traits=[0.5] * 12), "traits is not an object"),
        (response_parser(traits={}), "missing: virtue, goodwill"),
        (response_parser(traits=dict.fromkeys(TRAITS, 0.5) | {"love_bombing": 1}), "no traits"),
        (response_parser(traits=dict.fromkeys(TRAITS, 0.5) | {"virtue": 1.01}), "0 to 1: virtue"),
        (response_parser(traits=dict.fromkeys(TRAITS, 0.5) | {"virtue": True}), "0 to 1: virtue"),
        (response_parser(traits=dict.fromkeys(TRAITS, 0.5) | {"virtue": "0.5"}), "0 to 1: virtue"),
        (response_parser(traits=dict.fromkeys(TRAITS, 0.5) | {"virtue": None}), "0 to 1: virtue"),
        (response_parser(traits=dict.fromkeys(TRAITS, 0.5) | {"virtue": float("nan")}), "0 to 1: virtue"),
        (response_parser(indicators=None), "indicators is not a list"),
    ],
)
def test_an_answer_that_is_none_says_why(raw, why):
    found = check_answer(raw, TEXT, FENCE)
    assert why in (found.fault or "")
    assert (found.traits, found.indicators) == ({}, ())


def test_an_answer_that_contains_itself_ends():
    loop = response_parser()
    loop["note"] = [loop] * 100
    assert check_answer(loop, TEXT, FENCE).dropped == {"asked for by nobody": 1}


# --- what is dropped and counted -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("indicator", "why"),
    [
        ("MAN_URGENCY", "not an indicator"),
        (sign(name="MAN_NOTHING"), "unknown indicator"),
        (sign(name=["MAN_URGENCY"]), "unknown indicator"),
        (sign(name="love_bombing"), "unknown indicator"),
        (sign(confidence=1.5), "confidence not from 0 to 1"),
        (sign(confidence=True), "confidence not from 0 to 1"),
        (sign(quote=""), "no quote"),
        (sign(quote=" d "), "no quote"),
        (sign(quote=None), "no quote"),
        (sign(quote="LAST DAY"), "quote not in the text"),
        (sign(quote="last day, truly"), "quote not in the text"),
    ],
)
def test_an_indicator_that_does_not_hold_is_dropped_and_the_rest_kept(indicator, why):
    found = check_answer(response_parser(indicator, sign(name="EXP_FEAR")), TEXT, FENCE)
    assert [indicator.id for indicator in found.indicators] == ["EXP_FEAR"]
    assert found.dropped == {why: 1}
    assert why in REASONS


def test_keys_that_nobody_asked_for_are_dropped():
    text = "Stop gaslighting me, this is love bombing."
    found = check_answer(response_parser(sign("gaslighting"), note="love bombing", extra=1), text, FENCE)
    assert len(found.indicators) == 1
    assert found.dropped == {"asked for by nobody": 2}
    assert dropped(sign(pattern={"name": ["Love-Bombing"]})) == {"asked for by nobody": 1}


def test_of_an_indicator_given_twice_the_surer_one_is_kept():
    record = response_parser(
        sign("last", confidence=0.4), sign("day", confidence=0.8), sign("last", confidence=0.1)
    )
    found = check_answer(record, TEXT, FENCE)
    assert [
        (indicator.confidence, TEXT[indicator.start : indicator.end]) for indicator in found.indicators
    ] == [(0.8, "day")]
    assert found.dropped == {"given twice": 2}


def test_the_surest_forty_are_kept_in_the_order_given():
    many = [sign(name=name, confidence=k / 100) for k, name in enumerate(IDS[:50])]
    found = check_answer(response_parser(*many), TEXT, FENCE)
    assert [indicator.id for indicator in found.indicators] == list(IDS[10:50])
    assert found.dropped == {"too many": 50 - MOST_INDICATORS}


def test_what_the_evaluator_was_not_shown_it_cannot_quote():
    assert check_answer(response_parser(sign("the end")), "x" * MOST_TEXT + "the end", FENCE).dropped


# --- whatever comes ------------------------------------------------------------------------------

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from((FENCE, *IDS[:3])),
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
)
shares = st.floats(0, 1) | st.sampled_from((0, 1))
entries = st.fixed_dictionaries(
    {
        "id": st.sampled_from(IDS) | values,
        "confidence": shares | values,
        "quote": st.text(alphabet="abA \n\t“”\"'’", max_size=6) | values,
    }
)
answers = st.fixed_dictionaries(
    {
        "fence": st.just(FENCE) | values,
        "traits": st.fixed_dictionaries(dict.fromkeys(TRAITS, shares)) | values,
        "indicators": st.lists(entries | values, max_size=6) | values,
    },
    optional={"note": values},
)
messages = st.text(alphabet="abA \n\t“”\"'’", max_size=40)


def holds(raw: Any, text: str) -> None:
    found = check_answer(raw, text, FENCE)
    if found.fault is not None:
        assert (found.traits, found.indicators) == ({}, ())
        return
    assert list(found.traits) == list(TRAITS)
    assert all(type(value) is float and 0 <= value <= 1 for value in found.traits.values())
    assert set(found.dropped) <= REASONS
    assert len({indicator.id for indicator in found.indicators}) == len(found.indicators) <= MOST_INDICATORS
    quotes = {even(item["quote"]).strip() for item in raw["indicators"] if _has_quote(item)}
    for indicator in found.indicators:
        assert 0 <= indicator.start < indicator.end <= len(text)
        assert even(text[indicator.start : indicator.end]) in quotes
        assert 0 <= indicator.confidence <= 1


def _has_quote(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("quote"), str)


@given(raw=answers | values, text=messages)
def test_anything_is_either_at_fault_or_holds(raw, text):
    holds(raw, text)


@given(raw=answers | values, text=messages)
def test_the_same_written_as_json(raw, text):
    found = check_answer(json.dumps(raw), text, FENCE)
    assert found.fault is not None or found == check_answer(raw, text, FENCE)


@given(raw=st.text())
def test_any_text_is_taken(raw):
    assert check_answer(raw, "hello", FENCE).fault
