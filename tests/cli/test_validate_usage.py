"""`ethogram validate usage` and `ethogram usage cohort` on people made up by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ethogram.cli.main import main
from ethogram.library.schemas import schema
from ethogram.modes import validate_usage
from ethogram.usage.cohort_table import read_cohort

FIRST = datetime(2026, 1, 5, tzinfo=UTC)


def at(day: int, hour: int, minute: int = 0) -> str:
    return (FIRST + timedelta(days=day, hours=hour, minutes=minute)).isoformat().replace("+00:00", "Z")


def conversation(who: str, days: int) -> dict[str, Any]:
    """One person: a short talk of two messages every day at ten."""
    told = [(day, 10, minute) for day in range(days) for minute in (0, 3)]
    turns = [{"speaker": who, "role": "user", "text": "", "at": at(*one)} for one in told]
    return {"conversation_id": f"c-{who}", "label": None, "labels": {}, "source": "made", "turns": turns}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [json.dumps(conversation(who, 35)) for who in ("ann", "bo")]
    lines.append(json.dumps(conversation("short", 5)))
    (tmp_path / "made.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "other.jsonl").write_text(lines[0] + "\n")
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *args: object) -> list[dict[str, Any]]:
    assert main(["validate", "usage", "--json", "--set", "made", *map(str, args)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_record_is_as_its_schema_says(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two of the changes are enough to see every kind of record.
    monkeypatch.setattr(validate_usage, "CHANGES", ("fewer_events", "absence"))
    records = told(capsys, "--data", folder, "--draws", 1, "--seed", 3)
    kinds = {one["record"] for one in records}
    expected = "usage_set usage_rate usage_recall usage_silence usage_fall usage_summary"
    assert kinds == set(expected.split())
    for one in records:
        Draft202012Validator(schema(one["record"])).validate(one)
        assert one.keys() <= schema(one["record"])["properties"].keys()
    about, summary = records[0], records[-1]
    # Two people from the first of 35 days to the last; the third has too few days.
    assert (about["people"], about["events"], about["observed_days"]) == (2, 2 * 35 * 2, 2 * 35)
    assert about["person_weeks"] == pytest.approx(2 * 34 / 7, abs=0.05)
    assert (summary["seed"], summary["draws"], summary["half"]) == (3, 1, "all")
    methods = {one["method"] for one in records if one["record"] == "usage_rate"}
    assert methods == {"patterns", "asked daily", "fixed limits"}


def test_people_who_do_the_same_every_day_are_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = told(capsys, "--data", folder, "--draws", 0)
    rates = {
        (one["method"], one["level"]): one["rate"]
        for one in records
        if one["record"] == "usage_rate" and one["group"] == one["pattern"] == "all"
    }
    assert rates["patterns", "low"] == rates["asked daily", "low"] == 0
    # While fixed limits tell of a spike at every talk.
    assert rates["fixed limits", "medium"] > 0
    assert not any(one["record"] == "usage_recall" for one in records)


def test_a_new_seed_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "usage", "--set", "made", "--data", str(folder), "--draws", "0"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("seed ")
    assert "made: 2 people" in said
    assert "fixed limits" in said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "name what to look at with --set: there are made, other"),
        (("--set", "nowhere"), "there is no set 'nowhere'; there are made, other"),
        (("--set", "made", "--half", "best"), "half must be one of tune, report, all"),
    ],
)
def test_what_cannot_be_looked_at_is_told(
    args: tuple[str, ...], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "usage", "--data", str(folder), *args]) == 2
    assert said in capsys.readouterr().err


def test_nobody_known_well_enough_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "made.jsonl").write_text(json.dumps(conversation("short", 5)) + "\n")
    assert main(["validate", "usage", "--data", str(tmp_path), "--set", "made"]) == 2
    assert "nobody with three weeks and thirty events" in capsys.readouterr().err


def rows(people: int) -> str:
    """A table of use: thirty days, of each person two messages of forty characters."""
    lines = [
        f"person-{k},{at(day, hour, k % 60)},40"
        for k in range(people)
        for day in range(30)
        for hour in (9, 21)
    ]
    return "subject,at,length\n" + "\n".join(lines) + "\n"


def test_a_cohort_is_written_once_and_names_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "usage.csv", tmp_path / "cohort-2.yaml"
    data.write_text(rows(20))
    asked = ["usage", "cohort", "--from", str(data), "--out", str(out)]
    assert main([*asked, "--source", "a school's service", "--date", "2026-03-01"]) == 0
    assert "version 2 from 20 people" in capsys.readouterr().out
    made = read_cohort(out)
    assert (made.version, made.people, made.date) == (2, 20, "2026-03-01")
    assert (made.source, made.events_a_day) == ("a school's service", 2.0)
    assert "person-" not in out.read_text()
    assert main(asked) == 2
    assert "is there already" in capsys.readouterr().err


def test_a_cohort_as_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "usage.csv"
    data.write_text(rows(20))
    assert main(["usage", "cohort", "--from", str(data), "--version", "4", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema("usage_cohort")).validate(record)
    assert (record["version"], record["people"], record["file"]) == (4, 20, None)


def test_a_store_is_learnt_from_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, store = tmp_path / "usage.csv", tmp_path / "events.db"
    data.write_text(rows(20))
    assert main(["store", "import", str(data), "--store", str(store)]) == 0
    capsys.readouterr()
    assert main(["usage", "cohort", "--from", str(store)]) == 0
    from_store = capsys.readouterr().out
    assert main(["usage", "cohort", "--from", str(data)]) == 0
    assert capsys.readouterr().out == from_store


@pytest.mark.parametrize(
    ("people", "more", "said"),
    [
        (19, (), "at least 20 people with three weeks and 30 events"),
        (20, ("--version", "1"), "versions 0 and 1 come with the package"),
        (20, ("--date", "tomorrow"), "the date must be a day"),
    ],
)
def test_what_makes_no_cohort(
    people: int, more: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "usage.csv").write_text(rows(people))
    assert main(["usage", "cohort", "--from", str(tmp_path / "usage.csv"), *more]) == 2
    assert said in capsys.readouterr().err
