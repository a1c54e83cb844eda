"""Progress is shown to a person who waits, and to nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from ethogram.cli.output import Progress


def test_nothing_is_shown_where_nobody_looks(capsys):
    progress = Progress(patience=0)
    progress.read(1, 2)
    with progress.checking("checking"):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_nothing_is_shown_of_what_is_over_at_once(capsys):
    progress = Progress(shown=True)
    progress.read(1, 2)
    with progress.checking("checking"):
        pass
    progress.stop()
    assert capsys.readouterr() == ("", "")


WAITING = """
import time
from ethogram.cli.output import Progress
progress = Progress(patience=0)
progress.read(512, 1024)
progress.stop()
with progress.checking("checking 3 events"):
    time.sleep(0.5)
"""


@pytest.mark.skipif(os.name == "nt", reason="there are pseudo-terminals on POSIX only")
def test_whoever_waits_at_a_terminal_sees_bytes_and_then_what_is_checked_on_standard_error():
    ours, theirs = os.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-c", WAITING],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=env,
        timeout=60,
        check=True,
    )
    os.close(theirs)
    said = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.stdout == b""
    assert "reading" in said
    assert "/1.0 kB" in said
    assert "checking 3 events" in said


def test_an_error_inside_takes_the_bar_away_too(capsys):
    progress = Progress(shown=True, patience=0)
    try:
        with progress.checking("checking"):
            time.sleep(0.2)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert progress._bar is None
