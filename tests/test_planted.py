"""Nothing that lies in a working directory is ever run, whichever command is started there."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ethogram
from ethogram.agents.hook import install, location, main
from ethogram.agents.hook.replay import run_hook

PLANTED = (
    "ethogram/__init__.py",
    "ethogram/__main__.py",
    "ethogram/agents/hook/plan.py",
    "re.py",
    "json.py",
    "typing.py",
    "sqlite3.py",
    "marshal.py",
    "dataclasses.py",
    "hashlib.py",
    "sitecustomize.py",
    "usercustomize.py",
    "numpy/__init__.py",
    "ruamel/__init__.py",
)
BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SOURCES = sorted([*Path(ethogram.__file__).parent.rglob("*.py"), *BENCHMARKS.rglob("*.py")])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that somebody cloned: modules with the names of ours and of the standard library's."""
    monkeypatch.setenv("ETHOGRAM_HOOK_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("ETHOGRAM_MARK", str(tmp_path / "ran"))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    folder = tmp_path / "cloned"
    for name in PLANTED:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import os\nopen(os.environ['ETHOGRAM_MARK'], 'a').write(__file__ + '\\n')\n")
    return folder


def payload(folder: Path) -> bytes:
    call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "1"}
    return json.dumps(
        {"session_id": "s", "cwd": str(folder), "hook_event_name": "PreToolUse", **call}
    ).encode()


def run(folder: Path, command: list[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=given, cwd=folder, capture_output=True, timeout=120, check=False)


def nothing_ran(folder: Path) -> bool:
    return not (folder.parent / "ran").exists()


def test_the_plants_run_where_python_looks_into_the_folder(folder: Path) -> None:
    run(folder, [sys.executable, "-c", "import ethogram"])
    assert not nothing_ran(folder)


SCRIPT = Path(sys.executable).with_name("ethogram")
WAYS = ([str(SCRIPT)], [sys.executable, "-P", "-m", "ethogram"])


@pytest.mark.parametrize("way", WAYS, ids=["script", "module"])
def test_a_hook_runs_nothing_of_the_folder(folder: Path, way: list[str]) -> None:
    done = run(folder, [*way, "hook"], payload(folder))
    assert done.returncode == 0
    assert nothing_ran(folder)
    # It was not left out either: the plan was made, and the event is known.
    assert list((folder.parent / "state" / "plans").glob("*.json"))
    assert not (folder.parent / "state" / "faults.log").exists()


@pytest.mark.parametrize("way", WAYS, ids=["script", "module"])
def test_a_replay_by_process_runs_nothing_of_the_folder(folder: Path, way: list[str]) -> None:
    step = {
        "subject": "agent",
        "thread": "t",
        "kind": "action",
        "attributes": {"tool": "Bash", "call_id": "c"},
    }
    (folder / "run.jsonl").write_text(json.dumps(step) + "\n")
    done = run(folder, [*way, "hook", "replay", "run.jsonl", "--process"])
    assert done.returncode == 0, done.stderr
    assert nothing_ran(folder)


def test_an_installed_hook_runs_nothing_of_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As it is where there is no script: the command for the agent's shell is this Python's.
    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.setattr(install, "NAMES", ("no such script",))
    done = run(folder, ["sh", "-c", install.own_command()], payload(folder))
    assert done.returncode == 0
    assert list((folder.parent / "state" / "plans").glob("*.json"))
    assert nothing_ran(folder)


def test_workers_run_nothing_of_the_folder(folder: Path) -> None:
    code = (
        "from ethogram.app import out_of_core; out_of_core.WORTH_IT = 0; from ethogram.cli.main import main; "
        "import sys; sys.argv = ['ethogram', 'analyze', 'lines.jsonl']; sys.exit(main())"
    )
    lines = (
        {"at": "2026-01-01T00:00:00Z", "subject": f"s{n}", "readings": {"deception": 0.5}}
        for n in range(2000)
    )
    (folder / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=folder,
        env={**os.environ, "ETHOGRAM_MEMORY": "100000"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert nothing_ran(folder)


def test_processes_of_the_hook_start_outside_the_project(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[str] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: object, **options: object) -> None:
            places.append(os.path.realpath(str(options.get("cwd") or Path.cwd())))
            super().__init__(*args, **options)  # type: ignore[call-overload]

    monkeypatch.chdir(folder)
    monkeypatch.setattr(subprocess, "Popen", Noted)
    assert main.renewed(str(folder), location.plan_path(str(folder))) is not None
    run_hook(json.loads(payload(folder)))
    assert len(places) == 2
    assert not [place for place in places if Path(place).is_relative_to(folder)]


def test_every_python_that_is_started_looks_into_no_folder() -> None:
    """Every list that begins with this Python's path has -P behind it."""
    bare = [
        f"{path}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.List) and node.elts and ast.unparse(node.elts[0]) == "sys.executable"
        if ast.unparse(node.elts[1]) != "'-P'"
    ]
    assert not bare
