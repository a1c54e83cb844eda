"""Lint warns of what loads and yet is doubtful, and of nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ethogram.errors import Fault
from ethogram.patterns import library
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.library import select
from ethogram.patterns.lint import EXPECTED, lint
from pattern_files import BUSY, CALM_THEN_LOUD, examples, write


@pytest.fixture(autouse=True)
def shipped(tmp_path, monkeypatch) -> Path:
    """A library without patterns."""
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped")
    library.SHIPPED.mkdir()
    return library.SHIPPED


def warnings(folder: Path, pattern: dict[str, Any] = CALM_THEN_LOUD, **changes: Any) -> list[Fault]:
    write(folder / "mine", pattern, **changes)
    return lint(select([folder / "mine"]), load_vocabulary())


def said(folder: Path, pattern: dict[str, Any] = CALM_THEN_LOUD, **changes: Any) -> list[str]:
    return [warning.message for warning in warnings(folder, pattern, **changes)]


def steps(*conditions: str) -> dict[str, Any]:
    """A sequence with these conditions, and no words about its steps."""
    named = [{f"step_{i}": condition} for i, condition in enumerate(conditions)]
    return {"shape": {"sequence": named}, "confidence": 0.5, "explanation": None}


def test_a_sound_pattern_gives_no_warning(tmp_path):
    assert said(tmp_path) == []
    assert said(tmp_path, BUSY) == []


# --- the library's own ----------------------------------------------------------------------


def test_a_pattern_of_the_library_says_more_than_it_must(shipped):
    write(shipped, cause="noise", triage="")
    (warning,) = lint(select(), load_vocabulary())
    missing = [key for key in EXPECTED if key not in ("cause", "explanation")]
    assert warning.message == f"lacks {', '.join(missing)}; a pattern of the library has them all"


# --- a signal that is the pattern -----------------------------------------------------------


@pytest.mark.parametrize("signal", ["is_looping", "loop_detected", "spam_flag", "outburst"])
def test_a_signal_may_not_be_the_pattern_by_its_name(tmp_path, signal):
    given = {
        "fires": [{"story": "a", signal: [0.1, 0.9]}],
        "quiet": [{"story": "b", signal: [0.1]}, {"story": "c", signal: [0.2]}],
    }
    texts = said(tmp_path, **steps(f"{signal} > mean({signal}, skip=1) + 0.1"), examples=given)
    assert [item.split(";")[0] for item in texts] == [f"signal {signal!r} seems to be the pattern already"]


@pytest.mark.parametrize("condition", ["noise > 0", "noise >= 1", "noise == 1", "0 < noise", "noise != 0"])
def test_a_look_at_one_flag_is_not_a_shape(tmp_path, condition):
    for changes in (steps(condition), {"shape": {"threshold": {"when": condition}}}):
        (found,) = said(tmp_path, BUSY, **changes)
        assert found.startswith("the whole shape is one look at 'noise'")


def test_a_flag_among_other_steps_is_fine(tmp_path):
    assert said(tmp_path, **steps("noise == 1", "noise == 0")) == []


def test_indicators_are_signs_and_not_patterns(tmp_path):
    given = {
        "fires": [{"story": "a", "MAN_URGENCY": [1]}],
        "quiet": [{"story": "b", "MAN_URGENCY": [0]}, {"story": "c", "manipulation": [0.2]}],
    }
    assert said(tmp_path, **steps("MAN_URGENCY > 0"), examples=given) == []


# --- level instead of shape --------------------------------------------------------------------


def test_fixed_numbers_in_every_step_are_a_level_and_not_a_shape(tmp_path):
    (warning,) = warnings(tmp_path, **steps("noise < 0.3", "noise > 0.8"))
    assert "every step compares with a fixed number" in warning.message
    path = tmp_path / "mine" / "outburst.yaml"
    assert path.read_text().splitlines()[warning.line - 1].strip().startswith('"shape"')


@pytest.mark.parametrize(
    "conditions",
    [
        ("noise < 0.3", "noise > step_0.noise + 0.5"),
        ("noise > usual(noise) + 0.2", "noise > 0.8"),
        ("noise > 0.8 and gap > 60", "noise < 0.2 and gap > 60"),
        ("risk > noise + 0.1", "noise > 0.8"),
        ("noise == 1", "noise > 0.8"),
        ("noise > 0.8 and refused_before == 1", "noise > 0.8 and kind in ('message', 'action')"),
    ],
)
def test_one_step_that_is_relative_makes_it_a_shape(tmp_path, conditions):
    assert said(tmp_path, **steps(*conditions)) == []


def test_a_parameter_is_a_fixed_number_too(tmp_path):
    assert len(said(tmp_path, **steps("noise < low", "noise > 0.8"), parameters={"low": 0.3})) == 1


# --- examples -------------------------------------------------------------------------------


def test_a_name_that_only_the_examples_know_may_be_a_known_one_misspelt(tmp_path):
    given = {
        "fires": [{"story": "a", "compasion": [0.1, 0.9]}],
        "quiet": [{"story": "b", "compasion": [0.1]}, {"story": "c", "compasion": [0.2]}],
    }
    (warning,) = warnings(tmp_path, **steps("compasion > usual(compasion) + 0.1"), examples=given)
    assert warning.message == "only the examples know 'compasion'; is 'compassion' meant?"
    line = (tmp_path / "mine" / "outburst.yaml").read_text().splitlines()[warning.line - 1]
    assert line[warning.column - 1 :].startswith('"compasion"')


def test_a_quiet_example_with_the_events_of_another_proves_nothing_more(tmp_path):
    twice = [{"story": "once", "noise": [0.1, 0.1]}, {"story": "again", "noise": [0.1, 0.1]}]
    (found,) = said(tmp_path, examples=examples(quiet=twice))
    assert found.startswith("'again' has the same events as 'once' in line ")


def test_the_same_events_asked_about_later_are_another_example(tmp_path):
    later = [{"story": "at once", "noise": [0.1]}, {"story": "later", "noise": [0.1], "as_of": "3d"}]
    assert said(tmp_path, examples=examples(quiet=later)) == []


def test_an_example_without_any_reading_of_the_shape_says_nothing(tmp_path):
    beside = [{"story": "something else", "compassion": [0.5]}, {"story": "calm", "noise": [0.1]}]
    assert said(tmp_path, examples=examples(quiet=beside)) == [
        "'something else' gives no reading that the shape names"
    ]


def test_readings_of_its_parts_are_readings_of_a_combination(tmp_path):
    write(tmp_path / "mine", name="part", **steps("risk > usual(risk) + 0.1"), examples=risk([0.1, 0.9]))
    both = {"in_order": ["part", "outburst"], "within": "1h"}
    write(tmp_path / "mine")
    texts = said(
        tmp_path, name="both", shape=both, confidence=None, explanation=None, examples=risk([0.1, 0.9])
    )
    assert texts == []


def risk(values: list[float]) -> dict[str, Any]:
    return {
        "fires": [{"story": "a", "risk": values}],
        "quiet": [{"story": "b", "risk": [0.1]}, {"story": "c", "risk": [0.2]}],
    }


def test_what_ethogram_measures_itself_need_not_be_given(tmp_path):
    text = [{"text": "Why?"}]
    given = {
        "fires": [{"story": "a", "events": text}],
        "quiet": [{"story": "b", "events": [{"text": "So."}]}, {"story": "c", "events": [{"text": "Oh."}]}],
    }
    assert said(tmp_path, **steps("question > usual(question) + 0.1"), examples=given) == []
