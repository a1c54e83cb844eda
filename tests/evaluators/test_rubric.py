"""The rubric, the definitions, the fence and the bounds of a prompt."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram.errors import BadUsage
from ethogram.evaluators import rubric
from ethogram.evaluators.prompt import (
    LONGEST_NAME,
    MOST_MESSAGES,
    MOST_TEXT,
    MOST_THREAD,
    evaluation_prompt,
    fenced,
    shown_name,
    system_prompt,
)
from ethogram.evaluators.response_parser import check_answer
from ethogram.evaluators.rubric import LEVELS, answer_schema, load_rubric, rubric_version
from ethogram.language.yaml_source import plain, read_yaml_file
from ethogram.lexicon import scan
from ethogram.models import TRAITS
from ethogram.patterns.catalogue import indicator_catalogue

FENCE = "5f0c1d2e3b4a6978"
NOTHING = scan("hello")


# --- definitions and anchors ----------------------------------------------------------------------


def test_every_indicator_is_defined_in_one_short_line_of_its_own():
    definitions = [item.definition for item in indicator_catalogue().values()]
    assert len(definitions) == len(set(definitions)) == 214
    assert [item for item in definitions if not 8 <= len(item.split()) <= 20 or len(item) > 140] == []
    assert [
        item for item in definitions if not item[0].isupper() or not item.endswith(".") or "\n" in item
    ] == []


def test_every_trait_has_five_anchors_that_no_other_has():
    found = load_rubric()
    assert tuple(found) == TRAITS
    lines = [line for item in found.values() for line in (item.means, item.is_not, *item.anchors)]
    assert len(lines) == len(set(lines)) == 12 * 7
    assert all(len(line) <= 140 and "\n" not in line and line.endswith(".") for line in lines)


def test_the_anchors_stand_at_the_levels_of_the_rubric():
    content = plain(read_yaml_file(rubric.FILE))
    assert all(tuple(map(float, trait["anchors"])) == LEVELS for trait in content.values())


# --- the system prompt ----------------------------------------------------------------------------


def test_everything_of_the_rubric_reaches_the_prompt():
    said = system_prompt()
    for item in load_rubric().values():
        assert all(line in said for line in (item.means, item.is_not, *item.anchors))
    for sign in indicator_catalogue().values():
        assert f"- {sign.id}: {sign.definition}\n" in said
    assert "Do not say which pattern" in said


def test_the_version_changes_with_anything_that_is_said(monkeypatch):
    before = rubric_version()
    assert len(before) == 8
    assert int(before, 16) >= 0
    monkeypatch.setattr(rubric, "_SYSTEM", rubric._SYSTEM + " ")
    system_prompt.cache_clear()
    rubric_version.cache_clear()
    try:
        assert rubric_version() != before
    finally:
        monkeypatch.undo()
        system_prompt.cache_clear()
        rubric_version.cache_clear()
    assert rubric_version() == before


# --- the form of an answer ------------------------------------------------------------------------


@pytest.mark.parametrize("ranges", [True, False])
def test_what_the_schema_allows_can_be_used(ranges):
    schema = answer_schema(ranges=ranges)
    jsonschema.Draft202012Validator.check_schema(schema)
    entry = {"id": "MAN_URGENCY", "confidence": 0.5, "quote": "now"}
    answer = {"fence": FENCE, "indicators": [entry], "traits": dict.fromkeys(TRAITS, 0.5)}
    jsonschema.validate(answer, schema)
    assert check_answer(json.dumps(answer), "act now", FENCE).indicators
    for wrong in (
        {**answer, "note": 1},
        {**answer, "traits": {}},
        {**answer, "indicators": [{**entry, "id": "X"}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_strict_modes_are_given_nothing_that_they_refuse():
    said = json.dumps(answer_schema(ranges=False))
    assert not any(f'"{word}"' in said for word in ("minimum", "maximum", "minLength", "maxItems"))
    assert "minimum" in json.dumps(answer_schema())


# --- the fence ------------------------------------------------------------------------------------


@given(
    st.text(alphabet=st.characters(), max_size=60) | st.text("ab-# \n\r\v\f\x85\u2028" + FENCE, max_size=80)
)
def test_no_text_gets_out_of_its_fence(text):
    lines = fenced(text, FENCE).splitlines()
    assert lines[0] == lines[-1] == f"--- {FENCE}"
    assert all(line.startswith("  ") and FENCE not in line.lower() for line in lines[1:-1])
    fenced(text, FENCE).encode("utf-8")


@given(st.text(max_size=200))
def test_a_name_is_one_line_short_and_visible(who):
    shown = shown_name(who, FENCE)
    assert len(shown.splitlines()) == 1
    assert len(json.loads(shown)) <= LONGEST_NAME + 3
    assert shown.isprintable() or any(item.isspace() for item in shown)
    shown.encode("utf-8")


def test_marks_that_hide_or_turn_text_are_written_out():
    assert shown_name("a\u202eb\u200bc\x1b[0m", FENCE) == '"a\\u202eb\\u200bc\\u001b[0m"'


def test_the_fence_word_is_given_by_the_caller_or_made_of_the_text():
    assert f"--- {FENCE}" in evaluation_prompt("hi", NOTHING, "focused", boundary=FENCE)[1]
    assert evaluation_prompt("hi", NOTHING, "focused") == evaluation_prompt("hi", NOTHING, "focused")
    assert FENCE not in system_prompt()
    for word in ("", "abc", "a b c d", "----", "x" * 65, "a\nbcd"):
        if word:
            with pytest.raises(BadUsage):
                evaluation_prompt("hi", NOTHING, "focused", boundary=word)


# --- its bounds -----------------------------------------------------------------------------------


def thread(count: int, text: str) -> list:
    return [(f"s{k}", f"{k} {text}", NOTHING) for k in range(count)]


def test_the_first_and_the_newest_messages_are_shown_and_the_rest_counted():
    _, user = evaluation_prompt("hi", NOTHING, "deep_with_context", thread(100, "hello"), boundary=FENCE)
    assert f"{MOST_MESSAGES} messages, oldest first; 60 after the first 10 left out" in user
    shown = [k for k in range(100) if f"  {k} hello" in user]
    assert shown == [*range(10), *range(70, 100)]


def test_a_prompt_is_bounded_whatever_it_is_made_of():
    long = "act now " * 5_000
    _, user = evaluation_prompt(
        long, scan(long), "deep_with_context", thread(500, long), {"note": long}, boundary=FENCE
    )
    assert len(user) < MOST_THREAD + 2 * MOST_TEXT + 3_000
    assert "2 messages, oldest first; 498 before them left out" in user
    lines = evaluation_prompt("\n" * 50_000, NOTHING, "focused", boundary=FENCE)[1]
    assert len(lines) < 4 * MOST_TEXT


def test_the_page_of_the_rubric_shows_every_anchor():
    page = (Path(__file__).resolve().parents[2] / "docs" / "rubric.md").read_text("utf-8")
    for item in load_rubric().values():
        rows = [f"| {level:g} | {line} |" for level, line in zip(rubric.LEVELS, item.anchors, strict=True)]
        assert "\n".join(rows) in page, "run: python docs/generate.py"
        assert f"\n### {item.name}\n\n{item.means} It is not: {item.is_not}\n" in page
