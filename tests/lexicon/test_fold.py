"""The fast folding and matching say what the plain ones in naive_scan.py say, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_scan
from ethogram.lexicon.matcher import Matcher
from ethogram.lexicon.normalize import Offsets, fold
from waiting import ending

ALPHABET = "act now'’ -_*~\n\t@$0134579.,\"|Аасоеﬁ½é́​­－Ｎ𝐧あж🦞\x00\x7f\u2028한"
PHRASES = ["act", "now", "act now", "now act", "can", "can't", "a", "cat act", "not", "fin"]
texts = st.text(alphabet=ALPHABET, max_size=60) | st.text(max_size=40)


@given(texts)
def test_folding_is_the_same_as_one_character_after_the_other(text):
    assert fold(text).text.decode() == "".join(item for item, _ in naive_scan.fold(text))


@given(texts)
def test_every_place_leads_back_to_where_it_came_from(text):
    folded = fold(text)
    offsets = Offsets(folded)
    expected = [(at, at + 1) for _, at in naive_scan.fold(text)]
    assert [offsets.span(i, i + 1) for i in range(len(folded.text))] == expected


@given(texts)
def test_matches_are_those_of_the_plain_matcher(text):
    folded = fold(text)
    offsets = Offsets(folded)
    matches = Matcher([phrase.encode() for phrase in PHRASES]).find(folded.text)
    found = [(PHRASES[number], *offsets.span(start, end)) for number, start, end in matches]
    assert found == naive_scan.find(text, PHRASES)


LINES = [
    "(you|we) (can|must|) act (now|today|) or (else|never)",
    "(so |)you('re| are) (not |)here",
    "a (cat|act)",
]
WORDS = " ".join(LINES).replace("(", " ").replace(")", " ").replace("|", " ").replace("'", " '").split()


@given(st.lists(st.sampled_from([*WORDS, "you're", "youre", ",", "ACT", "\u200b", "now\n\n"]), max_size=14))
def test_lines_with_variants_are_matched_as_if_written_out(words):
    from ethogram.lexicon.lexicon import Category, make_lexicon

    text = " ".join(words)
    folded = fold(text)
    offsets = Offsets(folded)
    lexicon = make_lexicon((Category("x", "virtue", "en", "", None, 0.0, (0, 0), tuple(LINES)),))
    found = [offsets.span(start, end) for _, start, end in lexicon.matcher.find(folded.text)]
    phrases = [form for line in LINES for form in naive_scan.written_out(line)]
    phrases += [form.replace("'", "") for form in phrases]
    assert found == [(start, end) for _, start, end in naive_scan.find(text, phrases)]


def test_what_is_passed_over_folds_to_one_character_each():
    from ethogram.lexicon.normalize import _UNUSUAL, fold_character

    passed = [item for item in map(chr, range(128, 0x20000)) if not _UNUSUAL.match(item)]
    assert [item for item in passed if len(fold_character(item)) != 1] == []


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Act NOW", "act now"),
        ("Аct nоw", "act now"),  # Cyrillic А and о
        ("ａｃｔ　ｎｏｗ", "act now"),
        ("𝒂𝒄𝒕 𝗻𝗼𝘄", "act now"),
        ("ⓐⓒⓣ now", "act now"),
        ("a\u200bc\u200dt\u00ad now", "act now"),
        ("a\u0301ct nów", "act now"),
        ("act\n\n \t now", "act now"),
        ("act-now", "act now"),
        ("act - now", "act - now"),
        ("act — now", "act ; now"),
        ("**act** _now_", " act now "),
        ("act_now", "act_now"),
        ("4ct n0w", "act now"),
        ("tru5t, p@ssion, ca$h", "trust, passion, cash"),
        ("3 p.m., b2b, 10ms, web3 at 1984", "3 p.m., b2b, 10ms, webe at 1984"),
        ("don’t", "don't"),
        ("$5 to bob@x.org or @bob", "$5 to bobax.org or @bob"),
    ],
)
def test_what_a_text_folds_to(text, folded):
    assert fold(text).text.decode() == folded


@pytest.mark.parametrize(
    "piece",
    ["a", " ", "'", '"', "_", "a_", "-", "a-", "1a", "a1", "a1b2 ", "\u200b", "é", "ж", "ﬁ", "a\u0301",
     "act now ", "act ", "not ", "``", "`a", "'a ", "‘a", "“", "«a", "> ", "http://", "@a", "💥 "],
)  # fmt: skip
def test_a_megabyte_of_anything_is_scanned(piece):
    from ethogram.lexicon.scanner import scan

    text = (piece * 1_000_000)[:1_000_000]
    with ending(f"a scan of a megabyte of {piece!r}"):
        scan(text)
