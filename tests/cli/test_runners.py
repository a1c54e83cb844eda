"""Every runner prints the same, to the byte, through the command line and in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ethogram

EXAMPLES = sorted((Path(ethogram.__file__).parent / "data" / "examples").glob("*.jsonl"))


def printed(path: Path, runner: str, *more: str) -> bytes:
    command = [sys.executable, "-m", "ethogram", "analyze", str(path), "--runner", runner, "--patterns", "*"]
    return subprocess.run([*command, *more], capture_output=True, check=True, timeout=120).stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_runner_prints_the_same(path: Path):
    stream = printed(path, "stream", "--json")
    assert stream.count(b'"record": "detection"') >= 1
    assert printed(path, "batch", "--json") == stream
    assert printed(path, "plain", "--json") == stream


def test_an_unknown_runner_is_told_apart(capsys: pytest.CaptureFixture[str]):
    from ethogram.cli.main import main

    assert main(["analyze", str(EXAMPLES[0]), "--runner", "steam"]) == 2
    assert "unknown runner 'steam'; did you mean 'stream'?" in capsys.readouterr().err
