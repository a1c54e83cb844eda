"""What holds texts or people is created for its owner alone; what was there keeps its mode."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest

from ethogram.cli.main import main
from ethogram.files import make_private_folder, write_whole
from ethogram.store import open_store
from small import HOT, turns, write_events, write_patterns

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")


@contextmanager
def umask(mode: int):
    before = os.umask(mode)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_events(tmp_path / "e.jsonl", turns("ann", [0.9, 0.9, 0.9], [1, 2, 3]))
    write_patterns(tmp_path / "patterns", HOT)
    with umask(0o022):
        yield tmp_path


def test_a_store_its_log_and_its_shared_memory_are_the_owners_alone(folder):
    with open_store("s.db", create=True) as store:
        assert main(["store", "import", "e.jsonl", "--store", "s.db", "--keep-text"]) == 0
        store.info()
        assert {path.name: mode(path) for path in folder.glob("s.db*")} == {
            "s.db": 0o600, "s.db-wal": 0o600, "s.db-shm": 0o600,
        }  # fmt: skip


def test_a_store_that_is_there_keeps_its_mode(folder):
    open_store("s.db", create=True).close()
    (folder / "s.db").chmod(0o640)
    assert main(["store", "import", "e.jsonl", "--store", "s.db"]) == 0
    assert mode(folder / "s.db") == 0o640


def test_a_page_is_the_owners_alone_and_one_that_is_there_keeps_its_mode(folder):
    args = ["analyze", "e.jsonl", "--patterns", "patterns/hot_for_long.yaml", "--html", "page.html"]
    assert main(args) == 0
    page = folder / "page.html"
    assert mode(page) == 0o600
    page.chmod(0o644)
    assert main(args) == 0
    assert mode(page) == 0o644


def test_planted_events_are_the_owners_alone_and_examples_everybodys(folder):
    assert main(["demo", "--copy", "examples"]) == 0
    assert {mode(path) for path in (folder / "examples").iterdir()} == {0o644}
    write_whole("events.jsonl", ["{}\n"])
    assert mode(folder / "events.jsonl") == 0o600


def test_a_folder_that_is_there_keeps_its_mode(folder):
    (folder / "open").mkdir(mode=0o755)
    make_private_folder(folder / "open" / "closed")
    assert (mode(folder / "open"), mode(folder / "open" / "closed")) == (0o755, 0o700)
