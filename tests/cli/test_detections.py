"""`ethogram store detections`: who shows a pattern, newest first, a page at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import ethogram
from ethogram.cli.main import main
from ethogram.errors import BadUsage
from ethogram.schemas import schema
from settings_files import trusted_settings
from small import HOT, WARM, turns, warm_messages, write_events, write_patterns


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys, no_shipped_patterns) -> Path:
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM, HOT)
    people = [*warm_messages(), *warm_messages("di", (2, 3, 4, 5)), *turns("cy", [0.9, 0.9, 0.9], [4, 5, 6])]
    write_events(tmp_path / "a.jsonl", people)
    trusted_settings(tmp_path, "patterns: [patterns]\n")
    main(["store", "import", "a.jsonl", "--store", "s.db"])
    main(["sweep", "--store", "s.db", "--as-of", "2026-01-06T12:00:00Z"])
    capsys.readouterr()
    return tmp_path


def listed(capsys, *args: str, code: int = 0) -> list[str]:
    assert main(["store", "detections", "--store", "s.db", *args]) == code
    return capsys.readouterr().out.splitlines()


def test_one_line_per_detection_newest_first(folder, capsys):
    head, *rows = listed(capsys)
    assert head.split() == ["severity", "pattern", "who", "when", "id"]
    assert [row.split()[1] for row in rows] == ["hot_for_long", "warm_then_cold", "warm_then_cold"]
    assert [row.split()[2] for row in rows] == ["cy", "di", "ann"]


@pytest.mark.parametrize(
    ("args", "who"),
    [
        (("--pattern", "warm_then_cold"), ["di", "ann"]),
        (("--pattern", "warm_*"), ["di", "ann"]),
        (("--subject", "ann"), ["ann"]),
        (("--severity", "high"), ["di", "ann"]),
        (("--since", "2026-01-05T00:00:00Z"), ["cy", "di"]),
        (("--limit", "1", "--offset", "1"), ["di"]),
        (("--pattern", "warm_then_cold", "--severity", "critical"), []),
    ],
)
def test_options_select(folder, capsys, args, who):
    records = [json.loads(line) for line in listed(capsys, *args, "--json")]
    assert [record["subject"] for record in records] == who
    for record in records:
        Draft202012Validator(schema("detection")).validate(record)


def test_a_page_says_where_the_next_begins(folder, capsys):
    assert listed(capsys, "--limit", "2")[-1] == "1 to 2 of 3 (next: --offset 2)"
    assert len(listed(capsys, "--limit", "2", "--offset", "2")) == 2
    assert listed(capsys, "--offset", "9") == ["No detections after the first 3."]
    assert listed(capsys, "--subject", "ann", "--pattern", "hot_for_long") == ["No detections match."]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--pattern", "warm_then_colt"), "did you mean 'warm_then_cold'"),
        (("--subject", "anne"), "did you mean 'ann'"),
        (("--severity", "hihg"), "expected low, medium, high, critical"),
        (("--since", "soon"), "--since"),
    ],
)
def test_what_is_unknown_is_bad_usage(folder, capsys, args, words):
    assert main(["store", "detections", "--store", "s.db", *args]) == 2
    assert words in capsys.readouterr().err


def test_from_python(folder):
    found = ethogram.detections("s.db", subject="di")
    assert [(item.pattern, item.subject, item.target) for item in found] == [("warm_then_cold", "di", "bo")]
    assert [item.subject for item in ethogram.detections("s.db", severity="high", limit=1)] == ["di"]
    with pytest.raises(BadUsage, match="a limit of 1 or more"):
        ethogram.detections("s.db", limit=0)
