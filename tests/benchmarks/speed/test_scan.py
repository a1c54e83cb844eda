"""The benchmark of the scanner compares like with like."""

from __future__ import annotations

import json

from benchmarks.speed.scan import alternation, compare, phrases_for_peers, texts, verdicts
from ethogram.lexicon.matcher import Matcher
from ethogram.lexicon.normalize import fold


def test_re_and_the_matcher_find_the_same():
    phrases = phrases_for_peers(300)
    matcher, pattern = Matcher(phrases), alternation(phrases)
    for text in texts(40_000, seed=3):
        folded = fold(text).text
        theirs = [(phrases.index(match[0]), *match.span()) for match in pattern.finditer(folded)]
        assert matcher.find(folded) == theirs


def test_the_same_seed_gives_the_same_text():
    assert texts(5_000) == texts(5_000)
    assert texts(5_000) != texts(5_000, seed=8)


def test_there_are_as_many_phrases_as_asked_for_and_no_two_alike():
    assert len(set(phrases_for_peers())) == 1_500


def test_both_bars_are_judged():
    records = verdicts(compare(100_000, rounds=1))
    assert [record["name"] for record in records if record["record"] == "timing"] == [
        "matching",
        "re",
        "end_to_end",
        "one_by_one",
    ]
    assert [record["bar"] for record in records if record["record"] == "ratio"] == [80, 10]


def test_a_file_is_read_a_message_a_line(tmp_path):
    file = tmp_path / "said.txt"
    file.write_text("act now\nwe met and you left\n" * 50, encoding="utf-8")
    assert {item.name: item.hits for item in compare(10_000, rounds=1, data=file)}["end_to_end_real"] == 50


def test_real_text_stands_beside_generated(tmp_path):
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"turns": [{"text": "act now"}, {"text": None}]}) + "\n", encoding="utf-8")
    timings = compare(100_000, rounds=1, data=file)
    assert {timing.name: timing.hits for timing in timings}["end_to_end_real"] == 1
    assert [verdict["bar"] for verdict in verdicts(timings) if verdict["record"] == "ratio"] == [80, 10, 10]
