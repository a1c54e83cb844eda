"""`ethogram mute`: entries with a reason and an end, in a file that people may edit too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ethogram.cli.main import main
from settings_files import trust, trusted_settings
from small import WARM, warm_messages, write_events, write_patterns

FILE = "ethogram.mutes.yaml"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    write_patterns(tmp_path / "patterns", WARM)
    write_events(tmp_path / "events.jsonl", warm_messages())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def analyze(capsys, *more: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["analyze", "events.jsonl", "--patterns", "patterns", "--fail-on", "high", *more])
    return code, capsys.readouterr().out


def test_a_muted_detection_does_not_fail_a_run_and_is_counted(folder, capsys):
    assert analyze(capsys)[0] == 3
    assert main(["mute", "add", "--subject", "ann", "--reason", "agreed with ann", "--for", "30d"]) == 0
    code, said = analyze(capsys)
    assert code == 0
    assert said.startswith("No detections")
    assert "Muted: 1 detection (--muted shows them)\n" in said
    assert "1 detection: subject ann: agreed with ann (until " in said
    code, said = analyze(capsys, "--json")
    *_, summary = map(json.loads, said.splitlines())
    assert summary["muted"]["detections"] == 1
    assert '"record": "detection"' not in said
    code, said = analyze(capsys, "--json", "--muted")
    first = json.loads(said.splitlines()[0])
    assert first["muted"] == summary["muted"]["entries"][0]["id"]
    assert "Muted by m-" in analyze(capsys, "--muted")[1]


def test_entries_are_listed_and_removed(folder, capsys):
    assert main(["mute", "list"]) == 0
    assert capsys.readouterr().out == "nothing is muted\n"
    assert main(["mute", "add", "--pattern", "warm*", "--reason", "x", "--forever", "--json"]) == 0
    added = json.loads(capsys.readouterr().out)
    assert main(["mute", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {**added, "expired": False}
    assert main(["mute", "list"]) == 0
    assert capsys.readouterr().out == f"{added['id']}  pattern warm*  (x; no end)\n"
    assert main(["mute", "remove", added["id"]]) == 0
    assert main(["mute", "remove", added["id"]]) == 2
    assert analyze(capsys)[0] == 3


def test_the_same_again_renews_it_and_comments_stay(folder, capsys):
    (folder / FILE).write_text("# ours\nmutes:\n  # ask ann\n  - {subject: ann, reason: x, forever: true}\n")
    assert main(["mute", "add", "--subject", "ann", "--reason", "y", "--until", "2099-01-01T00:00:00Z"]) == 0
    assert capsys.readouterr().out.startswith("renewed m-")
    assert main(["mute", "add", "--subject", "bo", "--reason", "z", "--for", "1w"]) == 0
    text = (folder / FILE).read_text()
    assert "# ours" in text
    assert "# ask ann" in text
    assert text.count("subject:") == 2


def test_an_expired_entry_is_told_as_such_and_mutes_nothing(folder, capsys):
    (folder / FILE).write_text("mutes: [{subject: ann, reason: x, until: 2020-01-01T00:00:00Z}]\n")
    code, said = analyze(capsys)
    assert code == 3
    assert "has expired 2020-01-01 00:00, not applied: subject ann" in said
    assert main(["mute", "list"]) == 0
    assert "expired 2020-01-01 00:00" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given",
    [
        ["--reason", "x", "--forever"],
        ["--subject", "a", "--forever"],
        ["--subject", "a", "--reason", "  ", "--forever"],
        ["--subject", "a", "--reason", "x"],
        ["--subject", "a", "--reason", "x", "--forever", "--for", "1d"],
        ["--subject", "a", "--reason", "x", "--for", "soon"],
        ["--subject", "a", "--reason", "x", "--for", "999999999w"],
        ["--subject", "a", "--reason", "x", "--until", "2020-01-01T00:00:00Z"],
        ["--subject", "a", "--reason", "x", "--until", "2099-01-01"],
        ["--subject", "a" * 501, "--reason", "x", "--forever"],
    ],
)
def test_what_is_not_said_is_asked_for(folder, capsys, given):
    assert main(["mute", "add", *given]) == 2
    assert capsys.readouterr().err.startswith("ethogram: ")
    assert not (folder / FILE).exists()


def test_every_fault_of_the_file_is_told_with_its_place(folder, capsys):
    (folder / FILE).write_text(
        "mutes:\n"
        "  - {subjct: ann, reason: x, forever: true}\n"
        "  - {subject: ann, until: tomorrow}\n"
        "  - {subject: bo, reason: x}\n"
        "  - ann\n"
        "  - {subject: cy, reason: x, forever: true}\n"
        "  - {subject: cy, reason: y, forever: true}\n"
    )
    trust(folder / FILE)
    assert main(["analyze", "events.jsonl", "--patterns", "patterns"]) == 2
    said = capsys.readouterr().err
    for part in (
        f"{FILE}:2:6: unknown key in mutes.0: 'subjct'; did you mean 'subject'?",
        f"{FILE}:3:27: until: ",
        f"{FILE}:3:5: mutes.1: reason is missing",
        f"{FILE}:4:5: must have either until",
        f"{FILE}:5:5: mutes.3 must be a mapping",
        f"{FILE}:7:5: mutes the same as an entry above it",
    ):
        assert part in said, part


def test_the_file_lies_beside_the_settings_or_where_they_say(folder, capsys):
    (folder / "conf").mkdir()
    (folder / "conf" / "e.yaml").write_text("source: x\n")
    add = ["mute", "add", "--subject", "ann", "--reason", "x", "--forever"]
    assert main([*add, "--config", "conf/e.yaml"]) == 0
    assert (folder / "conf" / FILE).exists()
    assert analyze(capsys)[0] == 3
    trusted_settings(folder, f"mutes: conf/{FILE}\n")
    assert analyze(capsys)[0] == 0


@pytest.mark.parametrize("text", ["", "mutes:\n", "mutes: []\n", "# nothing\n"])
def test_an_empty_file_mutes_nothing_and_can_be_added_to(folder, capsys, text):
    (folder / FILE).write_text(text)
    trust(folder / FILE)
    assert analyze(capsys)[0] == 3
    assert main(["mute", "add", "--subject", "ann", "--reason", "x", "--forever"]) == 0
    assert analyze(capsys)[0] == 0
