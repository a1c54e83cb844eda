"""The ledger: nothing of a file becomes no event without a word, whatever a new version renames."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tests.run_cases import CASES, CHAT, Case, lines, text

from ethogram import analyze
from ethogram.app.live.receiver import Receiver
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.errors import BadEvents
from ethogram.ingest import Batch, read_events
from ethogram.ingest.ledger import BECAME_NO_EVENT, Ledger

NATIVE = {case.name: case for case in CASES if case.adapter != "aider" and not case.name.endswith(".eval")}
"""One file in each way a program writes; text and archives are not renamed here."""
Path_ = tuple[str | int, ...]
Change = Callable[[Any], Any]


def read(path: Path, content: bytes) -> Batch | None:
    """What is read of a file; None where it is refused with its faults."""
    path.write_bytes(content)
    try:
        return read_events(path)
    except BadEvents:
        return None


def parsed(case: Case) -> tuple[Any, Callable[[Any], bytes]]:
    """The values of a file, and how they are written."""
    try:
        return json.loads(case.content), text
    except ValueError:
        return [json.loads(line) for line in case.content.splitlines()], lambda values: lines(*values)


def places(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Every place in a value, and what is there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key), inner
        yield from places(inner, (*path, key))


def changed(value: Any, key_of: Change, value_of: Change) -> Any:
    """The value with other keys and other texts, wherever they are."""
    if isinstance(value, dict):
        return {key_of(key): changed(inner, key_of, value_of) for key, inner in value.items()}
    if isinstance(value, list):
        return [changed(inner, key_of, value_of) for inner in value]
    return value_of(value)


def renamed_everywhere(values: Any) -> Iterator[tuple[str, Any]]:
    """The values as a new version would write them, which has another word for one key or one value."""
    found = [(path[-1], inner) for path, inner in places(values)]
    for name in sorted({key for key, _ in found if isinstance(key, str)}):
        yield f"key {name}", changed(values, lambda key, n=name: f"{n}_v2" if key == n else key, lambda v: v)
    for word in sorted({inner for _, inner in found if isinstance(inner, str)}):
        yield f"value {word}", changed(values, lambda k: k, lambda v, w=word: f"{w}_v2" if v == w else v)


def renamed_once(values: Any) -> Iterator[tuple[str, Any]]:
    """The values with one key or one value changed in one place."""
    for path, inner in places(values):
        parent: Any = copy.deepcopy(values)
        whole = parent
        for step in path[:-1]:
            parent = parent[step]
        if isinstance(parent, dict):
            kept = {(f"{key}_v2" if key == path[-1] else key): value for key, value in parent.items()}
            parent.clear()
            parent.update(kept)
            yield f"key {path}", whole
        if not isinstance(inner, (dict, list)):
            whole = copy.deepcopy(values)
            parent = whole
            for step in path[:-1]:
                parent = parent[step]
            parent[path[-1]] = f"{inner}_v2"
            yield f"value {path}", whole


@pytest.mark.parametrize("case", NATIVE.values(), ids=lambda case: case.id)
def test_no_renamed_key_or_value_loses_an_event_without_a_word(case: Case, tmp_path: Path) -> None:
    values, written = parsed(case)
    whole = read(tmp_path / case.name, case.content)
    assert whole is not None
    silent = []
    for change, other in chain(renamed_everywhere(values), renamed_once(values)):
        batch = read(tmp_path / case.name, written(other))
        is_told = batch is None or any(n > whole.skipped.get(why, 0) for why, n in batch.skipped.items())
        if batch is not None and not is_told and len(batch.events) < len(whole.events):
            silent.append(change)
    assert silent == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_nothing_is_told_where_all_was_read(case: Case, tmp_path: Path) -> None:
    batch = read(tmp_path / case.name, case.content)
    assert batch is not None
    assert [why for why in batch.skipped if BECAME_NO_EVENT in why] == []


WRITTEN = sorted((Path(__file__).parent / "written").iterdir())


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_nothing_is_told_of_files_that_packages_wrote(path: Path) -> None:
    assert [why for why in read_events(path).skipped if BECAME_NO_EVENT in why] == []


# What is told.


def without_calls(folder: Path, name: str = "chat.json") -> Path:
    """A chat whose three calls are under a key that nobody knows. Six of its eight messages only speak."""
    messages = [
        {("tool_uses" if key == "tool_calls" else key): value or "" for key, value in message.items()}
        for message in CHAT
    ]
    path = folder / name
    path.write_bytes(text(messages))
    return path


LOST = f"of 9 objects in the input {BECAME_NO_EVENT} (3 in tool_uses[])"


def test_the_objects_that_were_lost_are_counted_with_their_place(tmp_path: Path) -> None:
    assert read_events(without_calls(tmp_path)).skipped == {LOST: 3}


def test_files_are_one_ledger(tmp_path: Path) -> None:
    paths = [without_calls(tmp_path, "a.json"), without_calls(tmp_path, "b.json")]
    assert read_events(paths).skipped == {LOST.replace("9", "18").replace("(3", "(6"): 6}


def test_an_analysis_has_one_sentence_with_the_numbers(tmp_path: Path) -> None:
    analysis = analyze(without_calls(tmp_path), patterns=["loop"])
    assert analysis.notes == [f"Skipped: 3 {LOST}"]
    assert analysis.summary()["skipped"] == {LOST: 3}


def test_an_analysis_has_no_note_where_all_was_read(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_bytes(text(CHAT))
    assert analyze(path, patterns=["loop"]).notes == []


def test_every_answer_has_the_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page, store = str(without_calls(tmp_path)), tmp_path / "report.html", str(tmp_path / "events.db")
    assert main(["analyze", path, "--patterns", "loop", "--html", str(page)]) == 0
    assert f"Skipped: 3 {LOST}" in capsys.readouterr().out
    assert f"Skipped: 3 {LOST}" in page.read_text("utf-8")
    assert main(["analyze", path, "--patterns", "loop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["skipped"] == {LOST: 3}
    assert main(["store", "import", path, "--store", store]) == 0
    assert f"Skipped: 3 {LOST}" in capsys.readouterr().out
    assert main(["watch", path, "--patterns", "loop", "--once"]) == 0
    assert f"skipped 3 {LOST}" in capsys.readouterr().err


def test_a_service_has_the_sentence(tmp_path: Path) -> None:
    receiver = Receiver(Settings(), keep_text=True)
    received = receiver.read(without_calls(tmp_path).read_bytes(), {}, source="a", now=datetime.now(UTC))
    assert received.skipped == {LOST: 3}


# The ledger itself.


def test_a_text_that_was_joined_cut_or_parsed_was_read() -> None:
    ledger = Ledger()
    ledger.see([{"text": "First part."}, {"text": "Second part."}, {"arguments": '{"command": "make test"}'}])
    ledger.take({"text": "First part.\nSecond part.", "attributes": {"arguments": {"command": "make test"}}})
    assert ledger.left_out() == {}


def test_each_text_of_an_object_counts() -> None:
    ledger = Ledger()
    step = {"action": "make test", "observation": "1 failed, 2 passed"}
    ledger.see({"steps": [step]})
    ledger.take({"attributes": {"command": step["action"]}})
    assert ledger.left_out() == {f"of 1 object in the input {BECAME_NO_EVENT} (1 in steps[])": 1}


def test_what_is_left_out_on_purpose_counts_as_seen() -> None:
    ledger = Ledger()
    progress = {"type": "progress", "text": "Still at it."}
    ledger.see([progress])
    ledger.settle(progress)
    assert (ledger.seen, ledger.left_out()) == (1, {})


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "a text",
        [],
        {},
        [[]],
        [{"key": 1, "value": 2}],
        {"role": "user"},
        [{"speaker": "ann", "text": ""}],
    ],
)
def test_an_object_without_content_is_none(value: Any) -> None:
    ledger = Ledger()
    ledger.see(value)
    assert (ledger.seen, ledger.left_out()) == (0, {})


def test_only_the_places_with_most_are_named() -> None:
    ledger = Ledger()
    ledger.see({f"list{n}": [{"said": f"Text {k} of {n}."} for k in range(n)] for n in range(1, 8)})
    (why,) = ledger.left_out()
    assert why.startswith(f"of 28 objects in the input {BECAME_NO_EVENT} (7 in list7[], 6 in list6[], ")
    assert why.endswith(", 3 in list3[], 3 elsewhere)")
