"""What the commands print for the shipped examples, frozen while files and names move.

A difference is a change of behaviour: intended ones are recorded by `python tests/golden/test_golden.py`, and
their diff is read before it is committed. The files go when the move is over.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import ethogram

HERE = Path(__file__).parent
EXAMPLES = Path(ethogram.__file__).parent / "data" / "examples"
COMMANDS = {
    **{f"analyze-{path.stem}": f"analyze {path.name} --json" for path in sorted(EXAMPLES.glob("*.jsonl"))},
    "analyze-all": "analyze . --json",
    "analyze-text": "analyze .",
    "analyze-experimental": "analyze . --patterns * --json",
    "assess-run": "assess run.jsonl --json",
    "chat": "chat risk.jsonl --json",
    "demo": "demo --json",
    "evaluate": "evaluate network.jsonl --evaluator local --json",
    "hook-replay": "hook replay run.jsonl --json",
    "patterns": "patterns list --json",
    "scan": "scan network.jsonl --json",
    "signals": "signals list --json",
    "why": "why love_bombing dev conversation.jsonl --json",
}


def printed(command: str, folder: Path) -> str:
    """What a command prints in a folder with the examples; its exit code on the last line."""
    with tempfile.TemporaryDirectory() as own:
        environ = {
            **os.environ,
            **dict.fromkeys(("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"), own),
            "ETHOGRAM_HOOK_DIR": f"{own}/hook",
            "COLUMNS": "120",
        }
        done = subprocess.run(
            [sys.executable, "-P", "-m", "ethogram", *command.split()],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    text = done.stdout.replace(str(EXAMPLES.parents[1]), "PACKAGE")
    return f"{text}exit code {done.returncode}\n"


def helps() -> str:
    """The help of every command."""
    import typer.main

    from ethogram.cli.main import build_app

    lines: list[str] = []

    def add(command: object, name: str) -> None:
        options = sorted(
            "/".join(param.opts)
            for param in command.params
            if getattr(param, "opts", None)  # type: ignore[attr-defined]
        )
        lines.append(f"{name}: {' '.join(options)}")
        for inner, item in sorted(getattr(command, "commands", {}).items()):
            add(item, f"{name} {inner}")

    add(typer.main.get_command(build_app()), "ethogram")
    return "\n".join(lines) + "\n"


def names() -> str:
    """The public names."""
    return "\n".join(sorted(ethogram.__all__)) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("examples"))


def copied(folder: Path) -> Path:
    for path in EXAMPLES.glob("*.jsonl"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_what_it_did(name: str, folder: Path) -> None:
    assert printed(COMMANDS[name], folder) == (HERE / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "made"), [("helps", helps), ("names", names)])
def test_commands_and_names_are_what_they_were(name: str, made: object) -> None:
    assert made() == (HERE / f"{name}.txt").read_text(encoding="utf-8")  # type: ignore[operator]


def freeze() -> None:
    """Write every file anew."""
    for old in HERE.glob("*.txt"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        own = copied(Path(folder))
        for name, command in COMMANDS.items():
            (HERE / f"{name}.txt").write_text(printed(command, own), encoding="utf-8")
    for name, text in (("helps", helps()), ("names", names())):
        (HERE / f"{name}.txt").write_text(text, encoding="utf-8")
    print(json.dumps({path.name: path.stat().st_size for path in sorted(HERE.glob("*.txt"))}, indent=1))


if __name__ == "__main__":
    freeze()
