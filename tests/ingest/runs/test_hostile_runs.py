"""Files that are almost a run: whatever stands in them, there are events and faults, and nothing else."""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ethogram import registry
from ethogram.ingest import Input, Limits, read_events
from ethogram.ingest.errors import BadLine
from ethogram.ingest.event_parser import Rules, fields_of
from run_cases import CASES, SAMPLE, Case, zipped
from sampling import for_each
from waiting import calls_of, ending

DEEP: Any = 1
for _ in range(60):
    DEEP = [DEEP]
STRANGE = [
    *(None, True, False, 0, -1, 7, 1e308, 10**400, "", "x", "\0", "\ud800", "9" * 5000, "2026-99-99", [], {}),
    *(
        [[]],
        [None],
        {"a": {}},
        ["x", 1],
        {"type": "text"},
        [{"type": []}],
        {"role": {}},
        DEEP,
        "word " * 60_000,
    ),
]
JSON_CASES = [case for case in CASES if not case.name.endswith((".eval", ".md"))]


def values(case: Case) -> list[Any]:
    raw = case.content.decode()
    return (
        [json.loads(line) for line in raw.splitlines()] if case.name.endswith(".jsonl") else [json.loads(raw)]
    )


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from places(inner)


def written(case: Case, record: list[Any]) -> bytes:
    lines = case.name.endswith(".jsonl")
    return b"\n".join(json.dumps(item, indent=None if lines else 1).encode() for item in record)


def check(case: Case, content: bytes) -> None:
    """Every record is a line, text, or an event that passes or fails the checks of all events."""
    file = Input(case.name, io.BytesIO(content), content, {}, Limits())
    rules = Rules(Limits(), {})
    for line, record, column in registry.adapters.get(case.adapter).read(file):
        assert line >= 0
        assert column >= 0
        if isinstance(record, str):
            continue
        try:
            fields_of(record, rules)
        except BadLine:
            continue


@pytest.mark.parametrize("case", JSON_CASES, ids=lambda case: case.id)
def test_a_strange_value_in_any_one_place_is_a_fault_at_most(case: Case):
    record = values(case)
    count = sum(1 for item in record for _ in places(item))
    rng = random.Random(5)
    for number in rng.sample(range(count), min(count, 120)):
        changed = copy.deepcopy(record)
        box, key = [place for item in changed for place in places(item)][number]
        box[key] = rng.choice(STRANGE)
        check(case, written(case, changed))


@pytest.mark.parametrize("case", JSON_CASES, ids=lambda case: case.id)
def test_strange_values_in_many_places_are_faults_at_most(case: Case):
    rng = random.Random(6)
    for _ in range(40):
        changed = copy.deepcopy(values(case))
        for box, key in [place for item in changed for place in places(item)]:
            if rng.random() < 0.15:
                box[key] = rng.choice(STRANGE)
        check(case, written(case, changed))


@pytest.mark.parametrize("case", JSON_CASES, ids=lambda case: case.id)
def test_keys_that_are_missing_are_faults_at_most(case: Case):
    record = values(case)
    rng = random.Random(8)
    for _ in range(60):
        changed = copy.deepcopy(record)
        for box, key in [place for item in changed for place in places(item)]:
            if isinstance(box, dict) and rng.random() < 0.1:
                box.pop(key, None)
        check(case, written(case, changed))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@for_each("content", [b"[]", b"{}", b"null", b"1", b'["x"]', b'[{"a": 1}]', b'{"a": NaN}'])
def test_an_empty_or_foreign_document_gives_no_event(case: Case, content: bytes):
    file = Input("a", io.BytesIO(content), content, {}, Limits())
    records = list(registry.adapters.get(case.adapter).read(file))
    if case.adapter != "run_lines":
        assert not [record for record in records if isinstance(record[1], dict)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_reading_a_large_run_takes_calls_in_proportion(case: Case, tmp_path: Path):
    """Ten times as long a list of records: not a hundred times as long to read."""
    told = values(case) if case in JSON_CASES else []
    if len(told) < 3:
        return
    contents = [written(case, told * times) for times in (20, 200)]
    check(case, contents[0])  # what is loaded or looked up once
    with ending(f"reading {len(contents[1]):,} bytes"):
        short, long = (calls_of(lambda: check(case, content)) for content in contents)  # noqa: B023
    assert long < 15 * short


def test_a_long_result_is_cut_and_its_length_is_told(tmp_path: Path):
    path = tmp_path / "chat.json"
    call = {"id": "c", "function": {"name": "t", "arguments": json.dumps({"content": "y" * 300_000})}}
    talk = [
        {"role": "user", "content": "u" * 300_000},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "z" * 300_000},
    ]
    path.write_text(json.dumps(talk))
    said, act, result = read_events([path]).events
    assert (len(said.text or ""), said.attributes["text_length"]) == (200_000, 300_000)
    assert len(act.attributes["arguments"]["content"]) == 20_000
    assert (len(result.attributes["result"]), result.attributes["result_length"]) == (20_000, 300_000)


def test_a_zip_that_unpacks_to_too_much_is_refused(tmp_path: Path):
    path = tmp_path / "a.eval"
    path.write_bytes(zipped(one=SAMPLE, two={**SAMPLE, "input": "x" * 3_000_000}))
    small = read_events([path], limits=Limits(unpacked=1_000_000), skip_bad=True)
    assert [item.message[:28] for item in small.bad] == ["unpacks to more than 1,000,0"]
    one_left = read_events([path], limits=Limits(whole=1_000_000), skip_bad=True)
    assert [item.message[:26] for item in one_left.bad] == ["samples/two.json: larger t"]
    assert one_left.events


def test_a_zip_with_a_broken_member_keeps_the_others(tmp_path: Path):
    path = tmp_path / "a.eval"
    path.write_bytes(zipped(one=SAMPLE, two="{not json"))
    batch = read_events([path], skip_bad=True)
    assert len({event.thread for event in batch.events}) == 1
    assert [item.message[:26] for item in batch.bad] == ["samples/two.json: not JSON"]


def test_another_zip_is_not_taken_for_a_log(tmp_path: Path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("word/document.xml", "<a/>")
    assert not registry.adapters.get("inspect").recognises(packed.getvalue(), "a.docx")


def test_a_line_over_the_limit_of_event_lines_is_read(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    content = [{"type": "text", "text": "hello"}, {"type": "image", "source": {"data": "A" * 2_000_000}}]
    line = {"type": "user", "sessionId": "s", "uuid": "u", "timestamp": "2026-01-01T00:00:00Z"}
    path.write_text(json.dumps({**line, "message": {"role": "user", "content": content}}))
    assert read_events([path]).events[0].text == "hello\n[image]"
