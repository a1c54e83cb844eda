"""A disk that is full after a commit: what was stored or removed is, and no command says otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ethogram.cli.main import main
from ethogram.store import open_store
from ethogram.store.sqlite import SQLiteStore
from servers import small_disk
from small import turns, write_events

TURNS = 28


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", megabytes=8) as path:
        yield path


def fill(disk: Path) -> None:
    """Leave no room."""
    (disk / "filler").write_bytes(bytes(shutil.disk_usage(disk).free))


def fill_before(method: str, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill the disk between the commit and what comes after it."""
    after_commit = getattr(SQLiteStore, method)

    def on_a_full_disk(store: SQLiteStore) -> Any:
        fill(disk)
        return after_commit(store)

    monkeypatch.setattr(SQLiteStore, method, on_a_full_disk)


@pytest.fixture
def source(tmp_path: Path) -> str:
    return str(
        write_events(
            tmp_path / "e.jsonl",
            [t for who in ("ann", "bo") for t in turns(who, [0.1] * TURNS, range(1, TURNS + 1))],
        )
    )


def test_an_import_is_done_where_the_disk_is_full_after_its_commit(disk, source, monkeypatch, capsys):
    path = str(disk / "x.db")
    fill_before("settle", disk, monkeypatch)
    assert main(["store", "import", source, "--store", path]) == 0
    assert f"{2 * TURNS} events added" in capsys.readouterr().out
    (disk / "filler").unlink()
    with open_store(path) as store:
        assert store.count("events") == 2 * TURNS
        store.check_integrity()
    # Nor is its lock in the way.
    assert main(["store", "import", source, "--store", path]) == 0


def test_a_purge_says_that_copies_may_be_left_where_the_disk_is_too_full(disk, source, monkeypatch, capsys):
    path, purge = disk / "x.db", ["store", "purge", "--subject", "ann", "--store", str(disk / "x.db")]
    assert main(["store", "import", source, "--store", str(path)]) == 0
    capsys.readouterr()
    with monkeypatch.context() as patched:
        fill_before("scrub", disk, patched)
        assert main(purge) == 1
    out, err = capsys.readouterr()
    assert out.startswith(f"Removed: {TURNS} events and 0 detections.\nCopies may be left in the file")
    assert not err
    with open_store(str(path)) as store:
        assert {event.subject for event in store.events()} == {"bo"}
    (disk / "filler").unlink()
    assert main(purge) == 0
    assert capsys.readouterr().out.startswith("Removed permanently: 0 events")
    assert not any(b"ann-" in file.read_bytes() for file in disk.iterdir())
