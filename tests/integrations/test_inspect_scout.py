"""The scanner for Inspect Scout: detections with references to what they were read from.

The package needs an older DuckDB than ours, so its protocol is stood in for here. `ETHOGRAM_TEST_SCOUT` names
a Python with inspect_scout, inspect_ai and ethogram, which then scans a real log.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from environments import python_with
from ethogram.errors import BadUsage
from ethogram.integrations.inspect_scout import EVENTS, VERSION, ethogram_patterns, events_of

ERROR = "1 failed: AssertionError in test_a"


def transcript(times: int = 12, *, ended: bool = True) -> dict[str, Any]:
    """A run that repeats one failing call; without `ended`, the last result is an event only."""
    messages: list[dict[str, Any]] = [{"id": "m0", "role": "user", "content": "fix the test"}]
    events = []
    for number in range(times):
        call = {"id": f"c{number}", "function": "bash", "arguments": {"cmd": "pytest -x"}}
        at = f"2026-03-09T14:{number:02d}:00Z"
        events.append({"event": "tool", "uuid": f"u{number}", "timestamp": at, "result": ERROR, **call})
        if number < times - 1 or ended:
            messages += [
                {"id": f"a{number}", "role": "assistant", "content": "", "tool_calls": [call]},
                {"id": f"t{number}", "role": "tool", "content": ERROR, "tool_call_id": call["id"]},
            ]
    return {"transcript_id": "run-1", "messages": messages, "events": events}


@pytest.fixture
def scout(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A stand-in for the package: what the scanner was declared with."""
    declared: dict[str, Any] = {}

    def scanner(**options: Any) -> Callable[[Any], Any]:
        declared.update(options)
        return lambda factory: factory

    module = ModuleType("inspect_scout")
    module.scanner, module.Transcript = scanner, SimpleNamespace
    module.Result = module.Reference = lambda **fields: fields
    monkeypatch.setitem(sys.modules, "inspect_scout", module)
    return declared


def scan(patterns: list[str], content: dict[str, Any]) -> list[dict[str, Any]]:
    found = ethogram_patterns(patterns)(SimpleNamespace(model_dump=lambda mode: content))
    return asyncio.run(found)


def test_each_detection_is_a_result_with_references(scout):
    (result,) = scan(["repetitive_errors"], transcript())
    assert scout == {
        "name": "ethogram_patterns",
        "messages": "all",
        "events": list(EVENTS),
        "version": VERSION,
    }
    assert (result["label"], result["answer"], result["value"]) == ("repetitive_errors", "critical", 1.0)
    cites = [reference["cite"] for reference in result["references"]]
    assert result["explanation"].startswith(f'Repeated error: agent hit the error "{ERROR}"')
    assert result["explanation"].endswith(" ".join(cites))
    ids = {message["id"]: f"[M{number}]" for number, message in enumerate(transcript()["messages"], 1)}
    assert all(ids[item["id"]] == item["cite"] and item["type"] == "message" for item in result["references"])
    assert result["metadata"]["severity"] == "critical"


def test_a_quiet_transcript_has_no_result(scout):
    assert scan(["repetitive_errors"], transcript(1)) == []
    assert scan(["repetitive_errors"], {"transcript_id": "x", "messages": [], "events": []}) == []


def test_a_result_that_no_message_shows_refers_to_its_event():
    lines, sources = events_of(transcript(ended=False))
    assert set(sources) <= {line["id"] for line in lines}
    assert sources[lines[-1]["id"]] == ("event", "u11", "[E12]")


def test_annotations_say_what_the_scanner_takes(scout):
    assert ethogram_patterns(["loop"]).__annotations__["transcript"] is SimpleNamespace


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_scout", None)
    with pytest.raises(BadUsage, match="pip install inspect_scout"):
        ethogram_patterns()


REAL = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool
from inspect_scout import scan, scan_results_df, transcripts_from
from ethogram.integrations.inspect_scout import ethogram_patterns

@tool
def bash():
    async def execute(cmd: str):
        '''Run a command.

        Args:
            cmd: The command.
        '''
        return "1 failed: AssertionError in test_a"
    return execute

name, folder = "mockllm/model", sys.argv[1]
outputs = [ModelOutput.for_tool_call(name, "bash", {"cmd": "pytest -x"}) for _ in range(12)]
outputs += [ModelOutput.from_content(name, "done")]
for output in outputs:  # else tokens are counted, with a table from elsewhere
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
task = Task(dataset=[Sample(input="fix the test")], solver=[use_tools(bash()), generate()])
model = get_model(name, custom_outputs=outputs)
eval(task, model=model, log_dir=f"{folder}/logs", display="none")
logs, scans = transcripts_from(f"{folder}/logs"), f"{folder}/scans"
status = scan([ethogram_patterns()], transcripts=logs, scans=scans, display="none", max_processes=1)
rows = scan_results_df(status.location).scanners["ethogram_patterns"]
for row in rows.itertuples():
    print(row.label, row.answer, "[M" in row.explanation and "message" in row.message_references)
"""


@pytest.mark.long
def test_scout_itself_scans_a_log(tmp_path):
    line = [python_with("inspect_scout", "pandas"), "-c", REAL, str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-2:] == ["loop high True", "repetitive_errors critical True"]
