"""Recorded answers are replayed where the text is the one they were given for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ethogram.errors import BadEvents, BadUsage
from ethogram.evaluators.base import Evaluation, NotMeasured, Question, dimensions, make_evaluator
from ethogram.evaluators.recorded import text_digest
from ethogram.lexicon.scanner import scan
from ethogram.models import TRAITS

TEXT = "Act now."


def line(**changes: Any) -> dict[str, Any]:
    return {
        "record": "evaluation", "source": "input", "id": "m1", "text_digest": text_digest(TEXT),
        "scorer": "judge@1", "width": 4, "traits": {"manipulation": 0.75}, "cost": 0.02,
        "indicators": [{"id": "MAN_URGENCY", "confidence": 0.5, "start": 0, "end": 7}], **changes,
    }  # fmt: skip


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def question(text: str = TEXT, name: str = "m1") -> Question:
    return Question("input", name, "kim", text, scan(text), "deep")


def test_it_says_what_was_said_and_costs_nothing(tmp_path: Path) -> None:
    item = make_evaluator("recorded", {"file": written(tmp_path, line(), {"record": "evaluate_summary"})})
    answer = item.evaluate(question())
    assert isinstance(answer, Evaluation)
    assert (answer.traits, answer.scorer, answer.width, answer.cost) == (
        {"manipulation": 0.75},
        "judge@1",
        4,
        0,
    )
    assert TEXT[answer.indicators[0].start : answer.indicators[0].end] == "Act now"


@pytest.mark.parametrize("asked", [question(name="m2"), question("Act now!!")])
def test_another_message_or_other_words_have_no_answer(tmp_path: Path, asked: Question) -> None:
    item = make_evaluator("recorded", {"file": written(tmp_path, line())})
    assert item.evaluate(asked) == NotMeasured("no recorded answer", final=True)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("{", "no JSON object"),
        ("[]", "no JSON object"),
        (line(id=3), "needs id"),
        (line(traits=[]), "got `array` - at `$.traits`"),
        (line(scorer=3), "got `int` - at `$.scorer`"),
        (line(traits={"charm": 0.5}), "unknown trait 'charm'"),
        (line(traits={"virtue": 1.5}), "Expected `float` <= 1.0"),
        (line(traits={"virtue": True}), "got `bool`"),
        (line(width=-1), "`int` >= 0 - at `$.width`"),
        (line(indicators=[{"id": "MAN_URGENCY"}]), "missing required field `confidence`"),
        (
            line(indicators=[{"id": "NOPE", "confidence": 0.5, "start": 0, "end": 1}]),
            "unknown indicator 'NOPE'",
        ),
        (
            line(indicators=[{"id": "MAN_URGENCY", "confidence": 0.5, "start": 5, "end": 5}]),
            "must end after its start",
        ),
    ],
)
def test_a_bad_line_is_told_with_its_place(tmp_path: Path, bad: Any, said: str) -> None:
    with pytest.raises(BadEvents) as caught:
        make_evaluator("recorded", {"file": written(tmp_path, line(), bad)})
    assert f"answers.jsonl:2: {''}" in str(caught.value)
    assert said in str(caught.value)


def test_all_bad_lines_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadEvents) as caught:
        make_evaluator("recorded", {"file": written(tmp_path, "{", line(), "[]")})
    assert [fault.line for fault in caught.value.faults] == [1, 3]


def test_answers_of_two_scorers_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(BadEvents, match=r"several scorers.*judge@1"):
        make_evaluator("recorded", {"file": written(tmp_path, line(), line(id="m2", scorer="judge@2"))})


def test_a_file_of_something_else_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="holds no answers"):
        make_evaluator("recorded", {"file": written(tmp_path, {"record": "event"})})


@pytest.mark.parametrize(
    ("options", "said"), [({}, "needs the file"), ({"file": "nowhere.jsonl"}, "nowhere.jsonl: No such file")]
)
def test_without_a_file_there_is_nothing_to_replay(options: dict[str, str], said: str) -> None:
    with pytest.raises(BadUsage, match=said):
        make_evaluator("recorded", options)


def test_the_dimensions_of_the_best_message() -> None:
    good = {"virtue", "goodwill", "accuracy", "reasoning", "recognition", "compassion"}
    best = {name: float(name in good) for name in TRAITS}
    assert dimensions(best) == {"ethos": 1.0, "logos": 1.0, "pathos": 1.0, "balance": 1.0}


def test_uneven_dimensions_are_less_balanced() -> None:
    # ethos 1, logos 0.5, pathos 0: their mean is 0.5, their spread sqrt(1/6), so 1 - 0.8165.
    traits = dict.fromkeys(TRAITS, 0.5) | {
        "virtue": 1.0,
        "goodwill": 1.0,
        "manipulation": 0.0,
        "deception": 0.0,
    }
    traits |= {"recognition": 0.0, "compassion": 0.0, "dismissal": 1.0, "exploitation": 1.0}
    found = dimensions(traits)
    assert (found["ethos"], found["logos"], found["pathos"]) == (1.0, 0.5, 0.0)
    assert found["balance"] == pytest.approx(1 - (1 / 6) ** 0.5 / 0.5, abs=1e-6)


def test_a_dimension_lacks_where_a_trait_does() -> None:
    assert dimensions({"virtue": 0.5}) == {}
