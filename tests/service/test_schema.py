"""Schemathesis over the description of the API: whatever it allows is taken, whatever else is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from service.conftest import Start
from service.test_events import line, post

# What an event is depends on the store: a signal that was a number there is never a text. So the description
# allows any body, and no generator can know which are taken.
CONFIG = """
[[operations]]
include-name = "POST /v1/events"
[operations.checks]
positive_data_acceptance.enabled = false
"""


def check(client: httpx.Client, folder: Path, phases: str, examples: int) -> None:
    pytest.importorskip("schemathesis")
    post(client, *(line(f"e{day}", day) for day in (1, 2, 3)))
    (folder / "schemathesis.toml").write_text(CONFIG)
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "--config-file", "schemathesis.toml", "run",
        f"{client.base_url}/openapi.json", "--phases", phases,
        "--max-examples", str(examples), "--seed", "1", "--no-color", "--generation-database", "none",
        "--include-path-regex", "^/(v1|beta)/", "--suppress-health-check", "too_slow",
        "--exclude-path", "/v1/detections/stream",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_requests_at_the_edges_of_the_description(start: Start, tmp_path: Path) -> None:
    check(start(detects=False), tmp_path, "fuzzing", 3)


@pytest.mark.long
def test_many_requests_by_the_description(start: Start, tmp_path: Path) -> None:
    check(start(detects=False), tmp_path, "coverage,fuzzing", 100)
