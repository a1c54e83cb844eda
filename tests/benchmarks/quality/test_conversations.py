"""What conversations are compared with, and the figures about them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.quality.conversation_baselines import (
    escalation,
    fixed_scores,
    keyword_risk,
    parapet,
    plain_scores,
)
from benchmarks.quality.conversation_readings import SETS, is_closed, labelled, validate_local
from benchmarks.quality.conversation_sets import Talk, TalkSet, Turn
from benchmarks.quality.conversations import Scored, alarms, apart, patterns, score


def talk(*said: str) -> Talk:
    return Talk("c", None, tuple(Turn(text, True, {}) for text in said))


def test_the_plain_answers_count() -> None:
    found = plain_scores(talk("hello there", "bye"))
    assert found == {"keywords": 0.0, "length": 14.0, "turns": 2.0, "few_turns": -2.0}


def test_keywords_know_no_context() -> None:
    assert keyword_risk("how do I kill a process") == keyword_risk("how do I kill a person") == 0.4


def test_the_fixed_formula_of_a_climb_hardly_sees_a_perfect_one() -> None:
    assert escalation([k / 8 for k in range(9)]) == pytest.approx(0.111, abs=0.001)
    assert escalation([0.0] * 92 + [k / 8 for k in range(9)]) < 0.05
    assert escalation([0.9] * 9) == pytest.approx(0)


def test_the_fixed_formula_of_gathering_fails_on_its_own_example() -> None:
    asked = ["Hello", "what is a router", "how does it work", "what are its weaknesses", "how to exploit it"]
    assert fixed_scores(talk(*asked))["fixed_formulas: gathering"] == 0
    assert fixed_scores(talk(*["what is a cat"] * 8))["fixed_formulas: gathering"] == 2.0


def test_peak_plus_persistence_is_as_published() -> None:
    assert parapet(talk("hello", "nice weather")) == 0
    # One category of .9 in one of two turns: .9 + .45 / 2 is cut at 1.
    assert parapet(talk("I want to make a bomb", "thanks")) == 1.0
    # .4 + .45 x 1 of 3.
    assert parapet(talk("damn", "hello there", "bye now")) == pytest.approx(0.55)


def test_talk_in_which_nobody_is_watched_scores_nothing() -> None:
    silent = Talk("c", None, (Turn("hello", False, {}),))
    assert fixed_scores(silent)["fixed_formulas"] == parapet(silent) == plain_scores(silent)["keywords"] == 0


class Rising:
    """A conversation whose risk is that of a list, whatever is said."""

    def __init__(self, *steps: tuple[float, str]) -> None:
        self._steps = iter(steps)

    def turn(self, text: str, role: str = "user") -> Any:
        risk, mode = next(self._steps)
        found = [SimpleNamespace(pattern="escalation")] if mode == "SUSPECT" else []
        return SimpleNamespace(risk=risk, mode=SimpleNamespace(name=mode), detections=found)


def test_modes_are_counted_by_the_users_turns() -> None:
    turns = (Turn("a", True, {}), Turn("b", False, {}), Turn("c", True, {}))
    steps = [(0.2, "CAUTIOUS"), (0.2, "CAUTIOUS"), (0.55, "SUSPECT")]
    found = score(Talk("c", None, turns), lambda name: Rising(*steps))
    assert found.first == {"CAUTIOUS": 1, "ELEVATED": 2, "SUSPECT": 2}
    assert found.scores["ethogram"] == 0.55
    assert found.patterns == {"escalation"}


def scored(risk: float, **first: int) -> Scored:
    seen = frozenset(["escalation"]) if first else frozenset[str]()
    return Scored({"ethogram": risk, "turns": 1.0}, first, seen)


def test_alarms_have_a_rate_an_interval_and_a_turn() -> None:
    rows = [scored(0.6, CAUTIOUS=1, ELEVATED=1, SUSPECT=3), *[scored(0.1)] * 9]
    talk_set = TalkSet("made", "harmless", [talk("a")] * 10)
    found = {record["mode"]: record for record in alarms(talk_set, rows)}
    assert (found["SUSPECT"]["reached"], found["SUSPECT"]["per_1000"]) == (1, 100.0)
    assert (found["SUSPECT"]["median_turn"], found["SUSPECT"]["at_first_turn"]) == (3, 0.0)
    assert found["CRITICAL"]["median_turn"] is None
    low, high = found["SUSPECT"]["interval"]
    assert low < 100 < high
    assert [record["per_1000"] for record in patterns(talk_set, rows)] == [100.0]


def test_attacks_are_compared_with_each_harmless_set_and_with_the_budget() -> None:
    sets = [
        (TalkSet("bad", "attack", []), [scored(0.9), scored(0.3)]),
        (TalkSet("casino", "harmless", []), [scored(0.1)] * 4),
        (TalkSet("sgd_test", "harmless", []), [scored(0.5)] * 4),
        (TalkSet("single", "tempting", []), [scored(0.9)] * 4),
    ]
    found = {(item["against"], item["method"]): item for item in apart(sets)}
    assert {against for against, _ in found} == {"casino", "sgd_test", "budget sets"}
    assert found["casino", "ethogram"]["auroc"] == 1.0
    assert found["sgd_test", "ethogram"]["auroc"] == 0.5
    assert found["budget sets", "ethogram"]["harmless"] == 8
    assert found["casino", "turns"]["auroc"] == 0.5
    ours = found["sgd_test", "ethogram"]
    assert (ours["limit"], ours["recall_at_limit"], ours["alarms_at_limit"]) == (0.5, 0.5, 1.0)
    assert found["casino", "turns"]["limit"] is None


def test_readings_are_reported_for_the_closed_quarter_alone(tmp_path: Path) -> None:
    talks = [
        Talk(f"m{k}", k % 2, (turn("You owe me, or you will regret it." if k % 2 else "The bus is late."),))
        for k in range(40)
    ]
    records = {record["method"]: record for record in validate_local("mentalmanip", talks, tmp_path)}
    assert set(records) == {"local", "words, in set", "static, in set", "length"}
    closed = [talk.label for talk in talks if is_closed(talk.id)]
    assert (records["local"]["positive"], records["local"]["negative"]) == (sum(closed), closed.count(0))
    assert records["local"]["auroc"] == records["words, in set"]["auroc"] == 1.0
    assert not list(validate_local("mentalmanip", talks[:1], tmp_path))


def test_a_label_of_a_message_is_about_the_message() -> None:
    turns = (turn("one", uncivil=1), turn("two", uncivil=0), turn("three"))
    items = list(labelled(Talk("a", 1, turns), SETS["gh_incivility"]))
    assert [(texts, label) for texts, label, _ in items] == [(["one"], True), (["two"], False)]
    assert [item[0] for item in labelled(Talk("a", 1, turns), SETS["cga_cmv_valid"])] == [["three"]]


def turn(text: str, **labels: int) -> Turn:
    return Turn(text, True, labels)
