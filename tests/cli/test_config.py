"""`ethogram config`: every setting, its value, and where it comes from."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from ethogram.cli.main import main
from ethogram.config import Settings
from settings_files import trusted_settings


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ETHOGRAM_CONFIG", raising=False)
    return tmp_path


def test_every_setting_is_listed_with_its_origin(folder, monkeypatch, capsys):
    trusted_settings(folder, "lateness: 30s\nlimits: {events: 10}\n")
    monkeypatch.setenv("ETHOGRAM_FAIL_ON", "high")
    assert main(["config", "show"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["lateness", "30s", "ethogram.yaml:1:1"] in rows
    assert ["limits.events", "10", "ethogram.yaml:2:10"] in rows
    assert ["fail_on", "high", "ETHOGRAM_FAIL_ON"] in rows
    assert ["source", "input", "default"] in rows
    assert {row[0].partition(".")[0] for row in rows} == {one.name for one in fields(Settings)}


def test_with_json_there_is_one_record_a_setting(folder, capsys):
    (folder / "own.yaml").write_text("patterns: [a, b]\n")
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    assert main(["config", "show", "--json", "--config", "own.yaml"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"record": "setting", "key": "patterns", "value": ["a", "b"], "origin": "own.yaml:1:1"} in found
    assert {"record": "setting", "key": "time_zone", "value": None, "origin": "default"} in found


def test_a_mistake_is_told_with_its_place(folder, capsys):
    (folder / "ethogram.yaml").write_text("latness: 30s\n")
    assert main(["config", "show", "--config", "ethogram.yaml"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.startswith("ethogram.yaml:1:1: unknown setting 'latness'; did you mean")) == (
        "",
        True,
    )


def test_the_path_is_the_file_that_is_read(folder, monkeypatch, capsys):
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out.startswith("no settings file: no ethogram.yaml in this folder")
    (folder / "ethogram.yaml").write_text("")
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{folder / 'ethogram.yaml'}\n"
    monkeypatch.setenv("ETHOGRAM_CONFIG", "/etc/ethogram.yaml")
    assert main(["config", "path", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"record": "config", "path": "/etc/ethogram.yaml", "trusted": True, "user": None}
