"""Files that real packages wrote, from a run that was scripted for this test: everything in it arrives.

A made-up model was served on this machine, and each package below recorded the same run in its own way: two
calls at once, of which the second fails; a third call; an answer. The model takes 100 + 20, 150 + 10 and
170 + 15 tokens.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ethogram.ingest import Batch, read_events

WRITTEN = Path(__file__).parents[1] / "written"
TASK = "Read the thermometer and the log of the shed."
ANSWER = "It is 18.5 degrees; the shed has no log."
TOKENS = [120, 160, 185]
FLAGGED = {
    # file: (who wrote it, whether the format says that a call failed)
    "openai_chat.jsonl": ("openai 3.49.0: requests, and model_dump of the completions", False),
    "openai_responses.jsonl": ("openai 3.49.0: requests, and model_dump of the responses", False),
    "anthropic.jsonl": ("anthropic 2.8.0: requests, and model_dump of the messages", True),
    "langchain_to_dict.json": ("langchain-core 1.7.2: messages_to_dict, from langgraph 1.2.20", True),
    "langchain_dumpd.json": ("langchain-core 1.7.2: dumpd", True),
    "langchain_model_dump.json": ("langchain-core 1.7.2: model_dump, over OpenAI's Responses", True),
    "langgraph_stream.jsonl": ("langgraph 1.2.20: stream with stream_mode=['updates']", True),
    "inspect.eval": ("inspect-ai 0.3.285, mockllm; packed with Zstandard", True),
    "otel_console.json": ("opentelemetry-instrumentation-openai-v2 2.4b0, ConsoleSpanExporter 1.45.2", True),
    "otel_with_log_records.jsonl": ("the same, content in log records and not in spans", True),
    "otel_twice.jsonl": (
        "opentelemetry-instrumentation-anthropic 0.62.4; anthropic 2.8.0 adds its own",
        False,
    ),
    "openinference.jsonl": ("openinference-instrumentation-openai 0.1.66, over OpenAI's Responses", False),
}


def acts(batch: Batch) -> list[Any]:
    return [event for event in batch.events if event.kind == "action"]


def results(batch: Batch) -> list[Any]:
    return [event for event in batch.events if event.kind == "result"]


def read(name: str) -> Batch:
    if name.endswith(".eval"):
        pytest.importorskip("pyarrow")
    batch = read_events([WRITTEN / name])
    assert not batch.skipped
    assert len({event.thread for event in batch.events}) == 1
    return batch


@pytest.mark.parametrize("name", FLAGGED)
def test_every_call_and_result_arrives_once(name: str) -> None:
    batch = read(name)
    calls = [(act.attributes["call_id"], act.attributes["tool"]) for act in acts(batch)]
    assert calls == [("call_a1", "read_sensor"), ("call_a2", "read_file"), ("call_b1", "list_files")]
    assert acts(batch)[1].attributes["path"] == "logs/shed.txt"
    told = {result.attributes["call_id"]: result.attributes for result in results(batch)}
    assert len(results(batch)) == len(told) == 3
    assert {key: item["tool"] for key, item in told.items()} == dict(calls)
    assert told["call_a1"]["result"] == "18.5 degrees"
    assert [key for key, item in told.items() if "error" in item] == ["call_a2"] * FLAGGED[name][1]
    assert "no such file" in f"{told['call_a2']['result']} {told['call_a2'].get('error')}"


@pytest.mark.parametrize("name", FLAGGED)
def test_words_thoughts_and_tokens_arrive_once(name: str) -> None:
    batch = read(name)
    said = [(event.attributes["role"], event.text) for event in batch.events if event.kind == "message"]
    heard = [("system", "You look after a garden shed."), ("user", TASK)]
    # What a graph streams is what its steps add; the task is not among it.
    assert said == [*(heard if name != "langgraph_stream.jsonl" else []), ("assistant", ANSWER)]
    assert "I look at both." in acts(batch)[0].attributes["thought"]
    counted = [event.attributes["tokens"] for event in batch.events if "tokens" in event.attributes]
    assert counted == TOKENS
    assert acts(batch)[0].attributes["batch"] == acts(batch)[1].attributes["batch"]


def test_codex_is_read_without_the_lines_it_writes_over_an_output() -> None:
    # codex-cli 0.166.0, with what it says of itself and of the machine left out.
    batch = read("codex.jsonl")
    attributes = [result.attributes for result in results(batch)]
    assert [item["command"] for item in attributes] == ["echo 18.5 degrees", "cat logs/shed.txt", "ls logs"]
    assert [item["result"] for item in attributes] == [
        "18.5 degrees\n",
        "cat: logs/shed.txt: No such file or directory\n",
        "garden.txt\n",
    ]
    assert [item["exit_code"] for item in attributes] == [0, 1, 0]
    assert [event.attributes["tokens"] for event in batch.events if "tokens" in event.attributes] == TOKENS


def test_tokens_are_counted_where_no_content_was_recorded() -> None:
    # openai-v2 2.4b0 as it is by default: spans of models tell neither words nor calls.
    batch = read_events([WRITTEN / "otel_without_content.jsonl"])
    assert [act.attributes["tool"] for act in acts(batch)] == ["read_sensor", "read_file", "list_files"]
    # The last answer is nowhere, so what it took stands with the call before it.
    assert [act.attributes.get("tokens") for act in acts(batch)] == [120, None, 160 + 185]
    assert sum(batch.skipped.values()) == 3
    assert "content was not recorded" in next(iter(batch.skipped))


def span(name: str, parent: str | None, **attributes: Any) -> dict[str, Any]:
    about = {"trace_id": "t", "span_id": name, "parent_id": parent, "name": name}
    return {**about, "start_time": "2026-01-05T12:00:00Z", "attributes": attributes}


CALLED = {
    "openinference.span.kind": "LLM",
    "llm.token_count.total": 120,
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "Done.",
}
BARE = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}


@pytest.mark.parametrize(
    "spans",
    [
        [span("outer", None, **CALLED), span("inner", "outer", **BARE)],
        [span("outer", None, **BARE), span("inner", "outer", **CALLED)],
        [span("outer", None, **CALLED), span("inner", "outer", **CALLED)],
    ],
)
def test_a_model_call_recorded_by_two_libraries_is_one(spans: list[Any], tmp_path: Path) -> None:
    (tmp_path / "spans.jsonl").write_text("".join(json.dumps(span) + "\n" for span in spans))
    batch = read_events([tmp_path / "spans.jsonl"])
    assert [(event.text, event.attributes["tokens"]) for event in batch.events] == [("Done.", 120)]
    assert not batch.skipped


def request(texts: list[str], answer: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": item} for n, item in enumerate(texts)]
    message = {"role": "assistant", "content": answer, "refusal": None}
    return {"request": {"messages": messages}, "response": {"choices": [{"message": message}]}}


def test_requests_of_several_conversations_are_told_apart(tmp_path: Path) -> None:
    log = [
        request(["Hello."], "Hi."),
        request(["Good day."], "Good day to you."),
        request(["Hello.", "Hi.", "How are you?"], "Well."),
        request(["Good day.", "Good day to you.", "And now?"], "Now we talk."),
        request(["Hello."], "Hi."),  # once more from the beginning: a conversation of its own
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(item) + "\n" for item in log))
    runs: dict[str | None, list[str]] = {}
    for event in read_events([tmp_path / "log.jsonl"]).events:
        runs.setdefault(event.thread, []).append(event.text or "")
    assert sorted(runs.values()) == [
        ["Good day.", "Good day to you.", "And now?", "Now we talk."],
        ["Hello.", "Hi."],
        ["Hello.", "Hi.", "How are you?", "Well."],
    ]


def test_without_what_unpacks_it_a_file_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import zipfile

    if hasattr(zipfile, "ZIP_ZSTANDARD"):
        pytest.skip("this Python unpacks it by itself")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    batch = read_events([WRITTEN / "inspect.eval"], skip_bad=True)
    assert not batch.events
    assert all(
        "Zstandard; what reads it comes with pip install -e '.[parquet]'" in item.message
        for item in batch.bad
    )
    assert batch.bad_count == 2
