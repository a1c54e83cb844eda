"""Made-up conversations, and when detection comes in them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.quality.simulate import KINDS, Simulated, followed, phrases, simulate, simulated
from ethogram.app.chat.conversation import Conversation
from ethogram.chat.harm_lexicon import find
from ethogram.chat.words import tokens
from ethogram.errors import BadUsage

INNOCENT = ("calm", "student", "novelist", "security professional")


@pytest.mark.parametrize("kind", KINDS)
def test_a_conversation_is_the_same_for_the_same_seed(kind: str) -> None:
    assert simulated(kind, 4, 50) == simulated(kind, 4, 50)
    assert simulated(kind, 4, 50) != simulated(kind, 5, 50)
    assert 50 <= len(simulated(kind, 4).said) <= 500
    assert (simulated(kind, 4, 50).begins is None) == (kind in INNOCENT)


def test_the_phrases_share_no_term_with_the_lexicon() -> None:
    texts = [text for lines in phrases().values() for text in lines]
    assert not [text for text in texts for hit in find(tokens(text)) if hit.term.severity is not None]


@pytest.mark.parametrize("kind", INNOCENT)
def test_innocent_ones_stay_low(kind: str) -> None:
    found = followed(simulated(kind, 1, 100), Conversation("c"))
    assert set(found["first"]) <= {"CAUTIOUS"}
    assert found["waits"] == {}


def test_who_goes_on_after_refusals_is_found() -> None:
    found = followed(simulated("hostile", 1, 100), Conversation("c"))
    assert found["waits"]["ELEVATED"] <= 10
    assert found["highest_mode"] in ("CRITICAL", "UNSAFE")


def test_what_cannot_be_made_is_told() -> None:
    with pytest.raises(BadUsage, match="did you mean 'student'"):
        simulated("studend", 1)
    with pytest.raises(BadUsage, match="49 turns cannot be made; 50 to 500 can"):
        simulated("calm", 1, 49)


class Fixed:
    """A conversation that reaches ELEVATED at its third turn and comes down again."""

    def __init__(self) -> None:
        self._modes = iter(["SAFE", "SAFE", "ELEVATED", "CAUTIOUS", "SUSPECT"])

    def turn(self, text: str, role: str = "user") -> Any:
        return SimpleNamespace(risk=0.25, mode=SimpleNamespace(name=next(self._modes)), reason="why")


def test_the_first_turn_at_each_mode_and_the_wait_for_it_are_told() -> None:
    said = tuple([("user", "a"), ("assistant", "b")] * 2 + [("user", "c")])
    found = followed(Simulated("hostile", 1, said, 0), Fixed())
    assert found["first"] == {"CAUTIOUS": 3, "ELEVATED": 3, "SUSPECT": 5}
    assert found["waits"] == {"CAUTIOUS": 1, "ELEVATED": 1, "SUSPECT": 2}
    assert (found["begins"], found["highest_mode"], found["reason"]) == (1, "SUSPECT", "why")


def test_kinds_are_summed_up_after_their_conversations() -> None:
    found = list(
        simulate(lambda name: Conversation(name, embedder=None), ["calm"], seed=1, count=2, turns=50)
    )
    assert [item["record"] for item in found] == ["simulated", "simulated", "simulate_summary"]
    assert [item.get("seed") for item in found] == [1, 2, None]
    assert found[-1]["reached"]["CAUTIOUS"] == 0
