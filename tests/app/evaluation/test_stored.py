"""Scores in a store: kept before texts are dropped, not asked for twice, shown with what is known."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.evaluators.scripted import Scripted

from ethogram.app.evaluation.questions import Sampling
from ethogram.app.evaluation.scoring import Evaluate
from ethogram.app.evaluation.stored import score
from ethogram.app.sweep import sweep
from ethogram.cli.main import main
from ethogram.ingest import Batch
from ethogram.ingest.batch import EventList
from ethogram.models import Event
from ethogram.patterns.library import load_patterns
from ethogram.store import open_store

FLATTERY = "You are so smart, and nobody else here understands me the way you do."
PRESSURE = "Act now or you will regret it: only a fool would wait."
START = datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.fixture
def talk(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    said = [("kim", FLATTERY), ("bo", "Thank you, that is kind."), ("kim", PRESSURE)]
    lines = [
        {"id": f"m{k}", "author": who, "content": text, "created_at": f"2026-03-01T10:0{k}:00Z"}
        for k, (who, text) in enumerate(said)
    ]
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def scores(store: str = "s.db") -> dict[str, dict[str, float]]:
    with open_store(store) as opened:
        return {
            event.id: {name: value for name, value in event.readings.items() if name == "manipulation"}
            for event in opened.events(scorers={"*": "local@2"})
        }


def test_analyze_keeps_the_scores_and_not_the_texts(talk, capsys):
    assert main(["analyze", "talk.jsonl", "--evaluator", "local", "--sample", "1", "--json"]) == 0
    alone = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    args = ["--store", "s.db", "--evaluator", "local", "--sample", "1"]
    assert main(["analyze", "talk.jsonl", *args, "--json"]) == 0
    kept = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert kept[-1]["evaluated"]["evaluated"] == alone[-1]["evaluated"]["evaluated"] == 3
    assert all(score for score in scores().values())
    with open_store("s.db") as store:
        assert not store.has_texts()
        assert {event.scorers["manipulation"] for event in store.events()} == {"local@2"}


def test_the_same_command_again_scores_nothing_anew(talk, capsys):
    args = ["analyze", "talk.jsonl", "--store", "s.db", "--evaluator", "local", "--sample", "1", "--json"]
    assert main(args) == main(args) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])["evaluated"]
    assert (summary["evaluated"], summary["kept_before"]) == (3, 3)


def test_standard_input_is_scored_too(talk, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(talk.read_bytes())))
    assert main(["analyze", "-", "--store", "s.db", "--evaluator", "local", "--sample", "1"]) == 0
    assert "Scored by local@2: 3 of 3 messages" in capsys.readouterr().out
    assert all(score for score in scores().values())


def test_events_without_ids_are_found_by_their_content(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in (("a", FLATTERY), ("b", PRESSURE)):
        line = {"subject": "kim", "text": text, "kind": "message"}
        Path(f"{name}.jsonl").write_text(json.dumps(line) + "\n")
        args = ["analyze", f"{name}.jsonl", "--store", "s.db", "--evaluator", "local", "--sample", "1"]
        assert main(args) == 0
    with open_store("s.db") as store:
        assert ["manipulation" in event.readings for event in store.events()] == [True, True]


def test_evaluate_scores_stored_texts(talk, capsys):
    assert main(["store", "import", "talk.jsonl", "--store", "s.db"]) == 0
    assert main(["evaluate", "--store", "s.db", "--sample", "1"]) == 2
    assert "has no texts to score" in capsys.readouterr().err
    assert main(["store", "import", "talk.jsonl", "--store", "t.db", "--keep-text"]) == 0
    assert main(["evaluate", "--store", "t.db", "--sample", "1"]) == 0
    assert "scores kept in t.db (use them with --scorer local@2)" in capsys.readouterr().out
    assert all(score for score in scores("t.db").values())
    assert main(["evaluate", "talk.jsonl", "--store", "s.db", "--sample", "1"]) == 0
    assert scores("s.db") == scores("t.db")
    assert main(["evaluate"]) == 2


def test_a_sweep_scores_first_and_checks_whom_it_scored(talk, capsys):
    assert main(["store", "import", "talk.jsonl", "--store", "t.db", "--keep-text"]) == 0
    sweep = ["sweep", "--store", "t.db", "--as-of", "2026-03-02T00:00:00Z"]
    assert main([*sweep, "--evaluator", "local", "--sample", "1"]) == 0
    said = capsys.readouterr()
    assert "Scored by local@2: 3 of 3 messages" in said.err
    assert "2 subjects and 3 events checked" in said.out
    assert main([*sweep, "--evaluator", "local", "--sample", "1"]) == 0
    assert "0 subjects and 0 events checked" in capsys.readouterr().out
    assert main([*sweep, "--budget", "1"]) == 2


def message(k: int, text: str) -> Event:
    at = START + timedelta(minutes=k)
    return Event(f"m{k}", at, "kim", k, thread="t", kind="message", text=text)


def test_the_widest_context_has_the_stored_history_and_detections(tmp_path):
    with open_store(str(tmp_path / "s.db"), create=True) as store:
        old = [
            Event(f"o{k}", START - timedelta(days=9 - k), "kim", k, target="bo", readings={"risk": 0.5})
            for k in range(3)
        ]
        store.add(old)
        library = load_patterns(["love_bombing"])
        warm, cold = {"compassion": 0.9, "manipulation": 0.1}, {"compassion": 0.1, "manipulation": 0.8}
        scored = [
            Event(f"w{k}", START - timedelta(days=20 - k), "kim", 90 + k, target="bo", readings=readings)
            for k, readings in enumerate([warm, warm, warm, cold])
        ]
        store.add(scored)
        sweep(store, library, as_of=START, clock=lambda: START)
        words = ("Oak.", "Fern.", "Iris.", "Kale.", "Elder.")
        pressing = [f"{PRESSURE} You are so smart. {word}" for word in words]
        new = [message(k, " ".join([text] * (k + 1))) for k, text in enumerate(pressing)]
        store.add(new)
        evaluator = Scripted()
        batch = Batch(EventList(new))
        result = score(store, batch, Evaluate(evaluator, Sampling(0.0)))
        widest = [question for question in evaluator.asked if question.tier == "deep_with_context"]
        assert widest
        assert all(question.history["messages"] >= 3 for question in widest)
        signals = {item["signal"]: item["count"] for item in widest[0].history["signals"]}
        assert signals["risk"] == 3
        assert {item["pattern"] for item in widest[0].history["detections"]} == {"love_bombing"}
        assert len(result.answers) == len(evaluator.asked)
        again = Scripted()
        score(store, batch, Evaluate(again, Sampling(0.0)))
        assert again.asked == []
