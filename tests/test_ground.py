"""What must hold of the whole: light to import, documented at the front door, nothing stray in the tree."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ethogram
from sampling import for_each
from waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(path for folder in ("src", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
HEAVY = {"msgspec", "numpy", "pyarrow", "pydantic", "click", "rich", "scipy", "ruamel", "yaml"}
MOST_LINES = 700
PUBLIC = [name for name in ethogram.__all__ if name != "__version__"]


def python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args], capture_output=True, encoding="utf-8", timeout=PATIENCE_SECONDS, check=False
    )


def imported(*args: str) -> set[str]:
    """The modules that a run of Python imports beyond those of an empty run."""

    def modules(*args: str) -> set[str]:
        done = python("-X", "importtime", *args)
        assert done.returncode == 0, done.stderr
        return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()[1:]}

    return modules(*args) - modules("-c", "pass")


def test_importing_the_package_brings_in_nothing_heavy():
    done = python("-c", "import ethogram, sys; print(*{name.split('.')[0] for name in sys.modules})")
    assert done.returncode == 0, done.stderr
    assert not HEAVY & set(done.stdout.split())


def test_importing_the_package_costs_next_to_nothing():
    assert len(imported("-c", "import ethogram")) < 15


def test_help_answers_without_heavy_packages():
    assert python("-m", "ethogram", "--help").stdout.startswith("Usage: ethogram")
    modules = imported("-m", "ethogram", "--help")
    assert len(modules) < 200
    assert not {name.split(".")[0] for name in modules} & (HEAVY - {"click"})


@for_each("name", PUBLIC)
def test_every_public_name_is_there_and_says_what_it_is(name):
    documented = (getattr(ethogram, name).__doc__ or "").strip()
    # A dataclass without a docstring is given its own signature as one.
    assert documented
    assert not documented.startswith(f"{name}(")


def test_the_front_door_lists_its_names_and_no_others():
    assert dir(ethogram) == sorted(ethogram.__all__)
    with pytest.raises(AttributeError, match="analyse"):
        _ = ethogram.analyse


@for_each("path", SOURCES)
def test_a_source_file_is_short_and_runs_no_text_as_code(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES, "a file that grows has found a second idea"
    if not re.search(r"\b(eval|exec)\b", text):
        return
    called = {
        node.func.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    # Constructors of records are written from the names of their fields, as `dataclasses` does it.
    allowed = {"exec"} if path.match("models/slotted.py") else set()
    assert not called & {"eval", "exec"} - allowed


def test_no_file_names_a_machine_or_a_package_index():
    # Put together here, so that this file does not find itself.
    strays = [f"/{folder}/".encode() for folder in ("work", "root")]
    strays += [".".join(parts).encode() for parts in (("pypi", "org"), ("files", "pythonhosted"))]
    found = [
        f"{path.relative_to(ROOT)}: {stray.decode()}"
        for path in tracked_files()
        for stray in strays
        if stray in path.read_bytes()
    ]
    assert not found


def test_no_test_asserts_seconds_or_patches_by_string():
    # Counts and conditions instead (tests/waiting.py); a module that is imported, and its attribute.
    strays = re.compile(
        r'setattr\(\s*"ethogram|process_time|perf_counter|thread_time|ru_utime'
        r"|(monotonic|time)\(\) - \w+ <|\d < \w+\.(monotonic|time)\(\) -"
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (ROOT / "tests").rglob("*.py")
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if strays.search(line)
    ]
    assert found == []


def tracked_files() -> list[Path]:
    """What is or would be committed."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    paths = [ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name]
    return [path for path in paths if path.is_file()]
