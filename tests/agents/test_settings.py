"""`hook:` in the settings: what it may say, and what each mistake is told as."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ethogram.agents.hook.plan import rules_in
from ethogram.agents.status import Rules
from ethogram.cli.main import main
from ethogram.config import Settings, load_settings
from ethogram.config.settings import HOOK
from ethogram.errors import BadConfig
from ethogram.models.constants import RUNGS
from settings_files import trusted_settings


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rules(text: str, name: str = ".ethogram.yaml", **environ: str) -> Rules:
    trusted_settings("", text, name)
    return rules_in(load_settings(environ=environ).settings)


def faults(text: str) -> list[str]:
    Path("ethogram.yaml").write_text(text)
    with pytest.raises(BadConfig) as caught:
        load_settings("ethogram.yaml", environ={})
    return [str(fault) for fault in caught.value.faults]


def test_stopping_is_no_part_of_the_defaults():
    default = rules_in(Settings())
    assert set(RUNGS) - set(default.active_rungs) == {"stop"}
    assert default == Rules(("nudge", "remind", "ask"), 5, 6, "medium", (), "ask")


def test_what_is_not_said_keeps_its_default():
    record = rules("hook: {rungs: [nudge, stop], cool_down: 9}\n")
    assert record == replace(rules_in(Settings()), rungs=("nudge", "stop"), cool_down=9)
    assert record.active_rungs == ("nudge", "stop")


def test_any_rung_pattern_or_tool_can_be_turned_off():
    record = rules("hook: {off: [remind, loop, WebSearch], critical: off}\n")
    assert record.active_rungs == ("nudge", "ask")
    assert not any(record.has(name) for name in ("remind", "loop", "WebSearch"))
    assert record.critical == "off"


def test_a_variable_lies_over_the_file():
    record = rules("hook: {most: 2, lowest: high}\n", ETHOGRAM_HOOK="{most: 1}")
    assert (record.most, record.lowest) == (1, "high")


def test_the_file_of_another_folder_holds_there_and_not_here():
    Path("inner").mkdir()
    trusted_settings("inner", "hook: {most: 1}\n", ".ethogram.yaml")
    assert load_settings(environ={}).settings.hook["most"] == HOOK["most"]
    assert load_settings(environ={}, folder="inner").settings.hook["most"] == 1


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("hook: [nudge]\n", "1:7", "a mapping"),
        ("hook:\n  rungs: nudge\n", "2:10", "a list, like [a, b]"),
        ("hook:\n  rungs: [nudge, shout]\n", "2:18", "'shout'"),
        ("hook:\n  cooldown: 3\n", "2:3", "did you mean 'cool_down'?"),
        ("hook:\n  most: many\n", "2:9", "'many'"),
        ("hook:\n  most: -1\n", "2:9", "-1"),
        ("hook:\n  lowest: grave\n", "2:11", "'grave'"),
        ("hook:\n  critical: allow\n", "2:13", "'allow'"),
        ("hook:\n  off: {loop: true}\n", "2:8", "a list"),
    ],
)
def test_a_mistake_is_told_with_its_place(text, place, said):
    (fault,) = faults(text)
    assert fault.startswith(f"ethogram.yaml:{place}: ")
    assert said in fault


def test_every_mistake_is_told_at_once():
    assert len(faults("hook: {rungs: [shout], most: x, loud: 1}\n")) == 3


def test_the_settings_are_shown_one_by_one(capsys):
    trusted_settings("", "hook: {most: 3}\n", ".ethogram.yaml")
    assert main(["config", "show"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = {line[0]: line[1:] for line in lines if line[0].startswith("hook")}
    assert set(shown) == {f"hook.{name}" for name in HOOK}
    assert shown["hook.most"] == ["3", ".ethogram.yaml:1:8"]
    assert shown["hook.cool_down"] == ["5", "default"]
