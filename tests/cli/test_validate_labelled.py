"""`ethogram patterns validate FILE`: figures as text and JSON; faults with places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ethogram.cli.main import main
from ethogram.schemas import schema
from ethogram.testing import history


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs that got stuck, of which one is labelled so, and two that did not."""
    lines = []
    for name, scenario in (("a", "repetitive_errors"), ("b", "repetitive_errors"), ("c", "different_errors"),
                           ("d", "different_errors")):  # fmt: skip
        for one in history(scenario):
            label = {"outcome": "failed" if name == "a" else "fine"}
            told = one.to_dict()
            told |= {"id": f"{name}{one.id}", "thread": name, "attributes": {**told["attributes"], **label}}
            lines.append(json.dumps(told))
    (tmp_path / "runs.jsonl").write_text("\n".join(lines) + "\n")
    labels = "id,target,split\na,1,test\nb,0,test\nc,0,tune\nd,0,tune\nzzz,1,tune\n"
    (tmp_path / "runs.labels.csv").write_text(labels)
    return tmp_path / "runs.jsonl"


def test_a_file_with_labels_beside_it_is_validated(runs: Path, capsys: pytest.CaptureFixture[str]):
    asked = [
        "patterns",
        "validate",
        str(runs),
        "--patterns",
        "repetitive_errors",
        "--against",
        "scope_creep",
        "--json",
    ]
    assert main(asked) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for one in found:
        assert not list(Draft202012Validator(schema(one["record"])).iter_errors(one))
    by_split = {one["split"]: one for one in found if one.get("pattern") == "repetitive_errors"}
    assert sorted(by_split) == ["any", "test", "tune"]
    assert (by_split["any"]["things"], by_split["any"]["marked"]) == (4, 2)
    assert by_split["any"]["precision"]["value"] == 0.5
    assert by_split["any"]["recall"]["value"] == 1.0
    assert found[-1]["not_found"] == 1
    other = next(one for one in found if one["record"] == "labelled_compared" and one["split"] == "any")
    # It finds a, which the other does not, and marks b, which the other does not either.
    assert (other["better"], other["worse"]) == (1, 1)


def test_the_same_as_text_and_by_an_attribute(runs: Path, capsys: pytest.CaptureFixture[str]):
    assert (
        main(["patterns", "validate", str(runs), "--patterns", "repetitive_errors", "--split", "test"]) == 0
    )
    said = capsys.readouterr().out
    assert "runs: 2 labels, 1 target" in said
    assert "0.50 (" in said
    asked = [
        "patterns",
        "validate",
        str(runs),
        "--label",
        "outcome=failed",
        "--patterns",
        "repetitive_errors",
        "--json",
    ]
    assert main(asked) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["things"], first["targets"], first["of"]) == (4, 1, ["run"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--severity", "grave"], "invalid --severity 'grave': expected any, low"),
        (["--split", "dev"], "splits: test, tune"),
        (["--patterns", "no_such"], "no pattern is named"),
        (["--label", "outcome"], "ATTRIBUTE=VALUE"),
    ],
)
def test_what_makes_no_sense_is_told(runs, capsys, more, said):
    assert main(["patterns", "validate", str(runs), *more]) == 2
    assert said in capsys.readouterr().err


def test_faults_in_labels_name_file_and_line(runs: Path, capsys: pytest.CaptureFixture[str]):
    (runs.parent / "runs.labels.csv").write_text("id,target\na,1\nb,perhaps\n")
    assert main(["patterns", "validate", str(runs)]) == 2
    assert "runs.labels.csv:3: invalid target" in capsys.readouterr().err


def test_a_set_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]):
    assert main(["patterns", "validate", "nowhere.jsonl"]) == 2
    assert "no such file, folder or set: 'nowhere.jsonl'" in capsys.readouterr().err


@pytest.mark.parametrize(("target", "said"), [(0, "no label is a target"), (1, "every label is a target")])
def test_labels_of_one_kind_alone_are_warned_of(runs, capsys, target, said):
    runs.with_name("runs.labels.csv").write_text(f"id,target\na,{target}\nb,{target}\n")
    assert main(["patterns", "validate", str(runs), "--patterns", "repetitive_errors"]) == 0
    told = capsys.readouterr()
    assert f"warning: {said}" in told.err
    assert "(marking all)" in told.out


def test_a_small_chance_is_not_told_as_none():
    from ethogram.report.wording import p_text

    assert (p_text(0.0001), p_text(0.25)) == ("p < 0.001", "p = 0.250")


def test_forms_of_a_pattern_are_told_by_its_name_and_only_where_none_of_them_marks():
    from ethogram.report.patterns import unmarked

    rows = [("any", 1), ("loop@1", 1), ("loop@2", 0), ("calm@1", 0), ("calm@2", 0)]
    assert unmarked([{"pattern": name, "marked": marked} for name, marked in rows]) == ["calm"]
