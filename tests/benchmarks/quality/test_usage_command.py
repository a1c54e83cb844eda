"""`python -m benchmarks quality usage` on people made up by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmark_schemas import check
from benchmarks.__main__ import main
from benchmarks.quality import usage

FIRST = datetime(2026, 1, 5, tzinfo=UTC)


def at(day: int, hour: int, minute: int = 0) -> str:
    return (FIRST + timedelta(days=day, hours=hour, minutes=minute)).isoformat().replace("+00:00", "Z")


def conversation(who: str, days: int) -> dict[str, Any]:
    """One person: a short talk of two messages every day at ten."""
    told = [(day, 10, minute) for day in range(days) for minute in (0, 3)]
    turns = [{"speaker": who, "role": "user", "text": "", "at": at(*item)} for item in told]
    return {"conversation_id": f"c-{who}", "label": None, "labels": {}, "source": "made", "turns": turns}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [json.dumps(conversation(who, 35)) for who in ("ann", "bo")]
    lines.append(json.dumps(conversation("short", 5)))
    (tmp_path / "made.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "other.jsonl").write_text(lines[0] + "\n")
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *args: object) -> list[dict[str, Any]]:
    assert main(["quality", "usage", "--json", "--set", "made", *map(str, args)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_record_is_as_its_schema_says(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two of the changes are enough to see every kind of record.
    monkeypatch.setattr(usage, "CHANGES", ("fewer_events", "absence"))
    records = told(capsys, "--data", folder, "--draws", 1, "--seed", 3)
    kinds = {record["record"] for record in records}
    expected = "usage_set usage_rate usage_recall usage_silence usage_fall usage_summary"
    assert kinds == set(expected.split())
    for record in records:
        check(record)
    about, summary = records[0], records[-1]
    # Two people from the first of 35 days to the last; the third has too few days.
    assert (about["people"], about["events"], about["observed_days"]) == (2, 2 * 35 * 2, 2 * 35)
    assert about["person_weeks"] == pytest.approx(2 * 34 / 7, abs=0.05)
    assert (summary["seed"], summary["draws"], summary["half"]) == (3, 1, "all")
    methods = {record["method"] for record in records if record["record"] == "usage_rate"}
    assert methods == {"patterns", "asked daily", "fixed limits"}


def test_people_who_do_the_same_every_day_are_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = told(capsys, "--data", folder, "--draws", 0)
    rates = {
        (record["method"], record["severity"]): record["rate"]
        for record in records
        if record["record"] == "usage_rate" and record["group"] == record["pattern"] == "all"
    }
    assert rates["patterns", "low"] == rates["asked daily", "low"] == 0
    # While fixed limits tell of a spike at every talk.
    assert rates["fixed limits", "medium"] > 0
    assert not any(record["record"] == "usage_recall" for record in records)


def test_a_new_seed_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quality", "usage", "--set", "made", "--data", str(folder), "--draws", "0"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("seed ")
    assert "made: 2 people" in out
    assert "fixed limits" in out


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
    assert main(["quality", "usage", "--data", str(folder), *args]) == 2
    assert said in capsys.readouterr().err


def test_nobody_known_well_enough_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "made.jsonl").write_text(json.dumps(conversation("short", 5)) + "\n")
    assert main(["quality", "usage", "--data", str(tmp_path), "--set", "made"]) == 2
    assert "nobody with three weeks and thirty events" in capsys.readouterr().err
