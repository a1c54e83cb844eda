"""What is flagged, what is flagged and does not count, and what is not flagged."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ethogram
import ethogram.lexicon
from ethogram.lexicon.lexicon import load_lexicon
from ethogram.lexicon.matcher import forms
from ethogram.lexicon.normalize import fold
from ethogram.lexicon.scanner import LONGEST, scan_many

LINES = [line for category in load_lexicon().categories for line in category.phrases]
EVERY = [form.strip() for line in LINES for form in list(islice(forms(line), 400))[::97]]
ALIKE = dict(zip("aeopcyxi", "аеорсухі", strict=True))
PLAIN = "We met at the old house and then walked home."


def hits(text: str) -> list[tuple[str, str]]:
    """Category and phrase of what counts."""
    return [(flag.category, flag.phrase) for flag in ethogram.scan(text).flags if flag.counts]


# --- the counter-examples of the catalogue ------------------------------------------------------


@pytest.mark.parametrize(
    "word", ["couple", "coupling", "decoupling", "coupled", "recoup", "coupon", "coup's"]
)
def test_coup_is_not_in_other_words(word):
    found = ethogram.scan(f"A {word} of services, as always.")
    assert found.flags == ()
    assert found.tier == "standard"


def test_positive_traits_never_raise_the_tier():
    found = ethogram.scan("It failed because of the cache, for example when it is cold.")
    assert found.by_category == {"examples": 1, "gives_reasons": 1}
    assert (found.count, found.negative, found.tier) == (2, 0, "standard")


def test_a_hard_constraint_in_an_innocent_sentence_is_looked_at_most_closely():
    found = ethogram.scan("My essay is about the military coup of 1973 and its causes.")
    assert found.hard_constraint == ("illegitimate_power",)
    assert found.tier == "deep_with_context"


# --- tiers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "negative", "tier"),
    [
        (PLAIN, 0, "standard"),
        ("Act now!", 1, "focused"),
        ("Act now! Before it's too late. You owe me.", 3, "focused"),
        ("Act now! Before it's too late. You owe me. Time is running out.", 4, "deep"),
        ("", 0, "standard"),
    ],
)
def test_the_tier_follows_from_the_number_of_negative_flags(text, negative, tier):
    found = ethogram.scan(text)
    assert (found.negative, found.tier) == (negative, tier)


def test_density_is_flags_for_100_words():
    assert ethogram.scan("one two three four five six seven eight act now").density == 10


# --- negation, quotation, mention ---------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Don't act now.",
        "Please do not ever act now.",
        "There is no need to hurry.",
        "Never trust only me.",
        "Nobody ever said that you owe me.",
        "I would rather not act now",
    ],
)
def test_what_is_denied_is_kept_and_does_not_count(text):
    found = ethogram.scan(text)
    assert [flag.negated for flag in found.flags] == [True]
    assert (found.count, found.tier) == (0, "standard")


@pytest.mark.parametrize(
    "text",
    [
        "Never mind. Act now.",
        "I do not know, act now!",
        "No! Act now",
        "It is not ready but act now",
        "Do not hesitate to act now",
        "Not one of the people in the room there said a thing until you act now",
    ],
)
def test_a_denial_does_not_reach_beyond_its_clause_or_a_few_words(text):
    assert ("urgency", "act now") in hits(text)


@pytest.mark.parametrize(
    "text",
    [
        "He said 'act now' and left.",
        'She wrote "act now" there.',
        "She wrote “act now” there.",
        "« act now » it says",
        "> act now\nI disagree.",
        "Use `act now` as the label",
        "```\nact now\n```\nas above",
        "see https://example.org/act-now for it",
    ],
)
def test_what_is_quoted_is_kept_and_does_not_count(text):
    found = ethogram.scan(text)
    assert [flag.quoted for flag in found.flags] == [True]
    assert (found.count, found.tier) == (0, "standard")


@pytest.mark.parametrize(
    "text", ["The phrase act now is worn.", "They use words like act now", "the term: act now"]
)
def test_what_is_mentioned_is_kept_and_does_not_count(text):
    found = ethogram.scan(text)
    assert [flag.mentioned for flag in found.flags] == [True]
    assert found.count == 0


@pytest.mark.parametrize(
    "text", ["Don't you see? It's time: act now. It's his.", 'He is 6" tall, act now', "a > b, act now"]
)
def test_apostrophes_and_signs_quote_nothing(text):
    assert ("urgency", "act now") in hits(text)


# --- properties ---------------------------------------------------------------------------------


def alike(phrase: str) -> str:
    return "".join(ALIKE.get(item, item) for item in phrase)


def test_every_phrase_is_found_as_it_is_written():
    for phrase in EVERY:
        found = ethogram.scan(phrase)
        assert found.flags, phrase
        assert found.flags[0].start == 0, phrase


@settings(max_examples=100)
@given(
    st.lists(st.lists(st.sampled_from(EVERY) | st.text(max_size=6), max_size=4).map(" ".join), max_size=12)
)
def test_many_together_are_as_each_by_itself(texts):
    assert scan_many(texts) == [ethogram.scan(text) for text in texts]


@settings(max_examples=3 * settings.default.max_examples)
@given(
    phrase=st.sampled_from(EVERY),
    form=st.sampled_from([str.upper, str.title, str.lower, alike]),
    at=st.integers(0, 44),
)
def test_case_look_alikes_and_place_make_no_difference(phrase, form, at):
    cut = PLAIN.find(" ", at) + 1
    text = f"{PLAIN[:cut]}. {form(phrase)} . {PLAIN[cut:]}"
    assert any(
        flag.phrase == phrase or phrase in flag.phrase or flag.phrase in phrase
        for flag in ethogram.scan(text).flags
    )


@settings(max_examples=3 * settings.default.max_examples)
@given(
    phrase=st.sampled_from(EVERY),
    at=st.integers(0, 40),
    sign=st.sampled_from("\u200b\u200d\u00ad\ufeff\u2060"),
)
def test_characters_without_width_hide_nothing(phrase, at, sign):
    plain = ethogram.scan(phrase).flags
    hidden = phrase[:at] + sign + phrase[at:]
    assert [flag.phrase for flag in ethogram.scan(hidden).flags] == [flag.phrase for flag in plain]


@settings(max_examples=3 * settings.default.max_examples)
@given(
    phrase=st.sampled_from([item for item in EVERY if item[-1].isalnum()]),
    before=st.text("abcxyzäж_", max_size=2),
    after=st.text("abcxyzäж_", max_size=2).filter(lambda item: item != "_"),
)
def test_a_phrase_inside_a_longer_word_is_not_there(phrase, before, after):
    before, after = before.replace("_", "a_"), after.replace("_", "_a")
    text = f"x. {before}{phrase}{after} .x"
    inside = [
        flag for flag in ethogram.scan(text).flags if flag.phrase == phrase and flag.start == 3 + len(before)
    ]
    assert bool(inside) <= (not before and not after)


@settings(max_examples=2 * settings.default.max_examples)
@given(st.lists(st.sampled_from(EVERY) | st.text(max_size=6) | st.just("\n\n"), max_size=8).map(" ".join))
def test_a_span_is_the_slice_that_folds_to_the_phrase(text):
    for flag in ethogram.scan(text).flags:
        said = fold(text[flag.start : flag.end]).text.decode().strip()
        assert said.replace("'", "") == flag.phrase.replace("'", "")


# --- limits and languages -----------------------------------------------------------------------


def test_a_text_is_looked_at_up_to_a_limit_and_says_so():
    text = "a " * (LONGEST // 2) + "act now"
    found = ethogram.scan(text)
    assert found.cut
    assert found.flags == ()
    assert not ethogram.scan("act now").cut


@pytest.mark.parametrize(
    "text",
    [
        "Tienes que actuar ya porque el tiempo se acaba para todos los que no lo saben.",
        "Wir haben das nicht gewusst, aber es ist nun einmal so und wird auch so sein.",
        "Il faut que nous soyons là pour les autres, et ce n'est pas une question de temps.",
        "Мы должны действовать сейчас, потому что времени больше нет.",
        "现在行动，否则就太晚了。大家都已经加入了。",
        "今すぐ行動してください。時間がありません。",
        "지금 행동하세요. 시간이 없습니다.",
    ],
)
def test_a_language_that_is_not_known_is_not_measured(text):
    found = ethogram.scan(text)
    assert not found.measured
    assert (found.count, found.negative, found.density, found.by_trait) == (None, None, None, None)
    assert found.tier == "standard"


@pytest.mark.parametrize(
    "text",
    [
        "Act now!",
        "",
        "ok",
        "lol",
        "🦞🦞🦞",
        "You owe me, and the café is über nice.",
        alike("you owe me all of that and more"),
    ],
)
def test_short_english_and_disguised_texts_are_measured(text):
    assert ethogram.scan(text).language == "en"


def test_the_same_text_gives_the_same_scan():
    text = "Act now! 'Act now', he said. There's no need to hurry."
    assert ethogram.scan(text) == ethogram.scan(text)
    assert hash(ethogram.scan(text)) == hash(ethogram.scan(text))


@pytest.mark.parametrize("text", ["Act now! He said 'act now'.", "", "现在行动，否则就太晚了。", "a coup"])
def test_a_scan_is_as_its_schema_says(text):
    from jsonschema import Draft202012Validator

    from ethogram.schemas import schema

    said = ethogram.scan(text).to_dict()
    assert Draft202012Validator(schema("scan")).is_valid(said)
    assert said.keys() == schema("scan")["properties"].keys()
    assert schema("scan")["properties"]["tier"]["enum"] == list(ethogram.lexicon.TIERS)


def test_a_scan_is_a_json_record():
    import json

    data = json.loads(json.dumps(ethogram.scan("Act now!").to_dict()))
    assert (data["record"], data["tier"], data["count"]) == ("scan", "focused", 1)
    assert data["flags"][0]["phrase"] == "act now"
    assert len(data["lexicon"]) == 12


@pytest.mark.parametrize("of", [{"manipulation"}, {"reasoning", "exploitation"}, {"flattery"}, set()])
def test_some_traits_have_the_flags_they_have_among_all(of: set[str]) -> None:
    texts = [f"{one} {two}, {two} {one[: len(one) // 2]}" for one, two in pairwise(EVERY)]
    for whole, some in zip(scan_many(texts), scan_many(texts, frozenset(of)), strict=True):
        assert some.flags == tuple(flag for flag in whole.flags if of & {flag.trait, flag.category})
