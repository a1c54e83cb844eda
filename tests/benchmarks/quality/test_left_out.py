"""Leaving sets out: pairs of equal length, limits from the other sets, and guesses of the set."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.quality import left_out as module
from benchmarks.quality.conversation_sets import Talk, Turn
from benchmarks.quality.left_out import (
    alarms,
    calibration,
    cut,
    left_out,
    limit_of,
    lines,
    logistic,
    matched,
    recognised,
    trained,
)
from ethogram.errors import BadUsage


def talk(name: str, *said: str) -> Talk:
    turns = [Turn(text, of_user, {}) for item in said for text, of_user in ((item, True), ("Well.", False))]
    return Talk(name, None, tuple(turns))


def test_a_conversation_is_cut_after_the_turns_of_the_user() -> None:
    assert [turn.text for turn in cut(talk("c", "one", "two", "three"), 2).turns] == ["one", "Well.", "two"]
    assert cut(talk("c", "one"), 2) == talk("c", "one")


def test_an_attack_is_paired_with_the_nearest_in_length_after_as_many_turns() -> None:
    attacks = [talk("a", "x" * 10, "x" * 10), talk("b", "x" * 100)]
    harmless = [talk("p", "y" * 90), talk("q", "y" * 9, "y" * 12, "y" * 500), talk("r", "y" * 300, "y" * 2)]
    pairs = {pair.attack.id: pair.harmless for pair in matched(attacks, harmless)}
    assert pairs["a"].id == "q"
    assert pairs["a"].said == ["y" * 9, "y" * 12]
    assert pairs["b"].id == "p"


def test_each_harmless_conversation_is_used_once_and_none_that_is_too_short() -> None:
    attacks = [talk("a", "x", "x"), talk("b", "x", "x")]
    assert [pair.attack.id for pair in matched(attacks, [talk("p", "y", "y"), talk("q", "y")])] == ["a"]


def test_the_limit_is_one_that_no_set_exceeds_in_more_than_5_of_1_000() -> None:
    rising = [k / 1000 for k in range(1000)]
    limit = limit_of([rising, [0.0] * 50])
    assert 1 <= sum(score > limit for score in rising) <= 5


def test_alarms_of_a_set_are_counted_at_the_limit_of_the_others() -> None:
    one, other = alarms({"calm": [0.1] * 100, "loud": [0.6] * 10 + [0.1] * 90})
    assert (one["limit"], one["above_per_1000"], one["suspect_per_1000"]) == (0.6, 0, 0)
    assert (other["limit"], other["above_per_1000"], other["suspect_per_1000"]) == (0.1, 100, 100)


def test_a_score_that_is_the_same_everywhere_says_nothing_of_the_set() -> None:
    rng = np.random.default_rng(3)
    same = recognised({name: rng.random(400).tolist() for name in "abcd"})
    assert same["interval"][0] <= same["chance"] == 0.25 <= same["interval"][1]
    apart = recognised({name: (place + 0.1 * rng.random(400)).tolist() for place, name in enumerate("abcd")})
    assert apart["right"] > 0.8


def test_the_regression_finds_the_direction_that_separates() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(200, 3))
    solved = logistic(rows, (rows[:, 1] > 0).astype(float), np.full(200, 1 / 200))
    assert abs(solved[1]) > 5 * max(abs(solved[0]), abs(solved[2]))


def test_a_risk_that_is_a_probability_has_a_slope_of_one_at_its_own_rate() -> None:
    rng = np.random.default_rng(7)
    risk = rng.beta(0.3, 3, 200_000)
    attack = rng.random(len(risk)) < risk
    found = calibration("some", risk[attack].tolist(), risk[~attack].tolist())
    assert found["slope"] == pytest.approx(1, abs=0.05)
    assert found["rate"] == pytest.approx(attack.mean(), abs=0.01)


def test_the_baselines_learn_from_the_sets_they_are_given() -> None:
    bad = [talk(f"a{k}", f"how do I hurt somebody {k}") for k in range(20)]
    good = [talk(f"h{k}", f"how do I bake a cake {k}") for k in range(20)]
    for score in trained([bad], [good]).values():
        assert score(talk("x", "hurt somebody")) > score(talk("y", "bake a cake"))


def test_every_pair_of_sets_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(name: str, count: int) -> None:
        rows = [
            {"conversation_id": f"{name}{k}", "turns": [{"role": "user", "text": f"{name} number {k}"}] * 2}
            for k in range(count)
        ]
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    for name in ("mtbench101", "sgd_test", "hh_harmless_test"):
        write(name, 60)
    monkeypatch.setattr(module, "SMALLEST", 5)
    monkeypatch.setattr(module, "FEWEST", 2)

    class Risky:
        """A conversation whose risk is high where the text is an attack's."""

        def turn(self, text: str, role: str) -> SimpleNamespace:
            return SimpleNamespace(risk=0.1 if text.startswith(("mtbench", "sgd")) else 0.9)

    records = list(left_out(lambda name: Risky(), tmp_path))  # type: ignore[arg-type]
    found = {(item["attacks"], item["against"]): item for item in records if item["record"] == "left_out"}
    assert found["hh_harmless_test", "sgd_test"]["auroc"][0] == 1.0
    assert found["hh_harmless_test", "sgd_test"]["baselines"]["turns"] == 0.5
    assert {name for name, _ in found} >= {"hh_harmless_test"}
    text = "\n".join(lines(records))
    assert "| **`hh_harmless_test`** | mean of the sets |" in text
    assert "by chance 0.50" in text


def test_one_harmless_set_cannot_be_left_out(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="fewer than two harmless sets"):
        list(left_out(lambda name: SimpleNamespace(), tmp_path))  # type: ignore[arg-type]
