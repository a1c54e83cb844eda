"""`ethogram evaluate` against a model's server on this machine, as a person would run it."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.evaluators.model_server import ModelServer

from ethogram.cli.main import main
from ethogram.schemas import schema
from waiting import PATIENCE_SECONDS, started, wait_until

WORDS = [
    "apple",
    "birch",
    "cedar",
    "daisy",
    "elder",
    "fern",
    "grape",
    "hazel",
    "iris",
    "kale",
    "lilac",
    "oak",
]
PRICES = ["--option", "price.input=1", "--option", "price.output=5"]


@pytest.fixture
def forum(tmp_path: Path) -> Path:
    """Twelve messages that press, of twelve people, and one that does not."""
    path = tmp_path / "forum.jsonl"
    said = [f"Act now or you will regret it, the {word} is nearly gone." for word in WORDS]
    lines = [
        {"id": f"m{k}", "author": f"p{k}", "content": text, "created_at": f"2026-03-01T10:{k:02}:00Z"}
        for k, text in enumerate([*said, "The weather in the valley is fine."])
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as one:
        yield one


def command(*args: str | Path, server: ModelServer | None, tmp_path: Path) -> list[str]:
    out = [sys.executable, "-m", "ethogram", *map(str, args)]
    if server is not None:
        out += ["--evaluator", "openai", "--option", f"base_url={server.url}/v1", "--option", "model=small"]
        out += ["--sample", "0", "--answers", str(tmp_path / "answers.sqlite"), *PRICES]
    return out


@dataclass
class Done:
    """What a command said, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def run(*args: str | Path, server: ModelServer | None, tmp_path: Path) -> Done:
    """A command in this process: loading a model's SDK anew each time would take seconds."""
    out, err = io.StringIO(), io.StringIO()
    argv = command(*args, server=server, tmp_path=tmp_path)[3:]
    with redirect_stdout(out), redirect_stderr(err):
        code = main(argv)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


@contextmanager
def under_way(
    forum: Path, server: ModelServer, tmp_path: Path, at_once: int
) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a process of its own."""
    call = command("evaluate", forum, "--option", f"concurrency={at_once}", server=server, tmp_path=tmp_path)
    with started(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as one:
        yield one


def wait_for(server: ModelServer, requests: int) -> None:
    wait_until(lambda: len(server.requests) >= requests, f"{requests} requests")


def records(done: Done, kind: str) -> list[dict[str, Any]]:
    return [one for line in done.stdout.splitlines() if (one := json.loads(line))["record"] == kind]


def test_a_second_run_costs_nothing_and_says_the_same(
    forum: Path, server: ModelServer, tmp_path: Path
) -> None:
    first = run("evaluate", forum, "--json", server=server, tmp_path=tmp_path)
    assert first.returncode == 0, first.stderr
    assert len(server.requests) == 12
    second = run("evaluate", forum, "--json", server=server, tmp_path=tmp_path)
    assert len(server.requests) == 12
    scores = [[(one["id"], one["traits"]) for one in records(done, "evaluation")] for done in (first, second)]
    assert scores[0] == scores[1]
    for line in first.stdout.splitlines():
        record = json.loads(line)
        Draft202012Validator(schema(record["record"])).validate(record)
    (summary,) = records(second, "evaluate_summary")
    assert (summary["spent"], summary["kept_before"], summary["evaluated"]) == (0, 12, 12)
    assert not server.problems


def test_what_is_written_goes_into_an_analysis_and_holds_no_text(
    forum: Path, server: ModelServer, tmp_path: Path
) -> None:
    scored, answers = tmp_path / "scored.jsonl", tmp_path / "recorded.jsonl"
    done = run("evaluate", forum, "--output", scored, "--record", answers, server=server, tmp_path=tmp_path)
    assert done.returncode == 0, done.stderr
    for file in (scored, answers, tmp_path / "answers.sqlite"):
        assert b"regret" not in file.read_bytes()
    (by,) = {
        one["readings"]["manipulation"]["scorer"]
        for one in map(json.loads, scored.open())
        if "readings" in one
    }
    assert by.startswith("openai:small@")
    from_lines = run("analyze", scored, "--scorer", by, "--json", server=None, tmp_path=tmp_path)
    replayed = run(
        "analyze", forum, "--json", "--evaluator", "recorded", "--option", f"file={answers}", "--sample", "0",
        server=None, tmp_path=tmp_path,
    )  # fmt: skip
    assert replayed.returncode == from_lines.returncode == 0, replayed.stderr
    (summary,) = records(replayed, "summary")
    assert summary["evaluated"]["evaluated"] == 12
    # Copies are found in texts, of which the written lines have none.
    checked = [
        [row for row in records(done, "summary")[0]["checked"] if row["pattern"] != "copied_text"]
        for done in (from_lines, replayed)
    ]
    assert checked[0] == checked[1]


def test_the_budget_stops_it_and_the_same_command_goes_on(
    forum: Path, server: ModelServer, tmp_path: Path
) -> None:
    cost = []
    for _ in range(40):
        done = run("evaluate", forum, "--json", "--budget", "0.16", server=server, tmp_path=tmp_path)
        assert done.returncode == 0, done.stderr
        (summary,) = records(done, "evaluate_summary")
        assert summary["spent"] <= 0.16
        cost.append(summary["spent"])
        if not summary["not_asked"]:
            break
        assert summary["stopped"] == "budget"
    assert summary["evaluated"] == 12
    assert len(cost) > 1
    assert len(server.requests) == 12


def test_an_interrupt_loses_no_paid_answer(forum: Path, tmp_path: Path) -> None:
    with ModelServer(pause=0.8).running() as server:
        with under_way(forum, server, tmp_path, 2) as one:
            wait_for(server, 3)
            one.send_signal(signal.SIGINT)
            out, err = one.communicate(timeout=PATIENCE_SECONDS)
        assert one.returncode == 130, err
        assert b"run the same command again to continue" in out
        assert 3 <= len(server.requests) < 12
        server.pause = 0.0
        done = run("evaluate", forum, "--json", server=server, tmp_path=tmp_path)
        assert records(done, "evaluate_summary")[0]["evaluated"] == 12
        assert len(server.requests) == 12


@pytest.mark.parametrize("after", [1, 6])
def test_killed_it_keeps_every_answer_that_came(forum: Path, tmp_path: Path, after: int) -> None:
    with ModelServer(pause=0.05).running() as server:
        with under_way(forum, server, tmp_path, 1) as one:
            wait_for(server, after + 1)
            one.kill()
            one.communicate(timeout=PATIENCE_SECONDS)
        before = len(server.requests)
        done = run("evaluate", forum, "--json", server=server, tmp_path=tmp_path)
        (summary,) = records(done, "evaluate_summary")
        assert summary["evaluated"] == 12
        # The one under way when it was killed may have to be asked again; those before it never.
        assert len(server.requests) <= 13
        assert summary["kept_before"] >= before - 1


def test_a_key_that_is_not_accepted_stops_at_once(forum: Path, tmp_path: Path) -> None:
    with ModelServer(lambda _: "401").running() as server:
        done = run("evaluate", forum, "--option", "concurrency=1", server=server, tmp_path=tmp_path)
    assert done.returncode == 2
    assert len(server.requests) == 1
    assert "the key was not accepted" in done.stderr
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert "regret" not in done.stdout + done.stderr


def test_what_could_not_be_measured_is_listed_and_asked_again(forum: Path, tmp_path: Path) -> None:
    with ModelServer(["refusal", "refusal"]).running() as server:
        first = run("evaluate", forum, "--option", "concurrency=1", server=server, tmp_path=tmp_path)
        assert first.returncode == 0, first.stderr
        assert "not scored, 1 message" in first.stdout
        assert "  m0: the model refused" in first.stdout
        asked = len(server.requests)
        second = run("evaluate", forum, "--json", server=server, tmp_path=tmp_path)
        assert records(second, "evaluate_summary")[0]["evaluated"] == 12
        assert len(server.requests) == asked + 1


def test_without_a_key_nothing_is_asked(forum: Path, tmp_path: Path) -> None:
    done = run("evaluate", forum, "--evaluator", "anthropic", server=None, tmp_path=tmp_path)
    assert done.returncode == 2
    assert "ANTHROPIC_API_KEY" in done.stderr


def test_batches_are_asked_for_and_fetched(
    forum: Path, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    where = ["--option", f"base_url={server.url}", "--answers", tmp_path / "a.sqlite", "--sample", "0"]
    for _ in range(2):
        done = run(
            "evaluate", forum, "--evaluator", "anthropic", "--batch", "--json", *where,
            server=None, tmp_path=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert records(done, "evaluate_summary")[0]["evaluated"] == 12
    assert len(server.batches) == 1
    assert not server.problems


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--evaluator", "locl"], "did you mean 'local'"),
        (["--keep-text"], "--keep-text needs --output"),
        (["--quotes"], "--quotes needs --json"),
        (["--output", "-"], "--output: expected a file"),
        (["--output", "forum.jsonl"], "is an input: name another file"),
        (["--record", "./forum.jsonl"], "is an input: name another file"),
        (["--output", "nowhere/x.jsonl"], "in a folder that does not exist"),
        (["--output", "."], "is a folder"),
        (["--output", "a.jsonl", "--record", "./a.jsonl"], "must be two files"),
        (["--evaluator", "none"], "scores nothing"),
        (["--option", "model"], "invalid --option 'model': expected NAME=VALUE"),
        (["--sample-by", "mesage"], "did you mean 'message'"),
        (["--batch"], "answers no batches"),
        (["--budget", "-1"], "--budget"),
    ],
)
def test_a_mistake_is_told(forum: Path, tmp_path: Path, args: list[str], said: str) -> None:
    done = run("evaluate", forum, *args, server=None, tmp_path=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_file_keeps_its_mode_a_link_is_followed_and_a_new_one_is_private(
    forum: Path, tmp_path: Path
) -> None:
    known, new, link = tmp_path / "known.jsonl", tmp_path / "new.jsonl", tmp_path / "link.jsonl"
    known.write_text("old")
    known.chmod(0o640)
    link.symlink_to(known)
    for path in (link, new):
        assert run("evaluate", forum, "--output", path, server=None, tmp_path=tmp_path).returncode == 0
    assert link.is_symlink()
    assert len(known.read_text().splitlines()) == 13
    assert (known.stat().st_mode & 0o777, new.stat().st_mode & 0o777) == (0o640, 0o600)


def test_a_pipe_is_written_to_and_stays_a_pipe(forum: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.extend(pipe.read_text().splitlines()), daemon=True)
    reader.start()
    assert run("evaluate", forum, "--output", pipe, server=None, tmp_path=tmp_path).returncode == 0
    reader.join(PATIENCE_SECONDS)
    assert len(read) == 13
    assert pipe.is_fifo()


def test_answers_of_another_server_are_not_taken(forum: Path, server: ModelServer, tmp_path: Path) -> None:
    run("evaluate", forum, server=server, tmp_path=tmp_path)
    with ModelServer().running() as other:
        run("evaluate", forum, server=other, tmp_path=tmp_path)
        assert len(other.requests) == 12


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE answers SET answer = 'no json'",
        "UPDATE answers SET answer = '[]'",
        "UPDATE answers SET answer = replace(answer, '\"virtue\":0', '\"virtue\":70')",
        "UPDATE answers SET answer = replace(answer, '\"indicators\"', '\"signs\"')",
    ],
)
def test_a_spoilt_answer_is_asked_for_again(
    forum: Path, server: ModelServer, tmp_path: Path, spoil: str
) -> None:
    run("evaluate", forum, server=server, tmp_path=tmp_path)
    with sqlite3.connect(tmp_path / "answers.sqlite") as file:
        file.execute(spoil)
    file.close()
    done = run("evaluate", forum, "--json", server=server, tmp_path=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 24
    assert all(0 <= one <= 1 for told in records(done, "evaluation") for one in told["traits"].values())


def test_a_file_that_broke_is_named(forum: Path, server: ModelServer, tmp_path: Path) -> None:
    run("evaluate", forum, server=server, tmp_path=tmp_path)
    path = tmp_path / "answers.sqlite"
    path.write_bytes(path.read_bytes()[:4096] + b"rubbish" * 2000)
    done = run("evaluate", forum, server=server, tmp_path=tmp_path)
    assert done.returncode == 2
    assert "answers.sqlite: answers cannot be saved here: " in done.stderr


def test_where_nothing_could_be_scored_the_command_fails(forum: Path, tmp_path: Path) -> None:
    with ModelServer(lambda _: "prose").running() as server:
        done = run("evaluate", forum, "--json", server=server, tmp_path=tmp_path)
    assert done.returncode == 2
    assert records(done, "evaluate_summary")[0]["evaluated"] == 0
    assert "nothing could be scored" in done.stderr


def test_all_that_was_recorded_is_replayed(forum: Path, server: ModelServer, tmp_path: Path) -> None:
    answers = tmp_path / "recorded.jsonl"
    run("evaluate", forum, "--record", answers, server=server, tmp_path=tmp_path)
    how = ["--evaluator", "recorded", "--option", f"file={answers}", "--json"]
    done = run("evaluate", forum, *how, server=None, tmp_path=tmp_path)
    assert records(done, "evaluate_summary")[0]["evaluated"] == 12
