"""No command prints a key, whatever it is asked for and however it ends."""

from __future__ import annotations

import pytest

from ethogram.cli.main import main
from ethogram.usage.pseudonym import read_keys
from store_files import EVENTS, KEY, OF_EVENTS, OF_USE, USAGE, make_folder

PRIVATE = "private.db"


@pytest.fixture
def folder(tmp_path, monkeypatch, no_shipped_patterns):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ETHOGRAM_DEBUG", "1")
    monkeypatch.setenv("ETHOGRAM_USAGE_KEY_FILE", KEY)
    make_folder(tmp_path)
    assert main(["store", "import", "all.jsonl", "--store", PRIVATE, "--pseudonyms", KEY]) == 0
    return tmp_path


def test_no_command_prints_a_key(folder, capfd):
    capfd.readouterr()
    said = ""
    for store, commands in ((PRIVATE, OF_EVENTS), (EVENTS, OF_EVENTS), (USAGE, OF_USE), (PRIVATE, OF_USE)):
        for args in commands.values():
            for more in ([], ["--json"]):
                main([*args, *more, "--store", store])
                out, err = capfd.readouterr()
                said += out + err
    keys = read_keys(KEY)
    assert len(keys.chain) > 1  # one of the commands rotates it
    assert len(said) > 10_000
    for key in keys.chain:
        assert key.hex() not in said.lower()
        assert repr(key)[2:-1] not in said
    assert keys.chain[0].hex() not in repr(keys) + repr(keys.scoped("events", b"x"))
