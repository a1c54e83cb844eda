"""`ethogram store risk` and `ethogram assess`: what a person and a program read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ethogram.cli.main import main
from ethogram.patterns import library
from ethogram.schemas import schema
from settings_files import trust, trusted_settings
from small import GONE, HOT, WARM, turns, warm_messages, write_events, write_patterns

AS_OF = "2026-01-06T12:00:00Z"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a store that was swept, which tests take a copy of."""
    place = tmp_path_factory.mktemp("made")
    (place / "nothing").mkdir()
    write_patterns(place / "patterns", WARM, HOT, GONE)
    hot = turns("cy", [0.1, 0.2, 0.9, 0.95, 0.9], [1, 2, 3, 4, 5])
    write_events(place / "a.jsonl", [*warm_messages(), *hot])
    trusted_settings(place, "patterns: [patterns]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "SHIPPED", place / "nothing")
        patch.chdir(place)
        main(["store", "import", "a.jsonl", "--store", "s.db"])
        main(["sweep", "--store", "s.db", "--as-of", AS_OF])
    return place


@pytest.fixture
def folder(made, tmp_path, monkeypatch, capsys, no_shipped_patterns) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    trust("ethogram.yaml")
    capsys.readouterr()
    return tmp_path


def run(capsys, *args: str, code: int = 0) -> str:
    assert main(list(args)) == code
    told = capsys.readouterr()
    return told.out if code == 0 else told.err


def records(capsys, *args: str) -> list[dict]:
    out = [json.loads(line) for line in run(capsys, *args, "--json").splitlines()]
    for one in out:
        Draft202012Validator(schema(one["record"])).validate(one)
        assert one.keys() <= schema(one["record"])["properties"].keys()
    return out


def test_all_subjects_are_ranked(folder, capsys):
    told = records(capsys, "store", "risk", "--store", "s.db")
    assert [one["subject"] for one in told] == ["ann", "cy"]
    assert told[0]["value"] > told[1]["value"] > 0
    assert {one["as_of"] for one in told} == {AS_OF}
    text = run(capsys, "store", "risk", "--store", "s.db", "--limit", "1").splitlines()
    assert text[0] == "2 subjects with a risk, as of 2026-01-06 12:00 UTC"
    assert text[1].split() == ["risk", "severity", "subject", "source", "made", "of"]
    assert text[-1] == "and 1 more (--limit)"


def test_one_subject_with_what_it_is_made_of_and_what_if(folder, capsys):
    (one,) = records(capsys, "store", "risk", "ann", "--store", "s.db")
    (cause,) = one["causes"]
    assert one["value"] == pytest.approx(cause["value"])
    assert one["without"] == [{"detection": cause["detection"], "value": 0.0, "less": one["value"]}]
    assert one["recommendations"][0]["text"] == "Ask the target whether they felt free to say no."
    text = run(capsys, "store", "risk", "ann", "--store", "s.db")
    assert text.startswith(f"ann (source input): risk {one['value']:.2f} (")
    assert f"  0.00  without {cause['detection']} (Love bombing)" in text
    # As its pattern says, so that nothing stands beside it.
    assert f"(confidence {cause['probability']:.2f}, seen " in text
    gone = records(capsys, "store", "risk", "ann", "--store", "s.db", "--without", cause["detection"])
    assert (gone[0]["value"], gone[0]["detections"]) == (0.0, [])


def test_it_fades(folder, capsys):
    now, later = (
        records(capsys, "store", "risk", "ann", "--store", "s.db", "--as-of", at)[0]["value"]
        for at in (AS_OF, "2026-01-13T12:00:00Z")
    )
    assert later == pytest.approx(now / 2, abs=1e-6)


def test_settings_and_mutes_count(folder, capsys):
    (before,) = records(capsys, "store", "risk", "ann", "--store", "s.db")
    trusted_settings(
        folder, "patterns: [patterns]\nrisk: {weights: {high: 0.9}, floor: 0}\ncalibration: false\n"
    )
    (after,) = records(capsys, "store", "risk", "ann", "--store", "s.db")
    assert after["value"] == pytest.approx(before["value"] * 1.5, abs=1e-6)
    run(capsys, "mute", "add", "--pattern", "warm_then_cold", "--reason", "known", "--forever")
    assert [one["subject"] for one in records(capsys, "store", "risk", "--store", "s.db")] == ["cy"]


def test_subject_tells_the_risk_too(folder, capsys):
    (asked,) = records(capsys, "store", "risk", "ann", "--store", "s.db", "--as-of", AS_OF)
    out = run(capsys, "store", "subject", "ann", "--store", "s.db", "--as-of", AS_OF, "--json")
    assert json.loads(out)["risk"] == asked["value"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["store", "risk", "annn", "--store", "s.db"], "no subject 'annn'"),
        (["store", "risk", "ann", "--store", "s.db", "--without", "zzz"], "no detection 'zzz'"),
        (["store", "risk", "--store", "s.db", "--without", "zzz"], "--without needs a SUBJECT"),
        (["store", "risk", "ann", "--store", "s.db", "--as-of", "soon"], "--as-of"),
        (["store", "risk", "--store", "none.db"], "none.db"),
        (["assess", "none.jsonl"], "none.jsonl"),
    ],
)
def test_what_is_wrong_is_told(folder, capsys, args, says):
    assert says in run(capsys, *args, code=2)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("risk: {multipliers: {warm_then_cold: 2}}", "ethogram.yaml:2:22: no combination is named"),
        ("risk: {half_lives: {hoot: 2d}}", "ethogram.yaml:2:21: no pattern names a cause 'hoot'"),
        ("enabled_patterns: [warm_then_col]", "did you mean 'warm_then_cold'"),
    ],
)
def test_settings_that_name_nothing_are_told_with_their_place(folder, capsys, settings, says):
    trusted_settings(folder, f"patterns: [patterns]\n{settings}\n")
    assert says in run(capsys, "store", "risk", "--store", "s.db", code=2)


def test_enabled_patterns_are_those_that_run(folder, capsys):
    trusted_settings(folder, "patterns: [patterns]\nenabled_patterns: [warm_*]\n")
    told = [json.loads(line) for line in run(capsys, "analyze", "a.jsonl", "--json").splitlines()]
    assert {one["pattern"] for one in told if one["record"] == "detection"} == {"warm_then_cold"}
    assert [one["pattern"] for one in told[-1]["checked"]] == ["warm_then_cold"]


def test_an_assessment_of_a_file(folder, capsys):
    told = records(capsys, "assess", "a.jsonl")
    assert [one["subject"] for one in told] == ["ann", "cy"]
    assert told[0]["individual_patterns"][0]["pattern"] == "warm_then_cold"
    assert "What to do" in run(capsys, "assess", "a.jsonl")


def test_an_assessment_fails_on_a_severity(folder, capsys):
    assert main(["assess", "a.jsonl", "--fail-on", "high"]) == 3
    assert main(["assess", "a.jsonl", "--fail-on", "critical"]) == 0


def test_the_schema_of_settings_is_printed(capsys):
    assert json.loads(run(capsys, "config", "schema"))["title"] == "config"
    assert len(run(capsys, "config", "schema", "--json").splitlines()) == 1


def test_what_a_hook_said_in_a_run_is_told_with_what_comes_next(tmp_path, monkeypatch, capsys):
    lines = []
    for n in range(4):
        told = {"tool": "Bash", "call_id": f"c{n}", "arguments": {"command": "make deploy"}}
        wrong = {"tool": "Bash", "call_id": f"c{n}", "error": "bash: deploy: command not found"}
        for kind, attributes in (("action", told), ("result", wrong)):
            at = f"2026-01-05T12:0{n}:{'00' if kind == 'action' else '20'}Z"
            lines.append(
                {"at": at, "subject": "agent", "thread": "monday", "kind": kind, "attributes": attributes}
            )
    monkeypatch.chdir(tmp_path)
    write_events(tmp_path / "run.jsonl", lines)
    said = {"session": "monday", "pattern": "repetitive_errors", "rung": "nudge", "effect": "went_on"}
    monkeypatch.setattr(
        "ethogram.agents.hook.status.load_messages", lambda: ([said, {**said, "session": "other"}], 2)
    )
    (one,) = records(capsys, "assess", "run.jsonl")
    (errors,) = [each for each in one["recommendations"] if each["pattern"] == "repetitive_errors"]
    assert errors["ladder"]["given"] == [{"rung": "nudge", "effect": "went_on"}]
    assert errors["ladder"]["next"] == "remind"
    text = run(capsys, "assess", "run.jsonl")
    assert "    given so far: nudge (it went on); next: remind (rung 2 of 3)" in text


def test_what_verdicts_made_of_a_confidence_stands_beside_it(folder, capsys):
    (one,) = records(capsys, "store", "risk", "cy", "--store", "s.db")
    (cause,) = one["causes"]
    assert cause["probability"] < 0.995
    run(capsys, "verdict", cause["detection"], "confirmed", "--by", "kim", "--store", "s.db")
    ((sure,),) = (one["causes"] for one in records(capsys, "store", "risk", "cy", "--store", "s.db"))
    assert (sure["probability"], sure["value"] > cause["value"]) == (1.0, True)
    said = f"confidence {cause['probability']:.2f}, counts as 1.00 by verdicts"
    assert said in run(capsys, "store", "risk", "cy", "--store", "s.db")
    run(capsys, "verdict", cause["detection"], "false_alarm", "--by", "kim", "--store", "s.db")
    assert records(capsys, "store", "risk", "cy", "--store", "s.db")[0]["value"] == 0


def test_assess_says_what_it_could_not_judge(folder, capsys):
    write_events(folder / "b.jsonl", [{"subject": "ann", "text": "hi there"}])
    lines = run(capsys, "assess", "b.jsonl").splitlines()
    assert lines[0] == "No detections that count in 1 event."
    assert lines[1].startswith("Not judged: ")
    assert "since no event has a time (`at`)" in lines[1]
    assert lines[1].endswith("Add --evaluator local to score messages (offline, no key).")
    (folder / "b.jsonl").write_text("")
    assert run(capsys, "assess", "b.jsonl") == "There are no events in this input.\n"
