"""Formats that hold only a part of a run: what they say is read, and nothing else is made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ethogram.errors import BadEvents
from ethogram.ingest import Batch, read_events
from run_cases import AIDER, ASKED, CASES, CLAW, FAILED, SAID, TAU2, TELEMETRY, WHO, lines, text


def read(folder: Path, content: bytes, name: str) -> Batch:
    path = folder / name
    path.write_bytes(content)
    return read_events([path])


def told(batch: Batch) -> list[tuple[str, str]]:
    return [(event.subject, event.kind) for event in batch.events]


def of_kind(batch: Batch, kind: str) -> list[Any]:
    return [event for event in batch.events if event.kind == kind]


def test_every_part_of_one_run_has_one_thread(tmp_path: Path):
    for case in CASES:
        if not case.whole:
            assert len({event.thread for event in read(tmp_path, case.content, case.name).events}) == 1


def test_aider_tells_which_edits_were_applied(tmp_path: Path):
    batch = read(tmp_path, AIDER, "chat.md")
    failed, applied = (event.attributes for event in of_kind(batch, "result"))
    assert "failed to exactly match" in failed["error"]
    assert ("error" in applied, applied["path"]) == (False, "parser.py")
    assert of_kind(batch, "action")[0].attributes["tokens"] == 1500
    assert [event.text for event in of_kind(batch, "message")] == [ASKED, SAID]
    assert not batch.timed


@pytest.mark.parametrize("number", ["1.2.3", "9" * 400, ",", "."])
def test_what_aider_reports_in_odd_numbers_is_left_out(number: str, tmp_path: Path):
    report = b"> Tokens: 1.2k sent, 300 received. Cost: $0.01 message"
    assert report in AIDER
    for place in (b"300", b"0.01"):
        odd = AIDER.replace(report, report.replace(place, number.encode()))
        edit, *_ = of_kind(read(tmp_path, odd, "chat.md"), "action")
        assert edit.attributes.get("tokens") == (None if place == b"300" else 1500)
        assert "cost" not in edit.attributes


def test_aider_begins_a_run_at_each_start(tmp_path: Path):
    batch = read(tmp_path, AIDER * 2, "chat.md")
    assert len({event.thread for event in batch.events}) == 2


def test_the_terminal_of_whowhen_answers_the_code_before_it(tmp_path: Path):
    batch = read(tmp_path, text(WHO), "w.json")
    [action], [result] = of_kind(batch, "action"), of_kind(batch, "result")
    assert (action.subject, action.attributes["command"].strip()) == ("Coder", "make test")
    assert (result.subject, result.attributes["exit_code"]) == ("Coder", 1)
    assert [event.target for event in of_kind(batch, "message")][1] == "Coder"


def test_a_terminal_without_code_before_it_only_speaks(tmp_path: Path):
    complaint = "There is no code from the last 1 message for me to execute."
    history = [{"role": "user", "name": "Computer_terminal", "content": complaint}]
    batch = read(tmp_path, text({**WHO, "history": history}), "w.json")
    assert told(batch) == [("Computer_terminal", "message")]


def test_openclaw_has_no_times_of_calls_so_the_run_has_none(tmp_path: Path):
    batch = read(tmp_path, lines(*CLAW), "t.jsonl")
    assert not batch.timed
    failed, fine = (event.attributes for event in of_kind(batch, "result"))
    assert (failed["error"], failed["duration"], "error" in fine) == (FAILED, 0.291, False)
    assert [event.attributes.get("parent") for event in of_kind(batch, "action")] == [None, "main"]
    assert of_kind(batch, "action")[1].subject == "main/s1"


def test_telemetry_of_claude_code_has_calls_from_decision_to_result(tmp_path: Path):
    batch = read(tmp_path, text(TELEMETRY), "logs.json")
    [action], [result] = of_kind(batch, "action"), of_kind(batch, "result")
    assert (result.at - action.at).total_seconds() == 3
    assert (action.attributes["command"], action.attributes["tokens"]) == ("make test", 5)
    assert (result.attributes["error"], result.attributes["duration"]) == ("Shell command failed", 3)


def test_tau2_results_without_simulations_are_counted(tmp_path: Path):
    batch = read(tmp_path, text({**TAU2, "simulations": []}), "results.json")
    assert batch.skipped == {"results of tau2-bench without simulations": 1}


@pytest.mark.parametrize("name", ["predictions.json", "notes.jsonl"])
def test_unknown_json_in_a_folder_is_skipped_and_named_but_a_named_one_is_a_fault(tmp_path: Path, name: str):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_bytes(text({"instance_id": "a", "model_patch": "diff"}, None))
    (tmp_path / "run" / "chat.md").write_bytes(AIDER)
    batch = read_events([tmp_path / "run"])
    assert (len(batch.events) > 0, batch.not_events) == (True, (str(tmp_path / "run" / name),))
    with pytest.raises(BadEvents, match=r"subject|several lines|unknown key"):
        read_events([tmp_path / "run" / name])


def test_event_lines_with_a_misspelt_subject_stay_a_fault_in_a_folder(tmp_path: Path):
    (tmp_path / "a.jsonl").write_bytes(
        lines({"subjct": "ann", "text": "hi", "thread": "t", "kind": "message"})
    )
    with pytest.raises(BadEvents, match="subject"):
        read_events([tmp_path])


def test_a_table_of_something_else_in_a_folder_is_skipped(tmp_path: Path):
    (tmp_path / "origin.tsv").write_text("file\tlicence\nchat.md\tMIT\n")
    (tmp_path / "chat.md").write_bytes(AIDER)
    assert read_events([tmp_path]).not_events == (str(tmp_path / "origin.tsv"),)
