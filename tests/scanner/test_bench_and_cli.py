"""The benchmark compares like with like, and the commands say what they should."""

from __future__ import annotations

import json

import pytest

from ethogram.bench.scan import alternation, compare, phrases_for_peers, texts, verdicts
from ethogram.cli.main import main
from ethogram.scanner.fold import fold
from ethogram.scanner.matching import Matcher


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
    assert [one["name"] for one in records if one["record"] == "timing"] == [
        "matching",
        "re",
        "end_to_end",
        "one_by_one",
    ]
    assert [one["bar"] for one in records if one["record"] == "ratio"] == [80, 10]


def test_a_file_is_read_a_message_a_line(tmp_path):
    file = tmp_path / "said.txt"
    file.write_text("act now\nwe met and you left\n" * 50, encoding="utf-8")
    assert {one.name: one.hits for one in compare(10_000, rounds=1, data=file)}["end_to_end_real"] == 50


def test_real_text_stands_beside_generated(tmp_path):
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"turns": [{"text": "act now"}, {"text": None}]}) + "\n", encoding="utf-8")
    timings = compare(100_000, rounds=1, data=file)
    assert {one.name: one.hits for one in timings}["end_to_end_real"] == 1
    assert [one["bar"] for one in verdicts(timings) if one["record"] == "ratio"] == [80, 10, 10]


def test_categories_are_listed_with_what_was_measured(capsys):
    assert main(["lexicon", "list", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    coup = next(one for one in records if one["name"] == "illegitimate_power")
    assert coup["trait"] == "hard_constraint"
    assert coup["sampled"] == 20
    assert len({one["lexicon"] for one in records}) == 1


def test_measuring_counts_and_shows_and_names_what_was_never_hit(tmp_path, capsys):
    turns = [
        {"speaker": "a", "text": "Please act now, friend."},
        {"speaker": "b", "text": "No."},
        {"text": None},
    ]
    (tmp_path / "talk.jsonl").write_text(json.dumps({"turns": turns}) + "\n", encoding="utf-8")
    assert main(["lexicon", "measure", "--data", str(tmp_path), "--rate", "talk"]) == 0
    out = capsys.readouterr().out
    assert "manipulation / urgency: 5000 per 10,000, 1 different texts, 1 shown" in out
    assert "Please [[act now]], friend." in out
    assert "never hit:" in out


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_a_folder_without_conversations_is_said_to_be_one(folder, tmp_path, capsys):
    assert main(["lexicon", "measure", "--data", str(tmp_path / folder)]) == 2
    assert "no conversations in" in capsys.readouterr().err
