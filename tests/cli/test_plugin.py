"""`--plugin`: the user's own signals and evaluators, from the command line and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ethogram import registry
from ethogram.cli.main import main
from settings_files import trusted_settings

SIGNAL = '''
from ethogram import signal

@signal("{name}", range=(0, 9), reads=("text",))
def measured(event):
    """Letters a."""
    return event.text.count("a")
'''


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("letters_a", "letters_b"):
        registry.signals.discard(name)


def test_a_signal_is_tried_on_texts(folder, capsys):
    Path("a.py").write_text(SIGNAL.format(name="letters_a"))
    assert main(["signals", "try", "letters_a", "banana", "pit", "--plugin", "a.py"]) == 0
    assert capsys.readouterr().out == "1. 3.0\n2. 0.0\n"
    assert main(["signals", "try", "letters_a", "ba", "--plugin", "a.py", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["record"], record["number"], record["value"]) == ("sample", 1, 1.0)
    assert main(["signals", "list", "--plugin", "a.py"]) == 0
    assert "letters_a" in capsys.readouterr().out
    assert not Path("__pycache__").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = (", "bad.py:1"),
        ("\n\nx = 1 / 0\n", "bad.py:3: cannot be run: ZeroDivisionError: division by zero"),
        (SIGNAL.format(name="Bad Name"), "invalid signal name 'Bad Name'"),
        (SIGNAL.format(name="question"), "two signals are named 'question'"),
    ],
)
def test_a_faulty_file_is_bad_usage_with_its_place(folder, capsys, text, words):
    Path("bad.py").write_text(text)
    registry.signals.find()
    assert main(["signals", "list", "--plugin", "bad.py"]) == 2
    assert words in capsys.readouterr().err


def test_what_is_no_python_file_is_refused(folder, capsys):
    Path("a.txt").write_text("")
    for path, words in (("a.txt", "expected a Python file"), ("none.py", "no such file"), (".", "expected")):
        assert main(["signals", "list", "--plugin", path]) == 2
        assert words in capsys.readouterr().err


def test_no_setting_loads_code(folder, capsys):
    Path("a.py").write_text("open('ran', 'w').close()\n")
    for name in ("plugin", "plugins"):
        trusted_settings(folder, f"{name}: [a.py]\n")
        assert main(["signals", "list"]) == 2
        assert f"unknown setting '{name}'" in capsys.readouterr().err
    assert not Path("ran").exists()


def test_an_unknown_name_suggests_another(folder, capsys):
    assert main(["signals", "try", "questoin", "hello"]) == 2
    assert "did you mean 'question'" in capsys.readouterr().err
    assert main(["signals", "try", "question"]) == 2
    assert main(["signals", "try", "question", "x", "--option", "a=1"]) == 2


def test_an_evaluator_is_tried_on_texts(folder, capsys):
    assert main(["signals", "try", "local", "Act now or you will regret it."]) == 0
    assert "manipulation 0." in capsys.readouterr().out
