"""The image: the same answers as the code it was made of, on the standard library alone."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ethogram.config.learned import LEARNED_FILE, write_changes
from ethogram.hook import keep, light_dataclasses
from ethogram.hook.image import closure
from ethogram.hook.place import image_path, is_current
from ethogram.hook.planning import prepare
from ethogram.hook.replay import by_process, within
from ethogram.hook.start import read
from ethogram.risk.changes import Change
from settings_files import trusted_settings


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
    tell = within(keep.opened(str(tmp_path / "other.sqlite")), str(place))
    asked = [failing(place, n) for n in range(5)]
    answers = [by_process(one) for one in asked]
    assert answers == [tell(one) for one in asked]
    # Another file each time, so it is not spoken of before the fourth.
    assert [bool(one) for one in answers] == [False, False, False, True, False]


def test_the_process_loads_the_standard_library_and_the_image_alone(place: Path) -> None:
    by_process(failing(place, 0))
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ethogram", "hook"],
        input=json.dumps(failing(place, 1)).encode(),
        capture_output=True,
        check=True,
    )
    names = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines() if "|" in line}
    ours = {name for name in names if name.partition(".")[0] == "ethogram"}
    foreign = {name.partition(".")[0] for name in names - ours} - set(sys.stdlib_module_names)
    # What the interpreter itself loads at its start: the files in site-packages that say where packages are.
    assert {one for one in foreign if not one.startswith(("_", "imported", "sitecustomize"))} <= {"encodings"}
    assert "ethogram.hook.plan" in ours
    assert not {one for one in ours if one.startswith(("ethogram.cli", "ethogram.modes", "ethogram.library"))}


def test_an_image_is_made_anew_when_the_settings_change(place: Path) -> None:
    prepare(str(place))
    before = read(image_path(str(place)))
    assert before is not None
    assert is_current(before["stamp"])
    trusted_settings(place, "hook: {off: [loop, repetitive_errors]}\n", ".ethogram.yaml")
    assert not is_current(before["stamp"])
    assert [by_process(failing(place, n)) for n in range(3)] == [{}, {}, {}]


def test_an_image_is_made_anew_when_something_was_learned(place: Path) -> None:
    prepare(str(place))
    before = read(image_path(str(place)))
    assert before is not None
    change = Change(datetime.now(UTC), "ann", "repetitive_errors", "threshold", 3, 9)
    write_changes(place / LEARNED_FILE, (change,))
    assert not is_current(before["stamp"])
    prepare(str(place))
    after = read(image_path(str(place)))
    assert after is not None
    assert is_current(after["stamp"])
    assert after["modules"] != before["modules"]


def test_an_image_that_cannot_be_read_is_made_anew(place: Path) -> None:
    path = Path(prepare(str(place)))
    path.write_bytes(path.read_bytes()[:1000])
    assert read(str(path)) is None
    assert by_process(failing(place, 0)) == {}
    assert read(str(path)) is not None


def test_only_its_owner_can_read_what_is_kept(place: Path) -> None:
    by_process(failing(place, 0))
    files = [one for one in Path(os.environ["ETHOGRAM_HOOK_DIR"]).rglob("*") if one.is_file()]
    assert files
    assert all(one.stat().st_mode & 0o077 == 0 for one in files if not one.name.endswith(("-wal", "-shm")))
    assert Path(os.environ["ETHOGRAM_HOOK_DIR"]).stat().st_mode & 0o077 == 0


def test_the_closure_holds_no_module_of_the_slow_part() -> None:
    names = closure(["ethogram.hook.answer", "ethogram.signals.step_key"])
    assert "ethogram.signals.steps.volatile" in names
    assert not {one for one in names if one.startswith(("ethogram.config", "ethogram.library"))}


# Records made by the stand-in are those that the real one makes.


def made(by: object) -> type:
    class Point:
        x: float
        y: float = 2.0
        tags: list[str] = by.field(default_factory=list)  # type: ignore[attr-defined]

    return by.dataclass(frozen=True)(Point)  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("by", [dataclasses, light_dataclasses])
def test_records_have_defaults_equality_a_hash_and_positions(by: object) -> None:
    point = made(by)
    one, other = point(1.0), point(x=1.0, y=2.0)
    assert one == other
    assert one != point(2.0)
    assert one.tags == []
    assert one.tags is not other.tags
    assert one != "x"
    match one:
        case point(x, y):
            assert (x, y) == (1.0, 2.0)
    for wrong in ((), (1.0, 2.0, [], 4)):
        with pytest.raises(TypeError):
            point(*wrong)
    with pytest.raises(TypeError):
        point(1.0, z=3)
