"""`ethogram signals list`: every name a pattern may use, in one place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ethogram.cli.main import main
from ethogram.patterns.catalogue import attribute_catalogue, indicator_catalogue, known_signals, load_tables
from settings_files import trusted_settings


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(capsys, *args: str) -> list[dict]:
    assert main(["signals", "list", "--json", *args]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_signal_is_listed_with_kind_range_cost_and_version(capsys):
    found = {one["name"]: one for one in listed(capsys)}
    assert {name: one["kind"] for name, one in found.items()} == known_signals()
    assert all(one["record"] == "signal" and one["description"] for one in found.values())
    assert (found["compassion"]["range"], found["compassion"]["cost"]) == ([0, 1], "supplied")
    assert (found["late_night"]["cost"], found["late_night"]["version"]) == ("free", 1)
    assert found["tokens"]["range"] == [0, None]
    assert found["query_stage"]["range"] == ["what", "how", "weakness", "exploit"]
    assert found["topic"]["range"] is None


def test_a_person_gets_a_table_with_ranges_in_words(capsys):
    assert main(["signals", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "kind", "range", "cost", "version", "description"]
    assert any(line.startswith("tokens ") and " 0 or more " in line for line in lines)


def test_signals_declared_in_the_settings_are_listed_too(folder, capsys):
    trusted_settings(folder, "signals: {my_score: number}\n")
    assert "my_score" in {one["name"] for one in listed(capsys)}


def test_a_declaration_that_contradicts_what_is_known_is_an_error(folder, capsys):
    trusted_settings(folder, "signals: {compassion: category}\n")
    assert main(["signals", "list"]) == 2
    assert "signals.compassion: is known as a number" in capsys.readouterr().err


def test_indicators_attributes_and_tables_have_lists_of_their_own(capsys):
    assert [one["name"] for one in listed(capsys, "--indicators")] == list(indicator_catalogue())
    assert {one["name"] for one in listed(capsys, "--attributes")} == set(attribute_catalogue())
    tables = listed(capsys, "--tables")
    assert {one["name"]: one["values"] for one in tables} == load_tables()
    both = listed(capsys, "--attributes", "--tables")
    assert {one["record"] for one in both} == {"attribute", "table"}


def test_an_indicator_is_listed_with_its_definition(capsys):
    known = {name: one.definition for name, one in indicator_catalogue().items()}
    assert {one["name"]: one["definition"] for one in listed(capsys, "--indicators")} == known
    assert main(["signals", "list", "--indicators"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[-1] == "definition"
    assert all(line.endswith(text) for line, text in zip(lines, known.values(), strict=True))
