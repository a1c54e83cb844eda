"""`quality planted` and `quality lift`: in words and in JSON, and what makes them fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.__main__ import main
from ethogram.cli.main import main as ethogram

LINES = [
    {
        "at": f"2026-01-0{day}T12:00:00Z",
        "subject": who,
        "target": "bo",
        "readings": {"compassion": c, "manipulation": m},
    }
    for who in ("ann", "cy", "di")
    for day, (c, m) in enumerate([(0.8, 0.1), (0.9, 0.1), (0.8, 0.1), (0.1, 0.8)], start=1)
]


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch) -> str:
    monkeypatch.delenv("ETHOGRAM_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8"
    )
    return "events.jsonl"


@pytest.fixture
def run(capsys):
    """(exit code, lines of output, lines of errors) of a command."""

    def command(*args: str) -> tuple[int, list[str], list[str]]:
        code = main(list(args))
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err.splitlines()

    return command


def records(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def test_lift_tells_what_was_found_and_with_which_seed(run, data):
    code, out, _ = run("quality", "lift", "love_bombing", "--data", data, "--seed", "4")
    assert code == 0
    assert out[0].split() == ["pattern", "found", "shuffled", "ratio", "95", "%", "p"]
    assert out[1].split()[:2] == ["love_bombing", "3"]
    assert "12 events of 3 subjects, 20 shuffles, seed 4" in out


def test_lift_in_json_has_one_record_for_each_pattern_and_a_summary(run, data):
    code, out, _ = run("quality", "lift", "love_bombing", "--data", data, "--shuffles", "5", "--json")
    item, summary = records(out)
    assert code == 0
    assert list(item) == [
        *("record", "pattern", "status", "histories", "insufficient", "detections", "shuffled_mean"),
        *("shuffled_sd", "shuffled", "ratio", "ratio_low", "ratio_high", "p", "lacking"),
    ]
    assert (item["record"], item["detections"], len(item["shuffled"])) == ("lift", 3, 5)
    assert summary == {
        "record": "summary",
        "patterns": 1,
        "events": 12,
        "subjects": 3,
        "shuffles": 5,
        "seed": 0,
    }


def test_lift_says_what_keeps_a_pattern_from_being_seen(run, data):
    _, out, _ = run(
        "quality", "lift", "alignment_faking", "con_game", "darvo", "--data", data, "--shuffles", "2"
    )
    said = {line.split()[0]: line for line in out if line}
    assert said["alignment_faking"].endswith("never read: observed, task, topic")
    assert said["con_game"].endswith("never read: fabrication, goodwill, other_complied, request_size")
    assert said["darvo"].endswith("never read: accused, deception, exploitation")


def test_lift_needs_data(run):
    code, _, err = run("quality", "lift", "love_bombing")
    assert code == 2
    assert "--data" in " ".join(err)


def test_lift_takes_parameters(run, data):
    _, out, _ = run(
        *("quality", "lift", "love_bombing", "--data", data, "--shuffles", "2", "--json"),
        *("--set", "love_bombing.pressure=0.9"),
    )
    assert records(out)[0]["detections"] == 0


def test_plant_tells_recall_beside_alarms(run, data):
    code, out, _ = run("quality", "planted", "--pattern", "gaslighting", "--data", data, "--episodes", "20")
    assert code == 0
    assert out[0].split()[:4] == ["pattern", "status", "found", "recall"]
    assert out[1].startswith("gaslighting  stable  ")
    assert out[1].endswith("0       3 histories")
    assert "strength 0.6 to 1, noise 0.05, gaps 0.3, seed 0" in out


def test_plant_in_json_has_one_record_for_each_pattern_and_a_summary(run, data):
    code, out, _ = run(
        *("quality", "planted", "--pattern", "love_bombing", "--data", data, "--episodes", "10", "--json"),
        *("--strength", "1", "--noise", "0", "--gaps", "0", "--seed", "7"),
    )
    item, summary = records(out)
    assert code == 0
    assert list(item) == [
        *("record", "pattern", "status", "episodes", "found", "recall", "recall_low", "recall_high"),
        *("recall_weak", "recall_strong", "recall_scrambled", "alarms", "histories", "alarms_per_100"),
        "enough",
    ]
    assert (item["record"], item["episodes"], item["alarms"], item["histories"]) == ("planted", 10, 3, 3)
    assert summary == {
        "record": "summary",
        "patterns": 1,
        "background_events": 12,
        "seed": 7,
        "strength": [1.0, 1.0],
        "noise": 0.0,
        "gaps": 0.0,
    }


def test_plant_without_data_makes_up_a_background(run):
    code, out, _ = run("quality", "planted", "--pattern", "gaslighting", "--episodes", "5", "--json")
    assert code == 0
    assert records(out)[0]["alarms"] == 0


def test_plant_names_what_stays_experimental(run):
    _, out, _ = run(
        "quality", "planted", "--pattern", "sandbagging", "--episodes", "10", "--strength", "0:0.1"
    )
    assert out[-1] == "found less than half, so experimental: sandbagging"


def test_plant_writes_events_that_analyze_reads(run, data, capsys):
    code, out, _ = run(
        *("quality", "planted", "--pattern", "gaslighting", "--data", data, "--episodes", "4"),
        *("--write", "out.jsonl", "--strength", "1", "--noise", "0", "--gaps", "0"),
    )
    assert (code, out[-1]) == (0, "the events: out.jsonl")
    assert ethogram(["analyze", "out.jsonl", "--patterns", "gaslighting", "--json"]) == 0
    out = capsys.readouterr().out.splitlines()
    result = [
        record
        for record in records(out)
        if record["record"] == "detection" and record["pattern"] == "gaslighting"
    ]
    assert {item["source"] for item in result} == {f"gaslighting:{n}" for n in range(4)}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "--pattern"),
        (("--pattern", "gaslightin"), "did you mean 'gaslighting'"),
        (("--pattern", "gaslighting", "--strength", "weak"), "LOW:HIGH"),
        (("--pattern", "gaslighting", "--noise", "3"), "noise and gaps"),
        (("--pattern", "gaslighting", "--episodes", "0"), "episodes"),
        (("--pattern", "gaslighting", "--group-by", "thread"), "subject"),
        (("--pattern", "gaslighting", "--episodes", "1", "--write", "no/such/folder"), "cannot be written"),
    ],
)
def test_plant_says_what_is_wrong(run, args, said):
    code, out, err = run("quality", "planted", *args)
    assert code == 2
    assert said in " ".join(out + err)
