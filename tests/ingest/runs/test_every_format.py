"""What holds of a run whatever program recorded it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ethogram import registry
from ethogram.ingest import Batch, read_events
from ethogram.ingest.format import HEAD, choose
from run_cases import ASKED, CASES, CODE, FAILED, MISSING, SAID, THOUGHT, Case
from sampling import for_each, seeds

PARTICULAR = [name for name, item in registry.adapters.items() if not item.general]
RUNS = [case for case in CASES if case.actions and case.whole]


@pytest.fixture(params=CASES, ids=lambda case: case.id)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture(params=RUNS, ids=lambda case: case.id)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Batch:
    return read(request.param, tmp_path)


def read(case: Case, folder: Path) -> Batch:
    path = folder / case.name
    path.write_bytes(case.content)
    return read_events([path])


def of_kind(batch: Batch, kind: str) -> list:
    return [event for event in batch.events if event.kind == kind]


def joined(record: Mapping[str, Any]) -> list[Any]:
    return [record.get(key) for key in ("path", "command", "batch", "parent")]


def test_every_adapter_of_runs_has_a_case():
    others = {"conversations", "forum", "messages", "scored_messages"}
    assert {case.adapter for case in CASES} == set(PARTICULAR) - others


def test_exactly_one_adapter_recognises_it_by_its_content(case: Case):
    for name in ("a", "a.json", "a.jsonl", "a.txt"):
        known = [item for item in PARTICULAR if registry.adapters.get(item).recognises(case.content, name)]
        assert known == [case.adapter]
    assert choose(case.content[:HEAD], "a") is registry.adapters.get(case.adapter)


def test_it_is_read_without_a_fault_and_nothing_is_left_out(case: Case, tmp_path: Path):
    batch = read(case, tmp_path)
    kinds = Counter(event.kind for event in batch.events)
    assert (kinds["action"], kinds["result"]) == (case.actions, case.results)
    assert batch.bad_count == batch.repeated == 0
    assert batch.skipped == {}
    assert batch.timed is (case.timed or not batch.events)


def test_read_twice_it_gives_the_same(case: Case, tmp_path: Path):
    assert read(case, tmp_path).events == read(case, tmp_path).events


def test_every_event_has_its_own_id(run: Batch):
    assert len({event.id for event in run.events}) == len(run.events)


def test_every_event_is_of_the_one_run(run: Batch):
    assert len({event.thread for event in run.events}) == 1
    assert None not in {event.thread for event in run.events}


def test_a_result_follows_its_call_and_carries_what_the_call_said(run: Batch):
    calls: dict[str, list] = {}
    for event in run.events:
        attributes = event.attributes
        if event.kind == "action":
            calls.setdefault(attributes.get("call_id"), []).append(event)
        elif event.kind == "result":
            waiting = [
                call
                for call in calls[attributes.get("call_id")]
                if call.attributes["tool"] == attributes["tool"]
            ]
            assert waiting, "a result without its call"
            assert joined(attributes) in [joined(item.attributes) for item in waiting]
            assert event.subject == waiting[0].subject
            assert isinstance(attributes["result"], str)


def test_arguments_are_an_object_and_the_path_and_command_stand_apart(run: Batch):
    acts = of_kind(run, "action")
    assert all(isinstance(act.attributes["arguments"], dict) for act in acts)
    assert any("make test" in str(act.attributes.get("command")) for act in acts)
    assert acts[0].attributes.get("path", acts[0].attributes.get("command")) in ("parser.py", "cat parser.py")


def test_the_first_message_of_the_user_is_the_task_and_the_user_is_not_the_agent(run: Batch):
    first = next(item for item in of_kind(run, "message") if item.attributes["role"] == "user")
    assert first.text == ASKED
    assert first.subject == f"{first.thread}/user"


def test_what_is_said_beside_a_call_is_its_thought_and_no_message(run: Batch):
    if run.events[0].thread == "t2":  # there the model and the tool are spans of their own
        return
    assert THOUGHT in of_kind(run, "action")[0].attributes["thought"]
    assert THOUGHT not in [item.text for item in of_kind(run, "message")]


def test_results_are_what_the_tools_gave(run: Batch):
    attributes = [item.attributes for item in of_kind(run, "result")]
    given = [f"{item['result']} {item.get('error')}" for item in attributes]
    for wanted in (CODE, FAILED, MISSING):
        assert any(wanted in item for item in given)


def test_what_succeeded_has_no_error(run: Batch):
    fine = next(item for item in of_kind(run, "result") if CODE in item.attributes["result"])
    assert "error" not in fine.attributes
    assert fine.attributes.get("exit_code", 0) == 0


def test_calls_made_at_once_are_one_batch_and_others_are_in_none(run: Batch):
    acts = of_kind(run, "action")
    batches = Counter(act.attributes.get("batch") for act in acts)
    assert set(batches.values()) <= {1, 2, 3}
    if len(batches) > 1 and acts[0].attributes.get("batch") is None:
        assert batches[acts[1].attributes["batch"]] == 2


def test_tokens_of_a_message_are_counted_once(run: Batch):
    counted = [event.attributes["tokens"] for event in run.events if "tokens" in event.attributes]
    assert len(counted) <= 3


@for_each("size", [HEAD // 4, 2000, 700])
def test_a_head_cut_in_the_middle_is_no_error(case: Case, size: int):
    for name in PARTICULAR:
        assert registry.adapters.get(name).recognises(case.content[:size], "a") in (True, False)


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_torn_files_give_faults_with_a_line_and_never_another_error(case: Case, seed: int, tmp_path: Path):
    rng = random.Random(seed)
    path = tmp_path / case.name
    path.write_bytes(case.content[: rng.randrange(len(case.content) // 2, len(case.content))])
    batch = read_events([path], skip_bad=True)
    assert all(item.path == str(path) for item in batch.bad)
    if case.name.endswith((".jsonl", ".eval", ".md")):  # the end of a text is not marked
        return
    assert batch.bad_count


def test_lines_before_a_torn_last_line_are_kept(case: Case, tmp_path: Path):
    if not case.name.endswith(".jsonl") or case.content.count(b"\n") < 3:
        return
    path = tmp_path / case.name
    path.write_bytes(case.content[:-20])
    batch = read_events([path], skip_bad=True)
    assert len(batch.events) >= len(read(case, tmp_path).events) - 2
    assert [item.line for item in batch.bad] == [case.content.count(b"\n")]


def test_runs_of_all_formats_can_be_read_from_one_folder(tmp_path: Path):
    for timed in (True, False):
        folder = tmp_path / str(timed)
        folder.mkdir()
        for number, entry in enumerate(run for run in RUNS if run.timed is timed):
            (folder / str(number)).mkdir()
            (folder / str(number) / entry.name).write_bytes(entry.content)
        batch = read_events([folder], skip_bad=True)
        assert {event.text for event in of_kind(batch, "message")} >= {ASKED, SAID}
