"""Progress is shown to a person who waits, and to nobody else."""

from __future__ import annotations

import os
import select
import subprocess
import sys

import pytest

from ethogram.cli.output import Progress
from waiting import PATIENCE_SECONDS, started, wait_until


def test_nothing_is_shown_where_nobody_looks(capsys):
    progress = Progress(patience=0)
    progress.read(1, 2)
    with progress.checking("checking"):
        progress.count(1, 2, "checking")
    assert capsys.readouterr() == ("", "")


def test_nothing_is_shown_of_what_is_over_at_once(capsys):
    progress = Progress(shown=True)
    progress.read(1, 2)
    with progress.checking("checking"):
        pass
    progress.stop()
    assert capsys.readouterr() == ("", "")


WAITING = """
import sys
from ethogram.cli.output import Progress
progress = Progress(patience=0)
progress.read(512, 1024)
progress.stop()
with progress.checking("checking 3 events"):
    sys.stdin.readline()
"""


@pytest.mark.skipif(os.name == "nt", reason="there are pseudo-terminals on POSIX only")
def test_whoever_waits_at_a_terminal_sees_bytes_and_then_what_is_checked_on_standard_error():
    ours, theirs = os.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    said = b""

    def shows(text: bytes) -> bool:
        nonlocal said
        if select.select([ours], [], [], 0)[0]:
            said += os.read(ours, 100_000)
        return text in said

    with started(
        [sys.executable, "-c", WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs, env=env
    ) as process:
        wait_until(lambda: shows(b"/1.0 kB"), "a bar with the bytes that are read")
        assert b"reading" in said
        wait_until(lambda: shows(b"checking 3 events"), "word of what is checked")
        out, _ = process.communicate(b"\n", timeout=PATIENCE_SECONDS)
    os.close(theirs)
    os.close(ours)
    assert (process.returncode, out) == (0, b"")


def test_an_error_inside_takes_the_bar_away_too(capsys):
    progress = Progress(shown=True, patience=0)
    try:
        with progress.checking("checking"):
            wait_until(lambda: progress._bar is not None, "the bar")
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert progress._bar is None
