"""`ethogram verdict`, `accuracy`, `calibration` and `learn`, as a person or a script uses them."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ethogram.cli.main import main
from ethogram.schemas import schema
from ethogram.store import open_store
from judged_world import RIGHT, make_world
from settings_files import add_settings, trust
from small import turns, write_events

FRESH = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, dict[str, float]]:
    folder = tmp_path_factory.mktemp("world")
    return folder, make_world(folder, 40)


@pytest.fixture
def world(made, tmp_path, monkeypatch) -> dict[str, float]:
    folder, hot = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    trust("ethogram.yaml")
    with open_store("s.db") as store:
        rows = [
            f"{one.id},{'confirmed' if hot[one.subject] > RIGHT else 'false_alarm'}"
            for one in store.detections()
        ]
    Path("v.csv").write_text("\n".join(["detection,verdict", *rows, ""]))
    return hot


def run(*args: str, code: int = 0) -> None:
    assert main([*args, "--store", "s.db"]) == code


def records(text: str) -> list[dict]:
    found = [json.loads(line) for line in text.splitlines()]
    for one in found:
        Draft202012Validator(schema(one["record"])).validate(one)
        assert one.keys() <= schema(one["record"])["properties"].keys()
    return found


def test_a_verdict_is_kept_and_told(world, capsys):
    name = Path("v.csv").read_text().splitlines()[1].partition(",")[0]
    run("verdict", name, "confirmed", "--why", "I was there.", "--by", "ann")
    assert f"confirmed  too_hot {name}  by ann: I was there." in capsys.readouterr().out
    run("verdict", name, "false_alarm", "--by", "bo", "--blind", "--json")
    (said,) = records(capsys.readouterr().out)
    assert (said["verdict"], said["by"], said["blind"], said["detection"]) == (
        "false_alarm",
        "bo",
        True,
        name,
    )
    run("verdict", name, "--json")
    assert [one["by"] for one in records(capsys.readouterr().out)] == ["ann", "bo"]
    where = ("--subject", "cool0", "--from", "cool0-0", "--to", "cool0-2", "--by", "ann", "--json")
    run("verdict", "--missed", "too_hot", *where)
    run("verdict", "--correct-silence", "too_hot", *where[:-2], "bo", "--json")
    assert [one["verdict"] for one in records(capsys.readouterr().out)] == ["missed", "correct_silence"]
    run("verdict", "--list", "--json")
    assert len(records(capsys.readouterr().out)) == 4


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("d9", "confirmed"),
        ("d9", "maybe"),
        ("d9", "confirmed", "--list"),
        ("--missed", "too_hot", "--subject", "cool0"),
        ("--missed", "no_such", "--subject", "cool0", "--from", "cool0-0", "--to", "cool0-2"),
        ("--file", "none.csv"),
        ("d9", "confirmed", "--at", "yesterday"),
        ("--list", "--why", "I was there."),
    ],
)
def test_bad_usage_is_exit_2_and_nothing_is_kept(world, capsys, args):
    run("verdict", *args, code=2)
    assert capsys.readouterr().err
    run("verdict", "--list")
    assert capsys.readouterr().out == "no verdicts\n"


def test_a_reason_without_a_verdict_is_refused(world, capsys):
    name = Path("v.csv").read_text().splitlines()[1].partition(",")[0]
    run("verdict", name, "--why", "I was there.", code=2)
    assert "confirmed or" in capsys.readouterr().err
    tomorrow = (FRESH + timedelta(days=1)).isoformat()
    run("verdict", name, "confirmed", "--at", tomorrow, code=2)
    assert "in the future" in capsys.readouterr().err
    run("verdict", "--list")
    assert capsys.readouterr().out == "no verdicts\n"


def test_what_is_said_again_is_told_as_known(world, capsys):
    name = Path("v.csv").read_text().splitlines()[1].partition(",")[0]
    for _ in range(2):
        run("verdict", name, "confirmed", "--by", "ann")
    first, second = capsys.readouterr().out.splitlines()
    assert (first.endswith("by ann"), second.endswith("by ann  (already known)")) == (True, True)


@pytest.mark.parametrize("command", [["patterns", "accuracy"], ["patterns", "accuracy", "--calibration"]])
def test_a_pattern_that_there_is_not_is_refused(world, capsys, command):
    run(*command, "too_hott", code=2)
    assert capsys.readouterr().err == "ethogram: there is no pattern 'too_hott'; did you mean 'too_hot'?\n"
    run(*command, "too_hot")


def test_silences_are_drawn_from_at_least_as_many(world, capsys):
    for who in ("cool0", "cool1"):
        run("verdict", "--missed", "too_hot", "--subject", who, "--from", f"{who}-0", "--to", f"{who}-2")
    run("patterns", "accuracy", "--silences", "1", code=2)
    assert "2 silences of too_hot were judged" in capsys.readouterr().err
    run("patterns", "accuracy", "--silences", "2")


def test_a_file_with_a_fault_is_refused_as_a_whole(world, capsys):
    lines = Path("v.csv").read_text().splitlines()
    Path("v.csv").write_text("\n".join([*lines[:3], "d9,confirmed", *lines[3:], "x,perhaps", ""]))
    run("verdict", "--file", "v.csv", "--json", code=2)
    found = records(capsys.readouterr().err)
    assert [one["line"] for one in found] == [4, len(lines) + 2]
    run("verdict", "--list")
    assert capsys.readouterr().out == "no verdicts\n"


def test_the_whole_way_from_verdicts_to_a_better_number(world, capsys):
    confirmed = sum(one > RIGHT for one in world.values())
    run("patterns", "accuracy")
    run("patterns", "accuracy", "--calibration")
    run("patterns", "learn")
    assert capsys.readouterr().out == "insufficient verdicts: none; see `ethogram verdict`\n" * 3
    run("verdict", "--file", "v.csv", "--by", "ann")
    run("verdict", "--file", "v.csv", "--by", "ann", "--json")
    first, second = capsys.readouterr().out.splitlines()
    assert first == "40 verdicts added; already known: 0"
    assert records(second) == [{"record": "verdicts_added", "added": 0, "repeated": 40}]

    run("patterns", "accuracy", "too_hot", "--json")
    told, agreed = records(capsys.readouterr().out)
    assert (told["confirmed"], told["false_alarm"], told["unjudged"]) == (confirmed, 40 - confirmed, 0)
    assert told["precision"] == round(confirmed / 40, 6)
    assert told["recall"] == {"at_least": None, "at_most": None}
    assert agreed["judges"] == {"ann": 40}
    run("patterns", "accuracy")
    assert f"precision {confirmed / 40:.2f} (" in capsys.readouterr().out

    run("patterns", "learn", "--json")
    (proposal,) = records(capsys.readouterr().out)
    assert proposal["parameter"] == "line"
    assert proposal["low"] <= RIGHT <= proposal["high"]
    run("patterns", "learn")
    said = capsys.readouterr().out
    assert "-     line: 0.3" in said
    assert f"+     line: {proposal['new']:g}" in said
    run("patterns", "learn", "too_hot", "--accept", "--by", "ann", "--json")
    (change,) = records(capsys.readouterr().out)
    assert change["new"] == proposal["new"]
    run("patterns", "learn", "--list", "--json")
    assert records(capsys.readouterr().out) == [{**change, "number": 1}]
    run("patterns", "learn", "too_hot", "--accept", code=2)
    run("patterns", "learn", "too_hot", "--undo", "--by", "bo")
    run("patterns", "learn", "too_hot", "--undo", code=2)
    run("patterns", "learn", "--accept", code=2)
    assert "undone: too_hot.line" in capsys.readouterr().out

    Path("out").mkdir()
    run("patterns", "accuracy", "--calibration", "--html", "out/page.html", "--json")
    (table,) = records(capsys.readouterr().out)
    assert (table["verdicts"], table["sufficient"]) == (40, True)
    assert sum(row["count"] for row in table["rows"]) == 40
    assert sum(row["right"] for row in table["rows"]) == confirmed
    page = Path("out/page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.count("<circle") == len(table["rows"])
    run("patterns", "accuracy", "--calibration")
    plot = capsys.readouterr().out
    assert plot.count("o") > len(table["rows"])
    assert "confidence" in plot


def test_by_itself_where_the_settings_allow_it(world, capsys):
    add_settings("learning: {automatic: true}\n")
    run("verdict", "--file", "v.csv", "--by", "ann")
    capsys.readouterr()
    run("patterns", "learn")
    assert "changed: too_hot.line 0.3 -> " in capsys.readouterr().out
    run("patterns", "learn", "--json")
    found = records(capsys.readouterr().out)
    assert all(one["record"] != "learned" for one in found)
    assert all(one["not_changed"] for one in found if one["record"] == "proposal")


def test_a_second_judge_sees_the_detection_and_not_what_was_said(world, capsys):
    run("verdict", "--second", "--by", "bo")
    assert capsys.readouterr().out == "no detection needs a second verdict by bo\n"
    run("verdict", "--file", "v.csv", "--by", "ann")
    capsys.readouterr()
    run("verdict", "--second", "--by", "bo", "--json")
    (shown,) = records(capsys.readouterr().out)
    assert shown["record"] == "detection"
    assert not {"verdict", "probability"} & shown.keys()
    run("verdict", "--second", "--by", "bo")
    said = capsys.readouterr().out
    assert shown["id"] in said
    assert "ann" not in said
    run("verdict", shown["id"], "confirmed", "--blind", "--by", "bo")
    run("patterns", "accuracy")
    assert "Judges: ann 40, bo 1" in capsys.readouterr().out


def test_what_was_judged_long_ago_is_counted_and_that_is_said(world, capsys):
    old = (FRESH - timedelta(days=31)).isoformat()
    run("verdict", "--file", "v.csv", "--by", "ann", "--at", old)
    assert "40 verdicts older than 30 days reduced to counts" in capsys.readouterr().err
    run("verdict", "--list")
    run("patterns", "accuracy", "--json")
    first, *rest = capsys.readouterr().out.splitlines()[-3:]
    told = records("\n".join(rest))[0]
    assert first == "no verdicts"
    assert told["confirmed"] + told["false_alarm"] == 40


def test_detections_are_shown_with_what_their_confidence_has_meant(world, capsys):
    run("verdict", "--file", "v.csv", "--by", "ann")
    capsys.readouterr()
    run("analyze", "--patterns", "too_hot", "--json")
    found = [
        one for one in map(json.loads, capsys.readouterr().out.splitlines()) if one["record"] == "detection"
    ]
    assert len(found) == 40
    assert all(0 <= one["probability"] <= 1 for one in found)
    run("store", "subject", "s00", "--json")
    (told,) = map(json.loads, capsys.readouterr().out.splitlines())
    same = next(one for one in found if one["subject"] == "s00")
    assert told["detections"][0]["probability"] == same["probability"]
    run("analyze", "--patterns", "too_hot")
    assert f"(by verdicts, right in {same['probability']:.0%} of such cases)" in capsys.readouterr().out
    add_settings("calibration: false\n")
    run("analyze", "--patterns", "too_hot", "--json")
    assert '"probability"' not in capsys.readouterr().out


def test_in_a_private_store_a_silence_is_named_as_people_know_it_and_kept_under_other_names(world, capsys):
    assert main(["usage", "key", "new", "u.key"]) == 0
    write_events(Path("a.jsonl"), turns("ann", [0.1, 0.1], (1, 2)))
    assert main(["store", "import", "a.jsonl", "--store", "p.db", "--pseudonyms", "u.key"]) == 0
    where = ("--subject", "ann", "--from", "ann-1", "--to", "ann-2", "--by", "kim", "--store", "p.db")
    said = ("verdict", "--missed", "too_hot", *where, "--key", "u.key")
    assert main([*said, "--why", "I know ann."]) == 2
    assert main([*said, "--why", "A colleague told me."]) == 0
    with open_store("p.db") as store:
        (one,) = store.verdicts()
        assert {one.first_event, one.last_event} == {event.id for event in store.events()}
        assert "ann" not in repr(one)
        assert [look.what for look in store.looks()] == ["verdict"]
