"""The plan of a folder: plain data, from which the process answers on the standard library alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ethogram.agents.hook import state_db
from ethogram.agents.hook.claude_code import load_plan
from ethogram.agents.hook.location import is_current, plan_path, read_data, write_data
from ethogram.agents.hook.plan import choose, prepare
from ethogram.agents.hook.replay import in_process, run_hook
from ethogram.config.learned import LEARNED_FILE, write_changes
from ethogram.patterns.library import load_patterns
from ethogram.risk.changes import Change
from settings_files import trusted_settings
from small import HOT, write_patterns


def failing(folder: Path, n: int) -> dict[str, object]:
    return {
        "session_id": "s",
        "cwd": str(folder),
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": f"cat notes-{n}.txt"},
        "tool_use_id": f"c{n}",
        "error": "Exit code 1\ncat: notes.txt: No such file or directory",
    }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ETHOGRAM_HOOK_DIR", str(tmp_path / "state"))
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_the_process_answers_as_the_code_does(place: Path, tmp_path: Path) -> None:
    tell = in_process(state_db.opened(str(tmp_path / "other.sqlite")), str(place))
    asked = [failing(place, n) for n in range(5)]
    answers = [run_hook(item) for item in asked]
    assert answers == [tell(item) for item in asked]
    # Another file each time, so it is not spoken of before the fourth.
    assert [bool(answer) for answer in answers] == [False, False, False, True, False]


def test_the_process_loads_the_standard_library_and_what_answers_alone(place: Path) -> None:
    run_hook(failing(place, 0))
    done = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", "-m", "ethogram", "hook"],
        input=json.dumps(failing(place, 1)).encode(),
        capture_output=True,
        check=True,
    )
    names = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines() if "|" in line}
    ours = {name for name in names if name.partition(".")[0] == "ethogram"}
    foreign = {name.partition(".")[0] for name in names - ours} - set(sys.stdlib_module_names)
    # What the interpreter itself loads at its start: the files in site-packages that say where packages are.
    assert {
        item for item in foreign if not item.startswith(("_", "apport", "imported", "sitecustomize"))
    } <= {"encodings"}
    assert "ethogram.agents.hook.claude_code" in ours
    assert not {our for our in ours if our.startswith(("ethogram.cli", "ethogram.app", "ethogram.patterns"))}


def test_a_plan_is_made_anew_when_the_settings_change(place: Path) -> None:
    prepare(str(place))
    before = read_data(plan_path(str(place)))
    assert before is not None
    assert is_current(before["stamp"])
    trusted_settings(place, "hook: {off: [loop, repetitive_errors]}\n", ".ethogram.yaml")
    assert not is_current(before["stamp"])
    assert [run_hook(failing(place, n)) for n in range(3)] == [{}, {}, {}]


def test_a_plan_is_made_anew_when_something_was_learned(place: Path) -> None:
    prepare(str(place))
    before = read_data(plan_path(str(place)))
    assert before is not None
    change = Change(datetime.now(UTC), "ann", "repetitive_errors", "threshold", 3, 9)
    write_changes(place / LEARNED_FILE, (change,))
    assert not is_current(before["stamp"])
    prepare(str(place))
    after = read_data(plan_path(str(place)))
    assert after is not None
    assert is_current(after["stamp"])
    assert after["watched"] != before["watched"]


def test_a_plan_that_cannot_be_read_is_made_anew(place: Path) -> None:
    path = Path(prepare(str(place)))
    path.write_bytes(path.read_bytes()[:1000])
    assert read_data(str(path)) is None
    assert run_hook(failing(place, 0)) == {}
    assert read_data(str(path)) is not None


def test_only_its_owner_can_read_what_is_kept(place: Path) -> None:
    run_hook(failing(place, 0))
    files = [path for path in Path(os.environ["ETHOGRAM_HOOK_DIR"]).rglob("*") if path.is_file()]
    assert files
    assert all(file.stat().st_mode & 0o077 == 0 for file in files if not file.name.endswith(("-wal", "-shm")))
    assert Path(os.environ["ETHOGRAM_HOOK_DIR"]).stat().st_mode & 0o077 == 0


def test_a_plan_that_others_may_write_is_not_used(place: Path) -> None:
    path = prepare(str(place))
    path.chmod(0o666)
    assert read_data(str(path)) is None
    path.chmod(0o600)
    assert read_data(str(path)) is not None


def test_a_plan_whose_digest_is_wrong_is_not_used(place: Path) -> None:
    path = prepare(str(place))
    path.write_bytes(path.read_bytes().replace(b'"nudge"', b'"stop!"'))
    assert read_data(str(path)) is None


def test_a_plan_can_name_no_module_but_our_signals(place: Path) -> None:
    data = read_data(str(prepare(str(place))))
    assert data is not None
    for name in ("os", "ethogram.cli.main", "signals.evil"):
        with pytest.raises(ValueError, match="is not a signal module"):
            load_plan({**data, "modules": [*data["modules"], name]})


def test_a_plan_of_another_form_is_made_anew(place: Path) -> None:
    path = prepare(str(place))
    data = read_data(str(path))
    assert data is not None
    write_data(str(path), {**data, "watched": [["unknown"]]})
    assert [bool(run_hook(failing(place, n))) for n in range(4)] == [False, False, False, True]
    after = read_data(str(path))
    assert after is not None
    assert after["watched"] == data["watched"]


def test_a_state_folder_that_others_may_write_to_is_not_used(place: Path) -> None:
    state = Path(os.environ["ETHOGRAM_HOOK_DIR"])
    state.mkdir()
    state.chmod(0o777)
    assert run_hook(failing(place, 0)) == {}
    assert list(state.iterdir()) == []


def test_a_pattern_that_looks_beyond_one_run_is_left_to_analyze(tmp_path: Path) -> None:
    own = HOT.replace("name: hot_for_long", "name: hot_in_a_run\ngroup_by: [subject, thread]")
    watched, left_out = choose(load_patterns([write_patterns(tmp_path, HOT, own)]))
    assert dict(left_out)["hot_for_long"] == "its history is not one run"
    assert [item.program.name for item in watched if item.program.name.startswith("hot")] == ["hot_in_a_run"]
