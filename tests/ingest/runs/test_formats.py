"""What is particular to each format of runs, apart from Claude Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ethogram.ingest import Batch, read_events
from run_cases import (
    ATIF,
    CHAT,
    CODEX,
    EVALUATED,
    HANDS,
    INFERRED,
    ITEMS,
    LANGCHAIN,
    MINI,
    PLAIN,
    RECORDS,
    SAMPLE,
    SDK,
    SPANS,
    STATE,
    TAU,
    TRAJ,
    inferred,
    lines,
    plain,
    record,
    sdk,
    step,
    text,
    zipped,
)


def read(folder: Path, content: bytes, name: str = "run.json", **options: Any) -> Batch:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return read_events([path], **options)


def acts(batch: Batch) -> list[Any]:
    return [event for event in batch.events if event.kind == "action"]


def results(batch: Batch) -> list[Any]:
    return [event.attributes for event in batch.events if event.kind == "result"]


# --- OpenHands --------------------------------------------------------------------------------


def test_openhands_keeps_exit_codes_apart_from_errors(tmp_path: Path):
    fine, failed, missing = results(read(tmp_path, text(HANDS)))
    assert ("error" in fine, failed["exit_code"], "error" in failed) == (False, 1, False)
    assert missing["error"] == "no such file: notes.md"
    assert missing["tool"] == "editor"


def test_openhands_evaluation_is_a_run_for_each_instance(tmp_path: Path):
    two = [EVALUATED[0], {**EVALUATED[0], "instance_id": "i-9"}]
    batch = read(tmp_path, lines(*two), "output.jsonl")
    assert {event.thread for event in batch.events} == {f"{tmp_path.name}/output/i-{k}" for k in (1, 9)}


def test_openhands_oldest_histories_hold_pairs(tmp_path: Path):
    pairs = [[HANDS[2], HANDS[3]], [HANDS[4], HANDS[5]]]
    batch = read(tmp_path, lines({**EVALUATED[0], "history": pairs}), "output.jsonl")
    assert [event.kind for event in batch.events] == ["action", "result"] * 2


def test_openhands_unknown_kinds_are_counted_and_known_noise_is_not(tmp_path: Path):
    strange = [{**HANDS[0], "action": "dance"}, {**HANDS[1], "observation": "null"}]
    batch = read(tmp_path, text([*HANDS, *strange]))
    assert batch.skipped == {"records of the unknown type 'dance'": 1}


def test_openhands_sdk_files_of_one_folder_are_one_run(tmp_path: Path):
    folder = tmp_path / "talk-1" / "events"
    folder.mkdir(parents=True)
    (tmp_path / "talk-1" / "base_state.json").write_bytes(text(STATE))
    for k, event in enumerate(SDK):
        (folder / f"event-{k:05d}-{event['id']}.json").write_bytes(text(event))
    batch = read_events([tmp_path])
    assert {event.thread for event in batch.events} == {"talk-1"}
    assert [event.kind for event in batch.events].count("action") == 3
    alone = read(tmp_path, lines(*SDK), "talk-1.jsonl")
    assert [event.id.split("/")[-1] for event in batch.events] == [
        event.id.split("/")[-1] for event in alone.events
    ]
    failed = next(result for result in results(batch) if result.get("exit_code"))
    assert (failed["tool"], failed["command"]) == ("terminal", "make test")
    assert len({act.attributes["batch"] for act in acts(batch)}) == 2


def test_openhands_sdk_condensation(tmp_path: Path):
    batch = read(tmp_path, lines(*SDK, sdk(9, "Condensation", "environment", summary="short")), "a.jsonl")
    assert [(event.kind, event.text) for event in batch.events][-1] == ("condensation", "short")


# --- SWE-agent, mini-swe-agent, tau-bench -------------------------------------------------------


@pytest.mark.parametrize("first", ["environment", "trajectory", "history", "info"])
def test_swe_agent_in_any_order_of_keys(first: str, tmp_path: Path):
    batch = read(tmp_path, text({first: TRAJ[first], **TRAJ}), "i-3.traj")
    assert [act.attributes["tool"] for act in acts(batch)] == ["open", "bash", "bash"]
    assert {event.thread for event in batch.events} == {"i-3"}


def test_swe_agent_says_what_is_known_of_the_run_once(tmp_path: Path):
    batch = read(tmp_path, text(TRAJ), "i-3.traj")
    assert [event.attributes.get("labels", {}).get("exit_status") for event in batch.events][:2] == [
        "submitted",
        None,
    ]
    assert "A demonstration." not in [event.text for event in batch.events]
    assert acts(batch)[0].attributes["path"] == "parser.py"
    assert results(batch)[2]["duration"] == 0.5


def test_swe_agent_edits_are_of_the_open_file(tmp_path: Path):
    state = {"open_file": "/code/parser.py", "working_dir": "/code"}
    item = {"action": "edit 1:2\nx = 1\nend_of_edit", "observation": "ok", "state": state}
    act = acts(read(tmp_path, text({**TRAJ, "trajectory": [item]}), "a.traj"))[0].attributes
    assert (act["tool"], act["path"], act["cwd"]) == ("edit", "/code/parser.py", "/code")


def test_swe_agent_demonstrations_have_only_a_history(tmp_path: Path):
    batch = read(tmp_path, text({"history": TRAJ["history"]}), "demo.traj")
    assert [event.attributes["role"] for event in batch.events] == ["system", "user", "assistant"]


def test_mini_swe_agent_reads_commands_and_return_codes(tmp_path: Path):
    batch = read(tmp_path, text(MINI))
    assert [act.attributes["command"] for act in acts(batch)] == [
        "cat parser.py",
        "make test",
        "cat notes.md",
    ]
    assert [result["exit_code"] for result in results(batch)] == [0, 2, 1]
    assert batch.events[0].thread == "i-2"


def test_mini_swe_agent_with_calls_of_tools(tmp_path: Path):
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    talk = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "", "tool_calls": [call], "extra": {"timestamp": 1_770_000_000}},
        {
            "role": "tool",
            "tool_call_id": "c",
            "content": "x",
            "extra": {"returncode": 3, "timestamp": 1_770_000_001},
        },
        {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
    ]
    batch = read(tmp_path, text({**MINI, "messages": talk}))
    assert (results(batch)[0]["exit_code"], results(batch)[0]["command"], batch.skipped) == (3, "ls", {})


def test_mini_swe_agent_an_answer_without_one_command_is_a_message(tmp_path: Path):
    talk = [
        *MINI["messages"][:2],
        {"role": "assistant", "content": "Hm."},
        {"role": "user", "content": "One action."},
    ]
    batch = read(tmp_path, text({**MINI, "messages": talk}))
    assert [event.attributes["role"] for event in batch.events] == ["system", "user", "assistant", "user"]


def test_a_command_that_took_too_long_is_an_error(tmp_path: Path):
    late = {"role": "user", "content": "The last command <command>sleep 99</command> timed out."}
    batch = read(tmp_path, text({**MINI, "messages": [*MINI["messages"][:3], late]}))
    assert results(batch)[0]["error"].startswith("The last command")


def test_tau_bench_results_that_begin_with_error_failed(tmp_path: Path):
    batch = read(tmp_path, text(TAU))
    assert ["error" in result for result in results(batch)] == [False, False, True]
    assert batch.events[0].attributes["labels"] == {"reward": 0.0}
    assert batch.events[0].thread == "run/4-1" or batch.events[0].thread.endswith("run/4-1")


def test_tau_bench_users_of_two_trials_are_two(tmp_path: Path):
    batch = read(tmp_path, text([*TAU, {**TAU[0], "trial": 2}]), "airline.json")
    users = {event.subject for event in batch.events if event.attributes.get("role") == "user"}
    assert users == {"airline/4-1/user", "airline/4-2/user"}


# --- ATIF and Inspect ---------------------------------------------------------------------------


def test_atif_names_its_agent_and_tells_compactions(tmp_path: Path):
    batch = read(tmp_path, text(ATIF))
    assert acts(batch)[0].subject == "mender"
    assert (acts(batch)[0].attributes["cost"], acts(batch)[0].attributes["tokens"]) == (0.01, 4)
    assert "condensation" in [event.kind for event in batch.events]


def test_atif_observations_without_calls_are_those_of_a_terminal(tmp_path: Path):
    seen = step(1, "agent", "ls", observation={"results": [{"content": "files"}]})
    batch = read(tmp_path, text({**ATIF, "steps": [seen, step(2, "robot", "?")]}))
    assert [event.attributes["tool"] for event in batch.events] == ["terminal", "terminal"]
    assert batch.skipped == {"records of the unknown type 'robot'": 1}


def test_inspect_fetches_what_stands_apart_and_tells_types_of_errors(tmp_path: Path):
    batch = read(tmp_path, zipped(one=SAMPLE), "mend.eval")
    assert batch.events[0].text == "You mend code."
    assert results(batch)[2]["error_type"] == "file_not_found"
    assert batch.events[0].attributes["labels"] == {"scores": {"right": "I"}}
    assert batch.events[0].attributes["model"] == "m"


def test_inspect_calls_that_ended_after_the_last_message_are_told(tmp_path: Path):
    cut = {**SAMPLE, "messages": SAMPLE["messages"][:5]}
    batch = read(tmp_path, zipped(one=cut), "mend.eval")
    assert (len(acts(batch)), len(results(batch))) == (3, 3)


# --- spans --------------------------------------------------------------------------------------


def test_spans_in_any_order_give_the_same_events(tmp_path: Path):
    forward = read(tmp_path, lines(*SPANS), "a.jsonl").events
    backward = read(tmp_path, lines(*reversed(SPANS)), "a.jsonl").events
    assert [(item.kind, item.text) for item in forward] == [(item.kind, item.text) for item in backward]


def test_an_agent_inside_another_is_its_sub_agent(tmp_path: Path):
    tool = inferred(9, 8, "TOOL", "look", 5, attributes={"tool.name": "look"})
    helper = inferred(8, 1, "AGENT", "Helper.run", 4, children=[tool])
    top = {**INFERRED["spans"][0], "child_spans": [helper]}
    act = acts(read(tmp_path, text({**INFERRED, "spans": [top]})))[0]
    assert (act.subject, act.attributes["parent"]) == ("Mender/Helper", "Mender")


def test_steps_of_an_agent_that_writes_code_are_calls(tmp_path: Path):
    said = {"llm.output_messages.0.message.content": "Thought: add.\n```py\nprint(1)\n```"}
    model = inferred(3, 2, "LLM", "call", 1, attributes=said)
    out = {"output.value": "Execution logs: 1"}
    item = inferred(2, 1, "CHAIN", "Step 1", 1, attributes=out, children=[model], status_message="it broke")
    batch = read(tmp_path, text({**INFERRED, "spans": [{**INFERRED["spans"][0], "child_spans": [item]}]}))
    act, result = acts(batch)[0].attributes, results(batch)[0]
    assert (act["tool"], act["command"]) == ("python", "print(1)")
    assert (result["error"], result["result"]) == ("it broke", "Execution logs: 1")


def test_unknown_kinds_of_spans_are_counted_and_other_spans_are_not(tmp_path: Path):
    more = [inferred(20, None, "DANCE", "x", 1), {**inferred(21, None, "", "http", 1), "span_attributes": {}}]
    batch = read(tmp_path, text({**INFERRED, "spans": [*INFERRED["spans"], *more]}))
    assert batch.skipped == {"records of the unknown type 'DANCE'": 1}


# --- messages -------------------------------------------------------------------------------------


def test_chat_with_the_answer_beside_the_request(tmp_path: Path):
    answer = {"choices": [{"message": {"role": "assistant", "content": "Hi."}}], "usage": {"total_tokens": 4}}
    told = {"id": "q", "request": {"messages": CHAT[:2]}, "response": answer}
    batch = read(tmp_path, lines(told), "log.jsonl")
    assert [event.text for event in batch.events][1:] == ["Mend the parser, please.", "Hi."]
    assert batch.events[2].attributes["tokens"] == 4


def test_chat_arguments_may_be_objects_and_calls_may_be_of_the_old_kind(tmp_path: Path):
    talk = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": {"path": "a"}}},
        {"role": "function", "name": "look", "content": "seen"},
    ]
    batch = read(tmp_path, text(talk))
    assert (acts(batch)[0].attributes["path"], results(batch)[0]["path"]) == ("a", "a")


def test_codex_reads_exit_codes_and_compactions(tmp_path: Path):
    batch = read(tmp_path, lines(*CODEX), "rollout.jsonl")
    failed = next(result for result in results(batch) if "exit_code" in result)
    assert (failed["exit_code"], failed["duration"], failed["command"]) == (1, 2, "make test")
    assert [event.kind for event in batch.events][-1] == "condensation"
    assert acts(batch)[0].attributes["model"] == "m"


def test_items_of_an_unknown_type_are_counted(tmp_path: Path):
    batch = read(tmp_path, text([*ITEMS, {"type": "teleport_call_thing"}]))
    assert batch.skipped == {"records of the unknown type 'teleport_call_thing'": 1}


def test_langchain_states_that_repeat_messages_tell_each_once(tmp_path: Path):
    named = [{**item, "data": {**item["data"], "id": str(k)}} for k, item in enumerate(LANGCHAIN)]
    states = [{"messages": named[:k]} for k in range(1, len(named) + 1)]
    assert len(read(tmp_path, lines(*states), "states.jsonl").events) == len(
        read(tmp_path, text(LANGCHAIN)).events
    )


# --- ours -------------------------------------------------------------------------------------------


def test_run_records_keep_labels_and_steps(tmp_path: Path):
    batch = read(tmp_path, lines(RECORDS), "runs.jsonl")
    first, act = batch.events[0].attributes, acts(batch)[0].attributes
    assert (first["label"], first["labels"]) == ("failure", {"resolved": False})
    assert first["task"] == "Mend the parser, please."
    assert (act["step"], act["thought_step"], act["tokens"]) == (2, 1, 7)
    assert results(batch)[2]["labels"] == {"category": "x"}
    assert "label" not in batch.events[1].attributes


def test_run_records_without_all_times_have_those_of_the_step_before(tmp_path: Path):
    steps = [
        record(0, "user", "message", text="Go."),
        record(1, "agent", "tool_call", tool="t", args={}, at="2026-01-01T00:00:05Z"),
        record(2, "tool", "tool_result", text="x"),
    ]
    batch = read(tmp_path, lines({**RECORDS, "steps": steps}), "runs.jsonl")
    assert batch.timed
    assert {event.at.second for event in batch.events} == {5}


SAYS, ACTS, HELPS = ("agent", "message"), ("agent", "tool_call"), ("helper", "message")
ASKS, SYSTEM = ("user", "message"), ("system", "message")


@pytest.mark.parametrize(
    ("steps", "marked"),
    [
        ([ASKS, ACTS, SAYS, ASKS], True),  # the agent acts first
        ([ASKS, SAYS, HELPS, SAYS], True),  # several agents
        ([ASKS, SAYS, SYSTEM, ACTS, ACTS], True),  # a plan, then nothing but work
        ([ASKS, SAYS, SYSTEM, ASKS, ASKS, ACTS, ASKS], True),  # a scaffold speaks for the user
        ([ASKS, SAYS, ASKS, ACTS, SAYS], False),  # a customer, and an agent that acts at last
        ([ASKS, SAYS, SYSTEM, ACTS, ACTS, ACTS, SAYS, ASKS, SAYS], False),
        ([ASKS, SAYS, SYSTEM, HELPS, ASKS, HELPS, HELPS], False),  # handed over to another agent
        ([SYSTEM, ASKS, SAYS, ASKS], False),
    ],
)
def test_what_a_user_writes_to_agents_at_work_is_a_task_and_a_conversation_is_none(
    steps: list[tuple[str, str]], marked: bool, tmp_path: Path
):
    own = [
        {"actor": who, "kind": kind, "text": f"text {n}", "tool": "bash"}
        for n, (who, kind) in enumerate(steps)
    ]
    run, named = {"run_id": "r", "steps": own}, {"run_id": "s", "task": "text 0", "steps": own[:2]}
    events = read(tmp_path, lines(run, named), "runs.jsonl").events
    of_user = [event for event in events if event.attributes.get("role") == "user"]
    assert {event.attributes.get("task_prompt", False) for event in of_user if event.thread == "r"} == {
        marked
    }
    assert all(
        event.attributes.get("task_prompt")
        for event in of_user
        if event.thread == "s" and event.text == "text 0"
    )


@pytest.mark.parametrize(
    ("graded", "marked"), [({}, None), ({"label": "failure"}, True), ({"labels": {"reward": 0}}, True)]
)
def test_the_user_of_a_graded_run_is_played(graded: dict[str, Any], marked: bool | None, tmp_path: Path):
    steps = [
        {"actor": who, "kind": kind, "text": f"text {n}", "tool": "book"}
        for n, (who, kind) in enumerate([ASKS, SAYS, ASKS, ACTS, SAYS, ASKS])
    ]
    events = read(tmp_path, lines({"run_id": "r", "steps": steps, **graded}), "runs.jsonl").events
    of_user = [event for event in events if event.attributes.get("role") == "user"]
    assert [event.attributes.get("task_prompt") for event in of_user] == [marked] * 3


def test_run_records_with_unknown_kinds_and_faults(tmp_path: Path):
    odd = {
        **RECORDS,
        "run_id": "odd",
        "steps": [record(0, "agent", "dream"), 5, record(2, "agent", "tool_call", tool={"name": "bash"})],
    }
    batch = read(tmp_path, lines(RECORDS, odd, {"run_id": "x", "steps": 3}), "runs.jsonl", skip_bad=True)
    assert batch.skipped == {"records of the unknown type 'dream'": 1}
    assert {(item.line, item.message) for item in batch.bad} == {
        (2, "a step must be an object, not a number"),
        (2, "the name of a tool must be text, not an object"),
        (3, "steps must be a list, not a number"),
    }


def test_a_call_without_the_name_of_a_tool_is_a_step_and_hides_no_other_run(tmp_path: Path):
    calls = [
        step
        for n in range(0, 8, 2)
        for step in (
            record(
                n, "agent", "tool_call", args={"input": f"attempt {n}"}, tool=("", None, " ", "bash")[n // 2]
            ),
            record(n + 1, "tool", "tool_result", text="Error: the command has no name"),
        )
    ]
    events = read(tmp_path, lines(RECORDS, {**RECORDS, "run_id": "odd", "steps": calls}), "runs.jsonl").events
    odd = [event for event in events if event.thread == "odd"]
    named = [event.attributes["tool"] for event in odd]
    assert named == [name for name in ("unknown", "unknown", "unknown", "bash") for _ in ("call", "result")]
    assert [event.kind for event in odd] == ["action", "result"] * 4


def test_a_result_whose_text_was_not_recorded_is_not_an_empty_one(tmp_path: Path):
    call = record(0, "agent", "tool_call", tool="bash", args={"command": "ls"})
    ended = [record(1, "tool", "tool_result", tool="bash", **text) for text in ({}, {"text": ""})]
    for told, expected in zip(ended, (None, ""), strict=True):
        run = {**RECORDS, "run_id": "r", "steps": [call, told]}
        [result] = results(read(tmp_path, lines(run), "runs.jsonl"))
        assert result.get("result") == expected


def test_plain_lines_are_joined_without_being_changed(tmp_path: Path):
    batch = read(tmp_path, lines(*PLAIN), "plain.jsonl")
    assert [result.get("command") for result in results(batch)] == [None, "make test", None]
    assert [result.get("path") for result in results(batch)] == ["parser.py", None, "notes.md"]
    assert [result["tool"] for result in results(batch)] == ["read_file", "bash", "read_file"]


def test_plain_lines_without_ids_are_joined_to_the_call_before(tmp_path: Path):
    told = [plain("action", tool="t", arguments={"cmd": "ls"}), plain("result", result="x")]
    assert results(read(tmp_path, lines(*told), "plain.jsonl"))[0]["command"] == "ls"


def test_json_in_an_odd_form_is_still_a_fault_with_a_place(tmp_path: Path):
    content = json.dumps(CHAT, indent=1)[:-30].encode()
    batch = read(tmp_path, content, skip_bad=True)
    assert len(batch.events) == 8
    assert batch.bad[0].line > 20
