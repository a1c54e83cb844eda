"""`python -m benchmarks quality lexicon` counts what categories hit."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main


def test_measuring_counts_and_shows_and_names_what_was_never_hit(tmp_path, capsys):
    turns = [
        {"speaker": "a", "text": "Please act now, friend."},
        {"speaker": "b", "text": "No."},
        {"text": None},
    ]
    (tmp_path / "talk.jsonl").write_text(json.dumps({"turns": turns}) + "\n", encoding="utf-8")
    assert main(["quality", "lexicon", "--data", str(tmp_path), "--rate", "talk"]) == 0
    out = capsys.readouterr().out
    assert "manipulation / urgency: 5000 per 10,000, 1 different text, 1 shown" in out
    assert "Please [[act now]], friend." in out
    assert "never hit:" in out


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_a_folder_without_conversations_is_said_to_be_one(folder, tmp_path, capsys):
    assert main(["quality", "lexicon", "--data", str(tmp_path / folder)]) == 2
    assert "no conversations in" in capsys.readouterr().err
