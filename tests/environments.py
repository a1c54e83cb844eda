"""Environments of their own, in build/, for packages whose versions clash with ours."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def python_with(*packages: str) -> str:
    """A Python with these packages and ethogram; made on first use, which takes minutes."""
    folder = ROOT / "build" / "environments" / "-".join(packages)
    folder.mkdir(parents=True, exist_ok=True)
    python = str(folder / "bin" / "python")
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            for line in ([sys.executable, "-m", "venv", str(folder)], [*install, *packages, "-e", str(ROOT)]):
                done = subprocess.run(line, capture_output=True, text=True, check=False)
                if done.returncode and os.environ.get("CI") != "true":
                    pytest.skip(f"{', '.join(packages)} cannot be installed: {done.stderr[-200:]}")
                assert not done.returncode, done.stderr
            (folder / "complete").touch()
    return python
