"""`ethogram store subject` and `ethogram store subject`: where one stands, and who there is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ethogram.app.subject import subject_context
from ethogram.cli.main import main
from ethogram.patterns.library import load_patterns
from ethogram.schemas import schema
from ethogram.store import open_store
from settings_files import trusted_settings
from small import BOTH, GONE, HOT, WARM, message, turns, warm_messages, write_events, write_patterns


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys, no_shipped_patterns) -> Path:
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM, HOT, GONE, BOTH)
    lines = [
        *warm_messages(),
        *warm_messages("di")[:3],
        *turns("cy", [0.1, 0.2, 0.9, 0.95, 0.9], [1, 2, 3, 4, 5]),
    ]
    write_events(tmp_path / "a.jsonl", [*lines, message("cy-6", 6, "cy", topic="locks")])
    trusted_settings(tmp_path, "patterns: [patterns]\n")
    main(["store", "import", "a.jsonl", "--store", "s.db"])
    main(["sweep", "--store", "s.db", "--as-of", "2026-01-06T12:00:00Z"])
    capsys.readouterr()
    return tmp_path


def run(*args: str, code: int = 0) -> None:
    assert main([*args, "--store", "s.db"]) == code


def asked(capsys, *args: str) -> dict:
    run("store", "subject", *args, "--json")
    return checked(capsys.readouterr().out)


def checked(line: str) -> dict:
    """A record that its schema knows in full."""
    one = json.loads(line)
    Draft202012Validator(schema(one["record"])).validate(one)
    assert one.keys() <= schema(one["record"])["properties"].keys()
    return one


def test_other_records_have_a_schema_too(folder, capsys):
    run("store", "subject", "--json")
    main(["config", "show", "--json"])
    run("store", "purge", "--subject", "di", "--json")
    told = [checked(line)["record"] for line in capsys.readouterr().out.splitlines()]
    assert set(told) == {"subject_row", "setting", "purge"}


def test_it_says_what_a_subject_did_and_where_its_readings_go(folder, capsys):
    run("store", "subject", "cy")
    said = capsys.readouterr().out
    assert said.startswith("cy (source input): 6 events\n  from 2026-01-01 12:00 to 2026-01-06 12:00 UTC\n")
    assert "  risk: 5 readings; mean 0.61, latest 0.9, rising (+0.94)\n" in said
    assert "  topic: 1 reading; locks 1\n" in said
    assert "  MEDIUM Hot for long, since 2026-01-04 12:00, still open (id " in said


def test_json_has_the_same_in_full(folder, capsys):
    one = asked(capsys, "cy")
    assert (one["record"], one["events"], one["targets"]) == ("subject", 6, {"bo": 6})
    (risk,) = [signal for signal in one["signals"] if signal["signal"] == "risk"]
    assert risk["count"] == 5
    assert risk["mean"] == pytest.approx(0.61)
    assert risk["tau"] == pytest.approx(0.737865)
    assert risk["trend"] == "rising"
    assert [found["pattern"] for found in one["detections"]] == ["hot_for_long"]


def test_it_tells_how_far_a_staged_pattern_has_come(folder, capsys):
    then = ("--as-of", "2026-01-03T12:00:00Z")
    run("store", "subject", "di", *then)
    line = (
        "  warm_then_cold (target bo): 1 of 2 steps, 3 events since 2026-01-01 12:00, "
        "last 'warm' at 2026-01-03 12:00; "
        "next 'press'\n"
    )
    assert line in capsys.readouterr().out
    (stage,) = asked(capsys, "di", *then)["stages"]
    assert (stage["stage"], stage["of"], stage["step"], stage["next"]) == (1, 2, "warm", "press")
    assert (stage["event"], stage["history"]) == ("di-3", {"subject": "di", "target": "bo"})


def test_a_stage_that_can_no_longer_be_completed_is_not_told(folder, capsys):
    def reached(subject: str, at: str) -> list[int]:
        return [stage["events"] for stage in asked(capsys, subject, "--as-of", at)["stages"]]

    assert reached("di", "2026-01-05T12:00:00Z") == [3]
    # Two days later pressure no longer comes soon; but one more warm message would be the third again.
    assert reached("di", "2026-01-05T12:00:01Z") == [2]
    assert reached("ann", "2026-01-04T12:00:00Z") == []  # it has fired, and nothing has begun since


def test_a_stage_as_it_was_at_an_earlier_moment(folder, capsys):
    (stage,) = asked(capsys, "di", "--as-of", "2026-01-02T12:00:00Z")["stages"]
    assert (stage["events"], stage["last"]) == (2, "2026-01-02T12:00:00Z")


def test_an_unknown_subject_is_told_with_the_nearest(folder, capsys):
    run("store", "subject", "annn", code=2)
    assert "no subject 'annn' in the store; did you mean 'ann'?" in capsys.readouterr().err


def test_of_a_name_in_two_sources_one_must_be_chosen(folder, capsys):
    main(["store", "import", "a.jsonl", "--store", "s.db", "--source", "other"])
    capsys.readouterr()
    run("store", "subject", "ann", code=2)
    assert "several sources (input, other): choose one with --source" in capsys.readouterr().err
    assert asked(capsys, "ann", "--source", "other")["source"] == "other"


def test_subjects_are_listed_and_sorted(folder, capsys):
    run("store", "subject")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["subject", "source", "events", "first", "last", "detections"]
    assert lines[1].split() == ["ann", "input", "4", "2026-01-01", "12:00", "2026-01-04", "12:00", "1"]
    for sort, first in (("name", "ann"), ("events", "cy"), ("last", "cy"), ("detections", "ann")):
        run("store", "subject", "--sort", sort, "--json")
        assert json.loads(capsys.readouterr().out.splitlines()[0])["subject"] == first
    run("store", "subject", "--sort", "size", code=2)


def test_the_context_is_an_object_too(folder):
    with open_store("s.db") as store:
        found = subject_context(
            store, "input", "di", datetime(2026, 1, 4, tzinfo=UTC), library=load_patterns(["patterns"])
        )
        nobody = subject_context(store, "input", "nobody", datetime(2026, 1, 4, tzinfo=UTC))
    assert [stage.pattern for stage in found.stages] == ["warm_then_cold"]
    assert json.loads(json.dumps(found.to_dict()))["subject"] == "di"
    assert (nobody.events, nobody.first_at, nobody.signals) == (0, None, ())
    with pytest.raises(AttributeError):
        found.events = 3


def test_its_risk_is_the_one_that_ethogram_risk_tells(folder, capsys):
    main(["sweep", "--store", "s.db", "--as-of", "2026-01-20T12:00:00Z"])
    capsys.readouterr()
    run("store", "risk", "ann", "--json")
    told = json.loads(capsys.readouterr().out)
    one = asked(capsys, "ann")
    # Both ask about the newest moment that the store knows, a fortnight after the last of ann.
    assert (one["risk"], one["as_of"]) == (told["value"], told["as_of"])
    assert one["as_of"] == "2026-01-20T12:00:00Z"
    run("store", "subject", "ann")
    assert f"  risk {told['value']:.2f}, as of 2026-01-20 12:00 UTC; " in capsys.readouterr().out
