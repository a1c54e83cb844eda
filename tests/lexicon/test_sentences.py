"""Sentences of our own: what must be flagged, what must not, and how many held out are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

import ethogram
from ethogram.lexicon.lexicon import read_categories
from ethogram.lexicon.records import HARD_CONSTRAINT, NEGATIVE

HERE = Path(__file__).parent
FOUND_OF_HELD_OUT = 35
"""Of 60 written before the phrases, by the same hand: 1 was found before, 39 after. On talk between people
that others judged to be manipulative the phrases found no more than before."""


def read(name: str) -> dict:
    return YAML(typ="safe", pure=True).load((HERE / name).read_text(encoding="utf-8"))


SENTENCES = read("sentences.yaml")


def categories(text: str) -> set[str]:
    return {flag.category for flag in ethogram.scan(text).flags if flag.counts}


@pytest.mark.parametrize("category", SENTENCES)
def test_a_sentence_of_the_category_is_flagged_with_it(category):
    assert [text for text in SENTENCES[category]["flagged"] if category not in categories(text)] == []


@pytest.mark.parametrize("category", SENTENCES)
def test_an_innocent_sentence_with_the_same_words_is_not_flagged(category):
    found = {text: ethogram.scan(text) for text in SENTENCES[category]["innocent"]}
    assert [text for text, scan in found.items() if scan.tier != "standard"] == []


def test_every_negative_category_has_sentences_of_both_kinds():
    negative = [
        category.name
        for category in read_categories()
        if category.trait in NEGATIVE or category.trait == HARD_CONSTRAINT
    ]
    assert sorted(SENTENCES) == sorted(negative)
    for sentence in SENTENCES.values():
        assert len(sentence["flagged"]) >= 6
        assert len(sentence["innocent"]) >= 4


def test_held_out_sentences_are_found_as_often_as_measured():
    held_out = [(category, text) for category, texts in read("held_out.yaml").items() for text in texts]
    assert len(held_out) == 60
    assert sum(category in categories(text) for category, text in held_out) >= FOUND_OF_HELD_OUT
