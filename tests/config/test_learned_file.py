"""The file of what was learned: a layer of the settings, written whole, and refused where it is edited."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ethogram.config import load_settings
from ethogram.config.learned import LEARNED_FILE, read_changes, write_changes
from ethogram.errors import BadConfig
from ethogram.risk.changes import Change, in_force
from settings_files import trust, trusted_settings

AT = datetime(2026, 6, 1, 12, tzinfo=UTC)
ONE = Change(AT, "ann", "love_bombing", "pressure", 0.3, 0.5, why='says "more": # and\nnewlines')


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


numbers = st.one_of(st.integers(-100, 100), st.floats(-1e9, 1e9, allow_nan=False))
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.just("\n"), min_size=1, max_size=8)


@settings(max_examples=25)
@given(st.lists(st.builds(Change, st.just(AT), names, names, names, numbers, numbers, why=names), max_size=5))
def test_what_is_written_is_read_again_to_the_last_digit(changes):
    write_changes(Path("l.yaml"), tuple(changes))
    found = read_changes(Path("l.yaml"))
    assert found == tuple(changes)
    assert [type(item.new) for item in found] == [type(change.new) for change in changes]


def test_it_lies_over_the_settings_file_and_under_variables_and_options():
    trusted_settings("", "parameters: {love_bombing: {pressure: 0.2, warmth: 0.4}}\n")
    write_changes(Path(LEARNED_FILE), (ONE,))
    loaded = load_settings(environ={})
    assert loaded.settings.parameters == {"love_bombing": {"pressure": 0.5, "warmth": 0.4}}
    assert loaded.origins["parameters.love_bombing.pressure"] == "ethogram.learned.yaml:5:5"
    environ = {"ETHOGRAM_PARAMETERS": "{love_bombing: {pressure: 0.9}}"}
    assert load_settings(environ=environ).settings.parameters["love_bombing"]["pressure"] == 0.9
    given = {"parameters": {"love_bombing": {"pressure": 0.8}}}
    assert (
        load_settings(environ=environ, overrides=given).settings.parameters["love_bombing"]["pressure"] == 0.8
    )


def test_it_is_looked_for_beside_the_settings_or_where_they_say():
    Path("a").mkdir()
    Path("a/e.yaml").write_text("")
    write_changes(Path("a", LEARNED_FILE), (ONE,))
    assert load_settings("a/e.yaml", environ={}).settings.parameters == in_force((ONE,))
    assert load_settings(environ={}).settings.parameters == {}
    assert load_settings(environ={}, folder="a").settings.parameters == in_force((ONE,))
    trusted_settings("", f"learning: {{file: a/{LEARNED_FILE}}}\n")
    assert load_settings(environ={}).settings.parameters == in_force((ONE,))
    trusted_settings("", "learning: {file: elsewhere.yaml}\n")
    assert load_settings(environ={}).settings.parameters == {}


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("parameter: {}\n", ["1:1: unknown key 'parameter'; did you mean 'parameters'?"]),
        ("- 1\n", ["1:1: must be a mapping"]),
        ("parameters: {loop: {line: high}}\n", ["1:27: parameters.loop.line must be a number"]),
        ("a: [\n", [""]),
    ],
)
def test_a_file_that_cannot_be_used_is_a_fault_of_the_settings(text, faults):
    Path(LEARNED_FILE).write_text(text)
    trust(LEARNED_FILE)
    with pytest.raises(BadConfig) as caught:
        load_settings(environ={})
    for fault, start in zip(caught.value.faults, faults, strict=True):
        assert str(fault).startswith(f"{LEARNED_FILE}:{start}")


def test_an_edit_by_hand_that_does_not_fit_the_changes_is_told():
    write_changes(Path(LEARNED_FILE), (ONE,))
    text = Path(LEARNED_FILE).read_text()
    Path(LEARNED_FILE).write_text(text.replace('"pressure": 0.5', '"pressure": 0.6'))
    with pytest.raises(BadConfig, match="parameters must be what the changes come to"):
        read_changes(Path(LEARNED_FILE))


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ("1", "must be a mapping"),
        ("{at: 2026-06-01T12:00:00Z, by: a, pattern: p, parameter: q, old: 1}", "new is missing"),
        ("{at: soon, by: a, pattern: p, parameter: q, old: 1, new: 2}", "at: "),
        ("{at: 2026-06-01T12:00:00Z, by: 1, pattern: p, parameter: q, old: 1, new: 2}", "by must be a text"),
        (
            "{at: 2026-06-01T12:00:00Z, by: a, pattern: p, parameter: q, old: x, new: 2}",
            "old must be a number",
        ),
        ("{at: 2026-06-01T12:00:00Z, by: a, pattern: p, parameter: q, old: 1, new: 2, undoes: 1}", "earlier"),
    ],
)
def test_a_change_that_is_none_is_told_with_its_place(entry, match):
    Path(LEARNED_FILE).write_text(f"parameters: {{}}\nchanges:\n  - {entry}\n  - {entry}\n")
    with pytest.raises(BadConfig, match=match) as caught:
        read_changes(Path(LEARNED_FILE))
    assert [fault.line for fault in caught.value.faults][:2] == [3, 4][: len(caught.value.faults)]
