"""Explanations of the library name what happened; counts that are zero for every case but one stay out."""

from __future__ import annotations

import pytest

from ethogram.app.pattern_tests import run_examples
from ethogram.patterns.library import select

QUIET_END = "after an emotional message without a closing word"
EXPECTED = {
    "loop": {
        "reads the same three files over and over": ("`read c` 2 times", "last 6", "3 distinct ones"),
        "the same command with the same result, three times": (
            "`build fails` 3 times",
            "last 4",
            "2 distinct ones",
        ),
        "the same file four times among others, with nothing changed": (
            "`read a` 4 times",
            "last 7",
            "4 distinct ones",
        ),
    },
    "message_loop": {
        "says the same three times without acting": ("1 message 3 times", '"let me think"'),
        "two messages by turns": ("2 messages 3 times",),
    },
    "malformed_output": {
        "three answers in a row without the expected call": ("malformed output", "3 answers", "no tool call"),
    },
    "abrupt_termination": {
        "a desperate message and then nothing": (QUIET_END,),
        "the source marks the session as broken off": ("as marked by the source",),
        "the service marks that the person has gone": ("as marked by the source",),
    },
}


@pytest.mark.parametrize("pattern", EXPECTED)
def test_an_explanation_names_what_was_done_and_no_empty_count(pattern: str):
    results = {result.story: result.came for result in run_examples(select([pattern])) if result.fires}
    for story, words in EXPECTED[pattern].items():
        assert all(word in results[story] for word in words), results[story]
    for text in results.values():
        assert " 0 " not in text
        assert "not measured" not in text
