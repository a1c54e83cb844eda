"""Files and folders that may not be read: each command names the path and says that it is forbidden."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from small import write_events
from waiting import PATIENCE_SECONDS

# Nothing is forbidden to root, unless it gives up the two capabilities.
ORDINARY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def _works() -> bool:
    try:
        return subprocess.run([*ORDINARY, "true"], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not _works(), reason="root may read anything here")


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "shut").mkdir()
    for path in ("shut/a.jsonl", "secret.jsonl", "open.jsonl"):
        write_events(tmp_path / path, [{"subject": "ann"}])
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer/inner").mkdir(mode=0)
    for path in ("shut", "secret.jsonl"):
        (tmp_path / path).chmod(0)
    yield tmp_path
    (tmp_path / "shut").chmod(0o700)
    (tmp_path / "outer/inner").chmod(0o700)


def run(folder: Path, *args: str) -> tuple[int, str, str]:
    command = [*ORDINARY, sys.executable, "-m", "ethogram", *args]
    done = subprocess.run(
        command, cwd=folder, check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("path", ["secret.jsonl", "shut", "shut/a.jsonl", "outer"])
@pytest.mark.parametrize("command", ["watch", "analyze"])
def test_events_that_may_not_be_read(folder, command, path):
    place = "outer/inner" if path == "outer" else path
    assert run(folder, command, path) == (2, "", f"{place}: cannot be read: Permission denied\n")


@pytest.mark.parametrize("path", ["secret.yaml", "shut", "shut/a.yaml", "outer"])
@pytest.mark.parametrize("command", [["analyze", "open.jsonl", "--patterns"], ["patterns", "test"]])
def test_patterns_that_may_not_be_read(folder, command, path):
    (folder / "secret.yaml").touch(mode=0)
    place = "outer/inner" if path == "outer" else path
    assert run(folder, *command, path) == (2, "", f"{place}: cannot be read: Permission denied\n")


# The file comes after the first look.
LATER = """
import os, sys
from ethogram.app.live.growing_files import Follower
from ethogram.cli.main import main

look = Follower.look

def look_and_add(self, *args, **options):
    seen = look(self, *args, **options)
    if not os.path.exists("logs/b.jsonl"):
        os.close(os.open("logs/b.jsonl", os.O_CREAT, 0))
    return seen

Follower.look = look_and_add
sys.exit(main(["watch", "logs", "--every", "0.05s", "--until-idle", "1s"]))
"""


def test_a_file_that_comes_later_and_may_not_be_read_is_named_once_by_a_watch(folder):
    (folder / "logs").mkdir()
    write_events(folder / "logs/a.jsonl", [{"subject": "ann"}])
    command = [*ORDINARY, sys.executable, "-c", LATER]
    done = subprocess.run(
        command, cwd=folder, check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    told = "skipped 1 file that is not events: logs/b.jsonl (cannot be read: Permission denied)"
    assert (done.returncode, done.stderr) == (0, f"{told}\n")
