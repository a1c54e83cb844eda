"""A database of another program is refused by every command; not a byte of it or beside it changes."""

from __future__ import annotations

import hashlib
import sqlite3
from functools import cache
from pathlib import Path

import pytest

from ethogram.cli import main as cli
from ethogram.errors import BadUsage
from ethogram.evaluators.response_cache import Answers
from ethogram.usage.pseudonym import new_keys
from ethogram.usage.tracker import UsageTracker
from store_files import OF_EVENTS, OF_USE, make_folder

KINDS = ["plain", "wal", "log left", "journal left", "numbered", "schema_version", "only a head"]


APP = cache(cli.build_app)


@pytest.fixture
def folder(tmp_path, monkeypatch, no_shipped_patterns) -> Path:
    monkeypatch.setattr(cli, "build_app", APP)
    monkeypatch.chdir(tmp_path)
    make_folder(tmp_path)
    return tmp_path


def make_foreign(path: Path, kind: str) -> None:
    """A database of another program, in some state."""
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA synchronous = OFF")  # it need not outlive the machine
    if kind in ("wal", "log left"):
        raw.execute("PRAGMA journal_mode = WAL")
    if kind == "numbered":
        raw.execute("PRAGMA application_id = 252006675")
    if kind == "only a head":
        raw.execute("PRAGMA user_version = 3")
        raw.close()
        return
    raw.execute("CREATE TABLE schema_version (version INTEGER)")
    raw.execute("CREATE TABLE bookmarks (url TEXT)")
    raw.executemany("INSERT INTO bookmarks VALUES (?)", [(f"https://example.org/{n}",) for n in range(500)])
    if kind == "log left":
        # As a program leaves it that was killed: copied while the connection is open.
        kept = {end: Path(f"{path}{end}").read_bytes() for end in ("", "-wal")}
    elif kind == "journal left":
        raw.execute("PRAGMA cache_size = 1")
        raw.execute("PRAGMA cache_spill = 1")
        raw.execute("BEGIN")
        raw.execute("UPDATE bookmarks SET url = url || url || url || url")
        kept = {end: Path(f"{path}{end}").read_bytes() for end in ("", "-journal")}
        raw.execute("ROLLBACK")
    else:
        kept = {}
    raw.close()
    for end, content in kept.items():
        Path(f"{path}{end}").write_bytes(content)


def state(path: Path) -> dict[str, tuple[str, int, int]]:
    """SHA-256, time and mode of a file and of all that is beside it under its name."""
    return {
        item.name: (
            hashlib.sha256(item.read_bytes()).hexdigest(),
            item.stat().st_mtime_ns,
            item.stat().st_mode,
        )
        for item in path.parent.glob(f"{path.name}*")
    }


@pytest.mark.parametrize("kind", KINDS)
def test_no_command_changes_a_file_of_another_program(folder, kind, capsys):
    path = folder / "other.sqlite"
    make_foreign(path, kind)
    assert (len(state(path)) > 1) == kind.endswith("left")
    before = state(path)
    for name, args in {**OF_EVENTS, **{f"{name} of use": args for name, args in OF_USE.items()}}.items():
        assert cli.main([*args, "--store", path.name]) == 2, name
        err = capsys.readouterr().err
        assert len(err.splitlines()) == 1, err
        assert path.name in err
        assert state(path) == before, name


@pytest.mark.parametrize("kind", KINDS)
def test_neither_tracker_nor_answers_change_a_file_of_another_program(tmp_path, kind):
    path = tmp_path / "other.sqlite"
    make_foreign(path, kind)
    before = state(path)
    with pytest.raises(BadUsage, match="not a usage store"):
        UsageTracker(path, key=new_keys())
    assert state(path) == before
    with pytest.raises(BadUsage, match="another program"):
        Answers(path)
    assert state(path) == before
