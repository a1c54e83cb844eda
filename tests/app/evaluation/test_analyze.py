"""An analysis with an evaluator: the same in memory and on disk, one scorer at a time, said in the report."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.evaluators.scripted import Scripted

from ethogram.app.analyze import analyze, analyze_gathered, load_library
from ethogram.app.evaluation.agreement import Side, agreement, compared, side_of, supplied_side
from ethogram.app.evaluation.questions import Sampling
from ethogram.app.evaluation.scoring import Evaluate, Paying
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.evaluators.base import make_evaluator
from ethogram.ingest import Batch, OnDisk, gather_events
from ethogram.models import TRAITS, Event

START = datetime(2026, 3, 1, tzinfo=UTC)
WARM = "You are doing wonderfully, my friend, and I am so glad that you are here with us."
PRESS = "Act now or you will regret it: only a fool would wait another day."


def love_bombing() -> list[Event]:
    said = [f"{WARM} Number {name}." for name in ("one", "two", "three")] + [PRESS]
    return [
        Event.sample(
            id=f"m{k}",
            at=START + timedelta(hours=k),
            seq=k,
            subject="kim",
            target="bo",
            thread="t",
            text=text,
        )
        for k, text in enumerate(said)
    ]


def warm_then_pressing() -> Scripted:
    """Scores as a good reader would: the first three warm, the last one pressing."""
    by = Scripted()

    def say(question: object) -> object:
        warm = WARM in question.text  # type: ignore[attr-defined]
        traits = dict.fromkeys(TRAITS, 0.1) | ({"compassion": 0.9} if warm else {"manipulation": 0.8})
        return replace(by.answer(0.1, question), traits=traits)  # type: ignore[arg-type]

    by._say = say  # type: ignore[assignment]
    return by


def test_what_a_good_reader_scores_is_detected() -> None:
    ask = Evaluate(warm_then_pressing(), Sampling(1.0), Paying())
    library = load_library(["love_bombing"], Settings())
    found = analyze_gathered(Batch(tuple(love_bombing())), library, evaluate=ask)
    assert [(item.pattern, item.subject, item.scorer) for item in found] == [
        ("love_bombing", "kim", "scripted:one@1/0")
    ]
    assert found.evaluated is not None
    assert found.evaluated["evaluated"] == 4


def test_without_an_evaluator_nothing_is_scored() -> None:
    found = analyze(love_bombing(), ["love_bombing"])
    assert not found.detections
    assert found.evaluated is None


def test_given_scores_do_not_mix_with_those_of_the_evaluator() -> None:
    events = [item.with_readings({"compassion": 0.9}) for item in love_bombing()]
    found = analyze(events, ["love_bombing"], evaluator="local")
    # The sample leaves kim out, so only the message with a flag is scored; the rest is told as not used.
    assert found.unused[("compassion", "given")] >= 1
    assert not found.detections


def test_later_events_than_asked_about_are_not_scored() -> None:
    by = warm_then_pressing()
    library = load_library(["love_bombing"], Settings())
    analyze_gathered(
        Batch(tuple(love_bombing())),
        library,
        as_of=START + timedelta(hours=1),
        evaluate=Evaluate(by, Sampling(1.0), Paying()),
    )
    assert [item.id for item in by.asked] == ["m0", "m1"]


def test_on_disk_it_is_the_same_as_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    names = ["apple", "birch", "cedar", "daisy", "elder"]
    events = [
        {"id": f"e{k}", "at": f"2026-03-01T10:{k % 60:02}:{k // 60:02}Z", "subject": f"s{k % 7}",
         "thread": f"t{k % 3}", "text": f"{PRESS if k % 4 else WARM} {names[k % 5]} {k}"}
        for k in range(200)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    library = load_library(["src/ethogram/library/conversation"], Settings())
    said = []
    for memory in (10**9, 1):
        gathered = gather_events([path], memory=memory)
        assert isinstance(gathered, OnDisk) == (memory == 1)
        found = analyze_gathered(gathered, library, evaluate=Evaluate(make_evaluator("local"), Sampling(1.0)))
        said.append([json.dumps(item) for item in found.to_dicts()])
        if isinstance(gathered, OnDisk):
            gathered.close()
    assert said[0] == said[1]
    assert json.loads(said[0][-1])["evaluated"]["evaluated"] > 50


def test_two_that_say_the_same_agree_in_everything() -> None:
    events = love_bombing()
    item = side_of(events, warm_then_pressing(), Sampling(1.0))
    library = load_library(["love_bombing"], Settings())
    found = compared(item, item, library, Settings())
    assert found["detections"] == {
        "both": 1, "only_a": 0, "only_b": 0,
        "by_pattern": {"love_bombing": {"both": 1, "only_a": 0, "only_b": 0}},
    }  # fmt: skip
    by_trait = {row["trait"]: row for row in found["traits"]}
    assert by_trait["compassion"]["correlation"] == 1.0
    assert (by_trait["compassion"]["strong_both"], by_trait["compassion"]["strong_either"]) == (3, 3)
    # It never varies, so there is no order to agree on.
    assert by_trait["virtue"]["correlation"] is None
    assert by_trait["virtue"]["difference"] == 0.0


def test_scores_that_came_with_the_data_can_be_compared() -> None:
    events = [item.with_readings({"compassion": 0.1 * k}) for k, item in enumerate(love_bombing())]
    given = supplied_side(events, Sampling(1.0))
    other = side_of(events, warm_then_pressing(), Sampling(1.0))
    (row,) = [item for item in agreement(given, other) if item.measured_a]
    assert (row.trait, row.both, row.measured_b) == ("compassion", 4, 4)
    # 0, .1, .2, .3 against .9, .9, .9, .1: ranks 1 2 3 4 and 3 3 3 1 correlate by -3 / sqrt(5 * 3).
    assert row.correlation == pytest.approx(-3 / 15**0.5, abs=1e-4)


def test_a_side_has_the_readings_of_one_alone() -> None:
    events = [item.with_readings({"manipulation": 0.9}) for item in love_bombing()]
    side = side_of(events, warm_then_pressing(), Sampling(0.0))
    assert isinstance(side, Side)
    assert [event.readings.get("manipulation") for event in side.events] == [None, None, None, 0.8]


def test_the_command_compares_given_scores_with_local_ones(tmp_path: Path) -> None:
    path = tmp_path / "scored.jsonl"
    lines = [
        item.with_readings({"manipulation": 0.1 + 0.2 * k}).to_dict() for k, item in enumerate(love_bombing())
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = io.StringIO()
    with redirect_stdout(out):
        code = main(["signals", "compare", "given", "local", "--data", str(path), "--json"])
    assert code == 0
    record = json.loads(out.getvalue())
    assert record["record"] == "evaluators_compared"
    assert [row["both"] for row in record["traits"] if row["trait"] == "manipulation"] == [4]
    assert record["a"]["scorer"] == "given"


def test_a_hint_says_who_could_score(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in love_bombing()))
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(["analyze", str(path)]) == 0
    assert "--evaluator local" in out.getvalue()
    with redirect_stdout(out):
        assert main(["analyze", str(path), "--evaluator", "local"]) == 0
    assert "Scored by local@2: 1 of 4 messages (25.0%)" in out.getvalue()
