"""Validation on runs: who was marked, how it went, and what equal length leaves of it."""

from __future__ import annotations

import gzip
import json

from benchmarks.quality.runs import RunFacts, lift, locate, marked, validate_runs
from ethogram.models import Detection
from risk_makers import detection


def facts(*runs: tuple[str, bool, int]) -> list[RunFacts]:
    return [RunFacts(name, failed, steps, {}) for name, failed, steps in runs]


def test_lift_is_failures_over_those_to_expect():
    runs = facts(("a", True, 5), ("b", True, 5), ("c", False, 5), ("d", False, 5))
    assert lift(runs, runs[:1], 1) == 2
    assert lift(runs, runs[2:], 1) == 0
    assert lift(runs, [], 1) is None


def test_what_only_marks_long_runs_has_no_lift_at_equal_length():
    short = [(f"s{n}", False, 5) for n in range(10)]
    long = [(f"l{n}", True, 50) for n in range(10)]
    runs = facts(*short, *long)
    hits = [run for run in runs if run.steps == 50]
    assert lift(runs, hits, 1) == 2
    assert lift(runs, hits, 2) == 1


def test_nothing_marked_says_nothing():
    found = marked(facts(("a", True, 5)), [])
    assert (found["marked"], found["precision"], found["horizon"]) == (0, None, None)


def test_an_alarm_counts_where_half_of_its_steps_are_labelled_and_so_does_a_random_one():
    places = {f"e{n}": n for n in range(1, 11)}
    fact = RunFacts("a", True, 10, places, frozenset(range(1, 6)))
    other = RunFacts("b", True, 10, places)

    def alarm(run: str, first: int, last: int) -> tuple[str, Detection]:
        return run, detection(first_event=f"e{first}", last_event=f"e{last}")

    inside, outside, unlabelled = alarm("a", 4, 7), alarm("a", 5, 7), alarm("b", 1, 2)
    found = locate([fact, other], [inside] * 30 + [outside] * 10 + [unlabelled])
    assert found is not None
    assert (found["alarms"], found["right"]) == (40, 30)
    # Of seven places for four steps those from step 1 to 4 count, of eight for three those from 1 to 4.
    assert abs(found["random"] - (30 * 4 / 7 + 10 * 4 / 8)) < 1
    low, high = found["random_interval"]
    assert low < found["random"] < high < 30
    assert locate([fact, other], [unlabelled]) is None


def record(run: str, label: str, repeats: int) -> dict:
    steps = [{"i": 0, "actor": "user", "kind": "message", "text": "Fix it."}]
    for n in range(12):
        same = n < repeats
        labels = {"labels": {"to_next": "Repetition"}} if n + 1 < repeats else {}
        command = "cat same.py" if same else f"cat file{run}{n}.py"
        steps.append({"i": len(steps), "actor": "agent", "kind": "tool_call", "tool": "bash",
                      "args": {"command": command}, **labels})  # fmt: skip
        steps.append({"i": len(steps), "actor": "tool", "kind": "tool_result", "tool": "bash",
                      "text": "x" if same else f"y{run}{n}"})  # fmt: skip
    return {"run_id": run, "source": "made", "task": "t", "label": label, "labels": {}, "steps": steps}


def test_a_folder_of_runs_is_validated(tmp_path):
    runs = [
        record("a", "failure", 8),
        record("b", "success", 0),
        record("c", "failure", 6),
        record("d", "success", 1),
    ]
    with gzip.open(tmp_path / "made.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(run) + "\n" for run in runs)
    found = validate_runs(tmp_path, ["loop", "repetitive_errors"])
    assert found["false_alarms"] == {"good_runs": 2, "any": 0, "medium": 0, "high": 0}
    made = found["sets"]["made"]
    assert made["repetition"] == {"pairs": 12, "found": 12, "equal_pairs": 12, "equal_found": 12}
    # The third and later of eight and of six equal steps, all of them labelled.
    assert made["located"]["loop"]["right"] == made["located"]["loop"]["alarms"] == 2
    loop = made["patterns"]["loop"]["any"]
    assert (loop["marked"], loop["precision"], loop["lift"]) == (2, 1, 2)
    assert loop["horizon"] == 9
