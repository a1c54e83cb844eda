"""What must be found in runs, and what must not: each row in variants, by the default patterns."""

from __future__ import annotations

import random

import pytest

from ethogram import analyze
from run_makers import Script, detections, fired
from sampling import seeds

SEEDS = seeds(6, 30)
STUCK = {"loop", "repetitive_errors"}


@pytest.fixture(params=SEEDS)
def script(request: pytest.FixtureRequest) -> Script:
    return Script(random.Random(request.param))


def stuck(script: Script) -> set[str]:
    return STUCK & fired(script.events).keys()


NOT_FOUND = (
    "String to replace not found in file.",
    "No replacement was performed, old_str did not appear verbatim in {path}.",
    "Error: could not find the text to replace in {path}",
    "old_string not found",
    "patch does not apply: {path}:12",
)
BROKEN = (
    "ModuleNotFoundError: No module named '{word}'",
    "bash: {word}: command not found",
    "error: unrecognized arguments: --{word}",
    "fatal: not a git repository (or any of the parent directories): .git",
    "cp: cannot stat '{path}': No such file or directory",
)
OUTSIDE = (
    "429 Too Many Requests: rate limit reached, retry after 20s",
    "Error: connect ECONNREFUSED 10.0.0.4:443",
    "curl: (6) Could not resolve host: example.org",
    "503 Service Unavailable",
    "requests.exceptions.ConnectionError: Max retries exceeded with url: /v1",
    "APIError: overloaded, try again later",
    "OSError: [Errno 28] No space left on device",
)


def test_polling_with_changing_output_is_quiet(script: Script):
    command = script.rng.choice(
        ["kubectl get pods", "gh run view 81", "docker ps", "cat build.status", "squeue"]
    )
    for n in range(script.rng.randint(5, 8)):
        script.run(command, f"{script.rng.choice(['ready', 'done', 'state'])}: {n + 1} of 9")
    assert not stuck(script)


def test_tests_that_fail_differently_after_each_edit_are_quiet(script: Script):
    command = script.rng.choice(["make test", "pytest -q", "npm test", "go test ./...", "cargo test"])
    path = script.path()
    for n in range(5):
        script.edit(path, f"a{n}", f"b{n}")
        script.run(command, f"FAILED test_{script.word()}_{n}\n{9 - n} failed, {n} passed in 0.{n}1s", code=1)
    assert not stuck(script)


def test_the_same_failing_edit_fires_at_the_third(script: Script):
    path, old, new = script.path(), script.word(), script.word()
    said = script.rng.choice(NOT_FOUND).format(path=path)
    script.read(path, script.text())
    before = len(script.events)
    arguments = {"path": path, "old_string": old, "new_string": new}
    for n in range(4):
        script.failing("edit_file", arguments, said)
        if n == 1:
            assert not stuck(script)
    each = (len(script.events) - before) // 4
    found = detections(script.events, "repetitive_errors")
    assert [item.first_event for item in found] == [script.events[before + 3 * each - 1]["id"]]
    assert found[0].severity == "high"


@pytest.mark.parametrize("period", [2, 3, 4, 5])
def test_a_round_of_reads_with_nothing_learned_fires(script: Script, period: int):
    texts = {path: script.text() for path in script.paths(period)}
    for _ in range(4):
        for path, text in texts.items():
            script.read(path, text)
    result = [detection for detection in detections(script.events) if detection.pattern == "loop"]
    assert result
    assert result[-1].details["period"] == period


def test_the_same_command_with_a_new_temporary_name_fires(script: Script):
    word = script.word()
    names = {
        0: lambda: f"/tmp/{script.word()}{script.rng.randint(1, 10**6)}.py",
        1: lambda: f"/tmp/tmp{script.rng.getrandbits(32):08x}/{word}.py",
        2: lambda: f"run_{script.rng.randint(10**9, 2 * 10**9)}.log",
        3: lambda: f"out-2026{script.rng.randint(1, 12):02d}05-{script.rng.randint(100000, 235959)}.txt",
        4: lambda: f"tmp_{script.rng.getrandbits(40):010x}.sh",
    }
    make, program = names[script.rng.randrange(5)], script.rng.choice(["python", "node", "bash", "./tool"])
    for _ in range(4):
        name = make()
        script.run(
            f"{program} {name} --{word}", f"{program}: can't open file '{name}': {word} denied", code=2
        )
    assert "repetitive_errors" in stuck(script)


def test_the_same_failing_command_with_other_thoughts_fires(script: Script):
    said = script.rng.choice(BROKEN).format(word=script.word(), path=script.path())
    command = f"{script.word()} --{script.word()}"
    for _ in range(4):
        if script.rng.random() < 0.5:
            script.say(script.text())
        script.run(command, said, code=1)
    found = fired(script.events)
    assert found["repetitive_errors"] == "high"


def test_trouble_outside_is_told_as_that_and_as_nothing_else(script: Script):
    said = script.rng.choice(OUTSIDE)
    for _ in range(4):
        script.failing(script.shell, {"command": "curl -s https://example.org/v1"}, said)
    script.run("curl -s https://example.org/v1", "ok")
    assert not stuck(script)
    assert "infrastructure_trouble" in fired(script.events)


@pytest.mark.parametrize("fixes", [3, 4])
def test_a_few_different_fixes_against_one_error_are_quiet(script: Script, fixes: int):
    path, said = script.path(), f"TypeError: unsupported operand type(s) for +: '{script.word()}' and 'int'"
    for n in range(fixes):
        script.run(
            "python main.py", f'Traceback (most recent call last):\n  File "main.py", line {n + 9}\n{said}', 1
        )
        script.edit(path, f"{script.word()}{n}", f"{script.word()}{n}")
    assert not stuck(script)


def test_many_different_fixes_against_one_error_fire_at_a_low_severity(script: Script):
    path, said = script.path(), f"TypeError: unsupported operand type(s) for +: '{script.word()}' and 'int'"
    for n in range(script.rng.randint(6, 8)):
        script.run(
            "python main.py", f'Traceback (most recent call last):\n  File "main.py", line {n + 9}\n{said}', 1
        )
        script.edit(path, f"{script.word()}{n}", f"{script.word()}{n}")
    assert fired(script.events).get("repetitive_errors") == "low"


def test_looking_around_in_a_new_repository_is_quiet(script: Script):
    for n in range(30):
        folder = f"{script.word()}/{script.word()}{n}"
        if script.rng.random() < 0.8:
            script.run(f"grep -rn {script.word()} {folder}", f"{folder}/a.py:{n}: {script.word()}", 0)
        else:
            script.run(f"grep -rn {script.word()} {folder}", "", 1)
    every = fired(script.events, "exploration_wandering", "loop", "repetitive_errors")
    assert not every


@pytest.mark.parametrize(
    ("errors", "changed", "named", "times"),
    [
        # The last one is another: what was counted is named.
        (["b", "b", "b", "a"], [0, 0, 0, 0], "b", 3),
        # Of five in all, with changes in between, whatever comes after the last change.
        (["a", None, "a", None, "a", None, "a", None, "a", "b", "c"], [0, 1] * 4 + [0, 0, 0], "a", 5),
        # Where one comes three times with nothing changed, it counts, and not the one before the change.
        (["a", "a", "a", "a", None, "b", "b", "b"], [0, 0, 0, 0, 1, 0, 0, 0], "b", 3),
    ],
)
def test_the_error_that_was_counted_is_named(
    errors: list[str | None], changed: list[int], named: str, times: int
):
    events = [
        {
            "id": f"e{place}",
            "subject": "agent",
            "thread": "r",
            "readings": {"progress": 0, "changed": did} | ({"error_key": error} if error else {}),
        }
        for place, (error, did) in enumerate(zip(errors, changed, strict=True))
    ]
    *_, last = analyze(events, patterns=["repetitive_errors"]).detections
    assert (last.details["repeated_error"], last.details["repetition_count"]) == (named, times)
    assert f'"{named}" {times} times' in last.explanation
