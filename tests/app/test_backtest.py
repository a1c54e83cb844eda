"""Backtests: what a pattern would have found, beside chance, other patterns and other versions."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ethogram.app.backtest import backtest_patterns
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.ingest import gather_events, read_events
from ethogram.models import Event
from ethogram.patterns.library import load_patterns
from ethogram.schemas import schema
from ethogram.testing import history

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
STEP = """\
name: {name}
title: Up
status: {status}
description: A reading that follows a lower one.
group_by: [subject]
shape:
  sequence:
    - low: x < 0.2
    - high: x > {above}
  max_gap: 0
confidence: high.x
severity: medium
examples:
  fires: [{{story: up, x: [0.1, 0.9], at: 2}}]
  quiet: [{{story: down, x: [0.9, 0.1]}}, {{story: low, x: [0.1, 0.1]}}]
"""


def pattern(folder: Path, name: str, above: float = 0.5, status: str = "stable") -> Path:
    file = folder / f"{name}.yaml"
    file.write_text(STEP.format(name=name, above=above, status=status))
    return file


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Ann goes up on the first day and, less far, forty days later; Bo never does."""
    rows = [("ann", 0, 0.1), ("ann", 1, 0.9), ("ann", 2, 0.9), ("ann", 3, 0.9), ("ann", 40, 0.1),
            ("ann", 41, 0.6), ("bo", 0, 0.9), ("bo", 1, 0.1), ("bo", 41, 0.1)]  # fmt: skip
    made = [
        Event(f"{who}{day}", NOON + timedelta(days=day), who, seq=n, readings={"x": value}).to_dict()
        for n, (who, day, value) in enumerate(rows)
    ]
    file = tmp_path / "events.jsonl"
    file.write_text("".join(json.dumps(item) + "\n" for item in made))
    return file


def run(capsys: pytest.CaptureFixture[str], *asked: str) -> list[dict]:
    assert main([*asked, "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for item in found:
        assert not list(Draft202012Validator(schema(item["record"])).iter_errors(item))
    return found


def test_it_counts_what_was_detected_since(tmp_path, events, capsys):
    file = pattern(tmp_path, "up")
    whole, summary = run(capsys, "patterns", "backtest", str(file), "--data", str(events))
    assert (whole["detections"], whole["histories"], whole["looked_at"]) == (2, 1, 2)
    assert whole["by_week"] == {"2026-W10": 1, "2026-W15": 1}
    assert len(whole["examples"]) == 2
    assert len(whole["shuffled"]) == 10
    assert summary["events"] == 9
    since, summary = run(capsys, "patterns", "backtest", str(file), "--data", str(events), "--since", "30d")
    assert since["detections"] == 1
    assert since["examples"][0]["last_event"] == "ann41"
    # The newest event is of day 41.
    assert summary["since"] == "2026-03-13T12:00:00Z"


def test_another_version_of_the_same_name_is_compared(tmp_path, events, capsys):
    new, old = tmp_path / "new", tmp_path / "old"
    new.mkdir()
    old.mkdir()
    asked = ["patterns", "backtest", str(pattern(new, "up", 0.8)), "--data", str(events), "--shuffles", "0"]
    told, against, _ = run(capsys, *asked, "--against", str(pattern(old, "up")))
    assert (told["detections"], told["shuffled"], told["lift"]) == (1, [], None)
    assert (against["detections"], against["both"], against["only"], against["only_other"]) == (2, 1, 0, 1)
    # Its events are ann0 and ann1; the other has ann40 and ann41 too.
    assert against["jaccard"] == 0.5


def test_order_makes_the_lift(tmp_path, capsys):
    """In a history that steps up again and again, a shuffle has fewer steps up."""
    made = [
        Event(f"e{n}", NOON + timedelta(hours=n), "ann", seq=n, readings={"x": x})
        for n, x in enumerate([0.1, 0.9] * 20)
    ]
    file = tmp_path / "e.jsonl"
    file.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in made))
    told, _ = run(capsys, "patterns", "backtest", str(pattern(tmp_path, "up")), "--data", str(file))
    assert told["detections"] == 20
    # A low one is followed by a high one about half the time.
    assert 1.5 < told["lift"] < 3


def test_the_number_of_processes_changes_nothing(tmp_path, events, capsys):
    asked = ["patterns", "backtest", str(pattern(tmp_path, "up")), "--data", str(events)]
    one, three = (run(capsys, *asked, "--jobs", jobs) for jobs in ("1", "3"))
    assert one == three
    assert len(one[0]["shuffled"]) == 10


def test_patterns_that_are_on_are_told_where_they_are_about_the_same_events(tmp_path, capsys):
    file = tmp_path / "run.jsonl"
    file.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in history("repetitive_errors")))
    records = run(capsys, "patterns", "backtest", "loop", "--data", str(file), "--shuffles", "0")
    assert {record["other"] for record in records[0]["overlaps"]} == {"repetitive_errors"}


def test_a_shadow_pattern_tells_nobody_and_is_shown_when_asked(tmp_path, events, capsys):
    folder = tmp_path / "mine"
    folder.mkdir()
    pattern(folder, "shy", status="shadow")
    pattern(folder, "loud", 0.8)
    config, store = tmp_path / "e.yaml", tmp_path / "s.db"
    config.write_text(f"patterns: [{folder}]\n")
    common = ["--store", str(store), "--config", str(config)]
    assert main(["store", "import", str(events), "--store", str(store)]) == 0
    asked = ["sweep", *common, "--patterns", "shy", "--patterns", "loud", "--as-of", "2026-05-01T00:00:00Z"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert "pattern loud" in out
    assert "pattern shy" not in out
    told, summary = run(capsys, "patterns", "shadow", *common)
    assert (told["pattern"], told["detections"], told["histories"], told["looked_at"]) == ("shy", 2, 1, 2)
    assert [item["other"] for item in told["overlaps"]] == ["loud"]
    assert summary["patterns"] == 1
    (none, _) = run(capsys, "patterns", "shadow", *common, "--since", "2026-04-13T00:00:00Z")
    assert none["detections"] == 0
    assert main(["patterns", "shadow", *common]) == 0
    assert "shy: 2 detections (2 medium) in 1 of 2 histories" in capsys.readouterr().out
    by_store, *_ = run(capsys, "patterns", "backtest", "shy", *common, "--shuffles", "0")
    assert by_store["detections"] == 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([], "expected either --store or --data"),
        (["--data", "x.jsonl", "--store", "s.db"], "expected either --store or --data"),
        (["--data", "x.jsonl", "--since", "lately"], "invalid --since: expected a duration"),
    ],
)
def test_what_makes_no_sense_is_told(tmp_path, events, capsys, asked, said):
    given = [str(events) if item == "x.jsonl" else item for item in asked]
    assert main(["patterns", "backtest", "loop", *given]) == 2
    assert said in capsys.readouterr().err


def test_examples_can_say_what_the_events_say(tmp_path, capsys):
    made = [replace(item, text="call me at ann@example.org") for item in history("repetitive_errors")]
    file = tmp_path / "run.jsonl"
    file.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in made))
    asked = ["patterns", "backtest", "repetitive_errors", "--data", str(file), "--shuffles", "0"]
    told, _ = run(capsys, *asked, "--excerpts")
    said = {item.get("excerpt") for item in told["examples"][0]["evidence"]}
    assert said
    assert not any("ann@example.org" in (item or "") for item in said)


def test_more_than_fits_into_memory_is_looked_at_on_disk_and_not_shuffled(tmp_path, events):
    library = load_patterns([pattern(tmp_path, "up")])
    with gather_events([events], memory=1, folder=tmp_path) as given:
        told = backtest_patterns(given, library, library, settings=Settings(), excerpts=True)
    assert [backtest.detections for backtest in told.backtests] == [2]
    assert told.backtests[0].shuffled == ()


def test_two_patterns_with_histories_of_their_own_are_not_compared_by_histories(tmp_path):
    # Four subjects with five targets each, of whom two go up towards each target.
    made = [
        Event(f"{who}{n}{k}", NOON + timedelta(hours=2 * n + k), who, target=f"t{n}", readings={"x": value})
        for who, top in (("ann", 0.9), ("bo", 0.9), ("cy", 0.1), ("di", 0.1))
        for n in range(5)
        for k, value in enumerate((0.1, top))
    ]
    file = tmp_path / "events.jsonl"
    file.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in made))
    fine, coarse = pattern(tmp_path, "fine"), pattern(tmp_path, "coarse")
    fine.write_text(fine.read_text().replace("[subject]", "[subject, target]"))
    library = load_patterns([fine, coarse])
    told = backtest_patterns(read_events([file]), library, library, settings=Settings(), shuffles=0)
    coarse_one, fine_one = told.backtests
    assert (fine_one.histories, fine_one.looked_at) == (10, 20)
    assert (coarse_one.histories, coarse_one.looked_at) == (2, 4)
    assert fine_one.overlaps[0].together is coarse_one.overlaps[0].together is None


def test_a_pattern_whose_histories_nobody_can_tell_apart_says_what_is_lacking(events, tmp_path, capsys):
    fine = pattern(tmp_path, "fine")
    fine.write_text(fine.read_text().replace("[subject]", "[subject, target]"))
    assert main(["patterns", "backtest", str(fine), "--data", str(events)]) == 0
    assert "groups events by target, which no event here has" in capsys.readouterr().out
