"""Mistakes in settings and options are told where they were made."""

from __future__ import annotations

from pathlib import Path

import pytest

from ethogram.cli.main import main
from settings_files import trusted_settings
from small import WARM, warm_messages, write_events, write_patterns


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, no_shipped_patterns) -> Path:
    monkeypatch.delenv("ETHOGRAM_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM)
    write_events(tmp_path / "events.jsonl", warm_messages())
    return tmp_path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "parameters: {warm_then_cold: {wrmth: 0.3}}",
            "2:31: pattern 'warm_then_cold' has no parameter 'wrmth'; did you mean 'warmth'?",
        ),
        (
            "parameters: {warm_then_cold: {zzz: 0.3}}",
            "2:31: pattern 'warm_then_cold' has no parameter 'zzz'; it has warmth, pressure",
        ),
        (
            "parameters: {warm_then_clod: {}}",
            "2:14: no pattern is named 'warm_then_clod'; did you mean 'warm_then_cold'?",
        ),
        (
            "status: {warm_then_clod: shadow}",
            "2:10: no pattern is named 'warm_then_clod'; did you mean 'warm_then_cold'?",
        ),
        (
            "signals: {compassion: category}",
            (
                "2:11: signals.compassion: is known as a number, not a category; "
                "remove this line or choose another name"
            ),
        ),
        (
            "signals: {mean: number}",
            "2:11: signals: 'mean' is a function of the pattern language; choose another name",
        ),
        (
            "signals: {age: number}",
            "2:11: signals: 'age' is a word of the pattern language; choose another name",
        ),
        (
            "signals: {'a b': number}",
            "2:11: signals: the name 'a b' must be a plain word: small letters, digits and _",
        ),
        (
            "scorers: {compasion: x}",
            (
                "2:11: unknown signal 'compasion'; did you mean 'compassion'? "
                "(one of your own: declare it under signals:)"
            ),
        ),
    ],
)
@pytest.mark.parametrize("command", [["analyze", "events.jsonl"], ["config", "show"], ["patterns", "list"]])
def test_a_mistake_in_the_settings_has_its_line_and_column(folder, capsys, command, text, said):
    trusted_settings(folder, f"patterns: [patterns]\n{text}\n")
    assert main(command) == 2
    assert capsys.readouterr() == ("", f"ethogram.yaml:{said}\n")


@pytest.mark.parametrize("command", [["analyze", "events.jsonl"], ["config", "show"], ["patterns", "lint"]])
def test_a_folder_of_patterns_that_is_not_there_is_one_fault(folder, capsys, command):
    trusted_settings(folder, "patterns: [patterns, nolib]\n")
    assert main(command) == 2
    assert capsys.readouterr() == ("", "ethogram.yaml:1:22: no such file or folder: 'nolib'\n")


def test_a_variable_is_named_where_it_is_what_is_wrong(folder, capsys, monkeypatch):
    trusted_settings(folder, "parameters: {warm_then_cold: {warmth: 0.5}}\n")
    monkeypatch.setenv("ETHOGRAM_PATTERNS", "nolib")
    assert main(["config", "show"]) == 2
    assert capsys.readouterr().err == "ETHOGRAM_PATTERNS: no such file or folder: 'nolib'\n"


def test_a_pattern_named_only_by_an_option_may_have_overlays(folder, capsys):
    line = ["analyze", "events.jsonl", "--patterns", "patterns/warm_then_cold.yaml"]
    assert main([*line, "--set", "warm_then_cold.warmth=0.99"]) == 0
    assert capsys.readouterr().out.startswith("No detections")


def test_a_signal_that_is_like_no_known_one_may_have_a_scorer(folder):
    trusted_settings(
        folder,
        "patterns: [patterns]\nsignals: {compasion: number}\nscorers: {zzqq: x, compasion: y, '*': given}\n",
    )
    assert main(["analyze", "events.jsonl"]) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "x.y=nan"], "--set: parameters.x.y must be a number; got nan"),
        (["--set", "x.y=1"], "--set: no pattern is named 'x'"),
        (["--scorer", ""], "ethogram: invalid --scorer '': expected SCORER or SIGNAL=SCORER"),
        (["--scorer", "=x"], "ethogram: invalid --scorer '=x': expected SCORER or SIGNAL=SCORER"),
        (
            ["--scorer", "compassion="],
            "ethogram: invalid --scorer 'compassion=': expected SCORER or SIGNAL=SCORER",
        ),
        (
            ["--scorer", "compasion=x"],
            "--scorer: unknown signal 'compasion'; did you mean 'compassion'?",
        ),
        (["--source", ""], "ethogram: Invalid value for --source: must not be empty"),
    ],
)
def test_a_mistake_in_an_option_names_the_option(folder, capsys, options, said):
    trusted_settings(folder, "patterns: [patterns]\n")
    assert main(["analyze", "events.jsonl", *options]) == 2
    assert capsys.readouterr().err.startswith(said)
