"""`ethogram serve` as a process: it stops when told, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from ethogram.cli.main import main
from service.conftest import wait_for
from waiting import PATIENCE_SECONDS, started


def test_sigterm_ends_streams_and_removes_the_store_of_the_demo() -> None:
    with TemporaryDirectory() as folder:  # a short path, for a socket must fit in
        ends_on_sigterm(Path(folder))


def ends_on_sigterm(folder: Path) -> None:
    command = [sys.executable, "-m", "ethogram", "serve", "--demo", "--port", "0"]
    env = {**os.environ, "TMPDIR": str(folder)}
    with started(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[2].rstrip(",")
        wait_for(lambda: _answers(url))
        with httpx.stream("GET", f"{url}/v1/detections/stream?after=0", timeout=PATIENCE_SECONDS) as stream:
            next(stream.iter_lines())
            assert list(folder.glob("ethogram-*/demo.db"))
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_SECONDS) == 0
    assert list(folder.glob("ethogram-*")) == []


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("command", [["serve", "--demo"], ["proxy", "--upstream", "http://127.0.0.1:9"]])
def test_a_port_that_is_taken_is_bad_usage(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main([*command, "--port", str(port)]) == 2
    assert f"cannot listen on 127.0.0.1, port {port}: " in capsys.readouterr().err
