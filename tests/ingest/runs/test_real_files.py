"""Every real file there is an adapter for, beside a plain count of what it holds."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ethogram import registry
from ethogram.ingest import read_events
from ethogram.ingest.format import HEAD

DATA = Path(os.environ.get("ETHOGRAM_DATA") or "/nowhere")
MISSING = "no real data: set ETHOGRAM_DATA to a folder with raw/ and runs/"
Counts = tuple[int, int]
PARTICULAR = [name for name, item in registry.adapters.items() if not item.general]


def documents(path: Path) -> list[Any]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    try:
        return [json.loads(raw)]
    except ValueError:
        return [json.loads(line) for line in raw.splitlines() if line.strip()]


def blocks(path: Path) -> Iterator[dict[str, Any]]:
    for document in documents(path):
        for line in document.get("loglines", [document]):
            content = (line.get("message") or {}).get("content")
            yield from (
                (item for item in content if isinstance(item, dict)) if isinstance(content, list) else ()
            )


def of_claude(path: Path) -> Counts:
    kinds = Counter(block["type"] for block in blocks(path))
    return kinds["tool_use"], kinds["tool_result"]


def of_tau(path: Path) -> Counts:
    (told,) = documents(path)
    talk = [item for trial in (told if isinstance(told, list) else [told]) for item in trial["traj"]]
    return sum(len(item.get("tool_calls") or ()) for item in talk), sum(
        item["role"] == "tool" for item in talk
    )


def of_swe_agent(path: Path) -> Counts:
    count = len(documents(path)[0]["trajectory"])
    return count, count


def of_mini(path: Path) -> Counts:
    talk = documents(path)[0]["messages"]
    count = sum(item["content"].count("```bash") == 1 for item in talk if item["role"] == "assistant")
    return count, count


def of_openhands_v0(path: Path) -> Counts:
    values = documents(path)
    events = [item for run in values for item in (run if isinstance(run, list) else run["history"])]
    acts = Counter(event.get("action") for event in events)
    seen = Counter(event.get("observation") for event in events)
    known = ("run", "edit", "read", "think", "finish", "error", "write", "run_ipython")
    return sum(acts[item] for item in known), sum(seen[item] for item in known)


def of_openhands_sdk(path: Path) -> Counts:
    kinds = Counter(document.get("kind") for document in documents(path))
    return kinds["ActionEvent"], kinds["ObservationEvent"] + kinds["AgentErrorEvent"]


def of_atif(path: Path) -> Counts:
    steps = [document for document in documents(path)[0]["steps"] if document["source"] == "agent"]
    seen = [len(step.get("observation", {}).get("results", ())) for step in steps]
    return sum(
        len(step["tool_calls"]) if "tool_calls" in step else "observation" in step for step in steps
    ), sum(seen)


def of_inspect(path: Path) -> Counts:
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as packed:
            names = [name for name in packed.namelist() if name.startswith("samples/")]
            samples = [json.loads(packed.read(name)) for name in names]
    else:
        samples = documents(path)[0]["samples"]
    calls = sum(len(m.get("tool_calls") or ()) for sample in samples for m in sample["messages"])
    seen = sum(m["role"] == "tool" for sample in samples for m in sample["messages"])
    # A call may end after the last message; then only an event has its result.
    return calls, max(seen, sum(e["event"] == "tool" for sample in samples for e in sample.get("events", ())))


def of_otel(path: Path) -> Counts:
    def walk(spans: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for span in spans:
            yield span
            yield from walk(span["child_spans"])

    spans = list(walk(documents(path)[0]["spans"]))
    tools = sum(span["span_attributes"].get("openinference.span.kind") == "TOOL" for span in spans)
    steps = sum(span["span_name"].startswith("Step ") for span in spans)
    return tools + steps, tools + steps


def of_records(path: Path) -> Counts:
    kinds = Counter(step["kind"] for run in documents(path) for step in run["steps"])
    return kinds["tool_call"], kinds["tool_result"]


FORMATS: list[tuple[str, str, str, Callable[[Path], Counts]]] = [
    ("claude_code", "raw/claude-code-jsonl", "*", of_claude),
    ("tau_bench", "raw/tau-bench", "*", of_tau),
    ("tau_bench", "raw/docent", "tb_*", of_tau),
    ("swe_agent", "raw/swe-agent-traj", "*", of_swe_agent),
    ("mini_swe_agent", "raw/mini-swe-agent", "*", of_mini),
    ("openhands_v0", "raw/openhands-v0-events", "*", of_openhands_v0),
    ("openhands_sdk", "raw/openhands-v1-events", "*", of_openhands_sdk),
    ("atif", "raw/atif", "*", of_atif),
    ("inspect", "raw/inspect", "*", of_inspect),
    ("inspect", "raw/docent", "ctf*", of_inspect),
    ("otel", "raw/otel-openinference-trail", "*[0-9a-f].json", of_otel),
    ("run_records", "runs", "*.jsonl.gz", of_records),
]
FILES = [
    (name, path, count)
    for name, folder, pattern, count in FORMATS
    for path in sorted((DATA / folder).glob(pattern))
    if "annotations" not in path.name
]


def head_of(path: Path) -> bytes:
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        return file.read(HEAD)


@pytest.mark.skipif(not (DATA / "raw").is_dir(), reason=MISSING)
def test_there_are_real_files():
    assert {name for name, _, _ in FILES} == {name for name, _, _, _ in FORMATS}


@pytest.mark.parametrize(
    ("name", "path", "count"), FILES, ids=[f"{file[0]}-{file[1].name}" for file in FILES]
)
def test_a_real_file_is_read_in_full(name: str, path: Path, count: Callable[[Path], Counts]):
    head = head_of(path)
    assert [item for item in PARTICULAR if registry.adapters.get(item).recognises(head, "a")] == [name]
    batch = read_events([path])
    kinds = Counter(event.kind for event in batch.events)
    assert (kinds["action"], kinds["result"]) == count(path)
    assert batch.skipped == {}
    assert batch.repeated == 0
    given = [event.attributes["tool"] for event in batch.events if event.kind == "result"]
    assert "unknown" not in given
