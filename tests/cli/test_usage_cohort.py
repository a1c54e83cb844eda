"""`ethogram usage cohort` on people made up by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ethogram.cli.main import main
from ethogram.schemas import schema
from ethogram.usage.cohort import read_cohort

FIRST = datetime(2026, 1, 5, tzinfo=UTC)


def at(day: int, hour: int, minute: int = 0) -> str:
    return (FIRST + timedelta(days=day, hours=hour, minutes=minute)).isoformat().replace("+00:00", "Z")


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
    assert "already exists" in capsys.readouterr().err


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
        (20, ("--version", "1"), "since 0 and 1 come with the package"),
        (20, ("--date", "tomorrow"), "invalid date 'tomorrow': expected a day"),
    ],
)
def test_what_makes_no_cohort(
    people: int, more: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "usage.csv").write_text(rows(people))
    assert main(["usage", "cohort", "--from", str(tmp_path / "usage.csv"), *more]) == 2
    assert said in capsys.readouterr().err
