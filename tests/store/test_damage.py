"""A damaged store ends every command with exit code 2 and one line that says what to do, or is read rightly.

What a store lost cannot always be seen: then the command does its work on what is there.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ethogram.cli import main as cli
from ethogram.patterns import library
from settings_files import trust
from store_files import EVENTS, KEY, OF_EVENTS, OF_USE, USAGE, left_beside, make_folder

COMMANDS = [(EVENTS, name, args) for name, args in OF_EVENTS.items()]
COMMANDS += [(USAGE, name, args) for name, args in OF_USE.items()]
IN_STEPS = {"import", "sweep", "usage record", "usage sweep", "usage signals", "export-subject"}
"""Commands that commit as they go on: what they wrote before they met the damage stays.

So does the line of the audit that says who was looked at.
"""
PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Iterator[Path]:
    """A folder with stores in good order; the library has no pattern but those in it."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "nothing").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "SHIPPED", folder / "nothing")
        patch.setattr(cli, "build_app", cache(cli.build_app))
        patch.chdir(folder)
        make_folder(folder)
        yield folder


@pytest.fixture
def folder(whole, tmp_path, monkeypatch) -> Path:
    """A copy of it to be damaged."""
    made = shutil.copytree(whole, tmp_path / "copy")
    trust(made / "ethogram.yaml")
    monkeypatch.chdir(made)
    return made


def run(name: str, args: list[str], capsys, path: Path) -> tuple[int, str]:
    """The exit code and what was said on standard error; where that is 2, nothing may have been written."""
    before = path.read_bytes()
    code = cli.main([*args, "--store", path.name])
    err = capsys.readouterr().err
    assert code in (0, 2, 3), err
    if code == 2:
        assert len(err.splitlines()) == 1, err
        assert path.name in err
        assert "internal error" not in err
        if name not in IN_STEPS and "the key is not that" not in err:
            assert path.read_bytes() == before, err
        assert left_beside(path) == []
    return code, err


def test_every_command_works_on_a_store_in_good_order(folder, whole, capsys):
    for file, name, args in COMMANDS:
        shutil.copy(whole / file, folder / file)
        shutil.copy(whole / KEY, folder / KEY)
        if name != "audit":  # of a store that is not private
            assert cli.main([*args, "--store", file]) == 0, (name, capsys.readouterr().err)


@pytest.mark.parametrize("damage", ["zeros", "zero head", "other head", "half", "no schema"])
def test_a_store_that_cannot_be_opened_is_refused_by_every_command(folder, whole, damage, capsys):
    for file, name, args in COMMANDS:
        path = folder / file
        content = bytearray((whole / file).read_bytes())
        if damage == "zeros":
            content = bytearray(len(content))
        elif damage == "zero head":
            content[:100] = bytes(100)
        elif damage == "other head":
            content[:16] = b"SQLite format 9\0"
        elif damage == "half":
            del content[len(content) // 2 :]
        else:  # the pages with the list of tables are garbage
            content[100:PAGE] = b"\xff" * (PAGE - 100)
        path.write_bytes(content)
        shutil.copy(whole / KEY, folder / KEY)
        code, said = run(name, args, capsys, path)
        assert code == 2, name
        assert "backup" in said or name == "audit", said


@pytest.mark.parametrize("file", [EVENTS, USAGE])
def test_a_table_that_is_not_there_or_not_the_right_one_is_told(folder, whole, file, capsys):
    with sqlite3.connect(whole / file) as raw:
        tables = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    raw.close()
    commands = [command for command in COMMANDS if command[0] == file]
    met = 0
    for number, table in enumerate(table for table in tables if not table.startswith("sqlite_")):
        path = folder / file
        shutil.copy(whole / file, path)
        with sqlite3.connect(path) as raw:
            raw.execute("PRAGMA legacy_alter_table = ON")
            raw.execute(f"ALTER TABLE {table} RENAME TO no_{table}")
            if number % 2:
                raw.execute(f"CREATE TABLE {table} (something TEXT)")
        raw.close()
        for _, name, args in commands[number % 3 :: 3]:
            shutil.copy(whole / KEY, folder / KEY)
            content = path.read_bytes()
            code, said = run(name, args, capsys, path)
            met += code == 2 and "damaged: " in said
            path.write_bytes(content)
    assert met > 10


@pytest.mark.parametrize("seed", range(8 if os.environ.get("ETHOGRAM_TESTS") == "long" else 2))
def test_flipped_bits_and_lost_pages_never_end_in_an_internal_error(folder, whole, seed, capsys):
    chance = random.Random(seed)
    codes = []
    for _ in range(30):
        file, name, args = chance.choice(COMMANDS)
        path = folder / file
        content = bytearray((whole / file).read_bytes())
        spoil(content, chance)
        path.write_bytes(content)
        shutil.copy(whole / KEY, folder / KEY)
        codes.append(run(name, args, capsys, path)[0])
    assert {0, 2} <= set(codes)


def spoil(content: bytearray, chance: random.Random) -> None:
    """Damage a file in one of several ways."""
    how = chance.choice(["bits", "bytes", "zero page", "random page", "cut"])
    if how == "bits":
        for _ in range(chance.choice([1, 5, 50])):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif how == "bytes":
        for _ in range(chance.choice([1, 20, 300])):
            content[chance.randrange(100, len(content))] = chance.randrange(256)
    elif how == "cut":
        del content[chance.randrange(1, len(content)) :]
    else:
        start = PAGE * chance.randrange(len(content) // PAGE)
        content[start : start + PAGE] = bytes(PAGE) if how == "zero page" else chance.randbytes(PAGE)
