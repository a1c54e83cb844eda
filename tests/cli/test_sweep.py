"""`ethogram sweep`: what changed, each change once, with exit codes for scripts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ethogram.cli.main import main
from ethogram.store import open_store
from settings_files import trusted_settings
from small import BOTH, GONE, HOT, WARM, turns, warm_messages, write_events, write_patterns
from waiting import PATIENCE_SECONDS, wait_until

AT = ("--as-of", "2026-01-04T13:00:00Z")


@pytest.fixture
def folder(tmp_path, monkeypatch, no_shipped_patterns) -> Path:
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM, HOT, GONE, BOTH)
    write_events(tmp_path / "a.jsonl", warm_messages())
    trusted_settings(tmp_path, "patterns: [patterns]\n")
    assert main(["store", "import", "a.jsonl", "--store", "s.db"]) == 0
    return tmp_path


def run(*args: str, code: int = 0) -> None:
    assert main(["sweep", "--store", "s.db", *args]) == code


def records(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_change_is_told_whole_and_the_next_sweep_has_none(folder, capsys):
    capsys.readouterr()
    run(*AT)
    said = capsys.readouterr().out
    assert said.startswith(
        "1 change as of 2026-01-04 13:00 UTC; 1 subject and 4 events checked.\n\nHIGH  Love bombing\n"
    )
    run(*AT)
    assert capsys.readouterr().out == (
        "0 changes as of 2026-01-04 13:00 UTC; 0 subjects and 0 events checked.\n"
    )


def test_texts_that_are_kept_are_quoted_masked_and_others_are_not(folder, capsys):
    kept = [{**message, "text": f"hello {n} ann@mail.example"} for n, message in enumerate(warm_messages())]
    write_events(folder / "b.jsonl", kept)
    assert main(["store", "import", "b.jsonl", "--store", "kept.db", "--keep-text"]) == 0
    assert main(["store", "import", "b.jsonl", "--store", "bare.db"]) == 0
    capsys.readouterr()
    assert main(["sweep", "--store", "bare.db", *AT]) == 0
    assert "“" not in capsys.readouterr().out
    assert main(["sweep", "--store", "kept.db", *AT]) == 0
    said = capsys.readouterr().out
    assert "“hello 0 " in said
    assert "mail.example" not in said


def test_json_is_detections_with_their_change_then_a_summary(folder, capsys):
    capsys.readouterr()
    run(*AT, "--json")
    one, last = records(capsys.readouterr().out)
    assert (one["record"], one["change"], one["pattern"]) == ("detection", "new", "warm_then_cold")
    assert last == {
        "record": "sweep",
        "as_of": "2026-01-04T13:00:00Z",
        "subjects": 1,
        "events": 4,
        "insufficient": 0,
        "muted": 0,
        "without_text": [],
        "changes": {"new": 1},
    }


def test_what_is_taken_back_is_one_line_with_the_reason(folder, capsys):
    run(*AT)
    late = {**warm_messages()[0], "id": "sorry", "at": "2026-01-04T06:00:00Z", "readings": {"apology": 0.9}}
    write_events(folder / "late.jsonl", [late])
    main(["store", "import", "late.jsonl", "--store", "s.db"])
    capsys.readouterr()
    run(*AT, "--fail-on", "low")
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("Withdrawn: Love bombing, ann (no longer matched: later events undo it); id ")


def test_fail_on_is_exit_3_only_for_what_is_new(folder):
    run(*AT, "--fail-on", "high", code=3)
    run(*AT, "--fail-on", "high")


def test_what_is_muted_is_counted_and_fails_nothing(folder, capsys):
    assert main(["mute", "add", "--subject", "ann", "--reason", "a test account", "--forever"]) == 0
    capsys.readouterr()
    run(*AT, "--fail-on", "low")
    assert "Muted: 1 change\n" in capsys.readouterr().out
    run(*AT, "--json")
    assert records(capsys.readouterr().out)[-1]["muted"] == 0


def test_patterns_can_be_chosen(folder, capsys):
    capsys.readouterr()
    run(*AT, "--patterns", "hot_*", "--json")
    assert records(capsys.readouterr().out)[-1]["changes"] == {}


def test_another_sweep_at_work_is_exit_2(folder, capsys):
    from datetime import UTC, datetime

    with open_store("s.db") as other:
        other.lock("sweep", datetime.now(UTC))
        run(*AT, code=2)
    assert "s.db: another sweep is at work since" in capsys.readouterr().err


def test_bad_durations_and_mixtures_are_told(folder, capsys):
    run("--every", "often", code=2)
    run("--every", "1h", *AT, code=2)
    assert "--every and --as-of exclude each other" in capsys.readouterr().err


def test_every_so_often_it_looks_again_until_it_is_interrupted(folder):
    write_events(folder / "b.jsonl", turns("cy", [0.1], [1]))
    line = [sys.executable, "-m", "ethogram", "sweep", "--store", "s.db", "--every", "0.2s", "--json"]
    process = subprocess.Popen([*line, "--patterns", "patterns"], stdout=subprocess.PIPE, text=True)
    told = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [one["record"] for one in told] == ["detection", "sweep"]
    assert main(["store", "import", "b.jsonl", "--store", "s.db"]) == 0
    wait_until(
        lambda: json.loads(process.stdout.readline())["subjects"] == 1,
        "a sweep of what was imported meanwhile",
    )
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    run("--json")


def test_a_store_swept_in_9999_says_so_and_is_reset(folder, capsys):
    from datetime import UTC, datetime

    far = datetime(9999, 1, 1, tzinfo=UTC)
    with open_store("s.db") as store:
        store.close_sweep("some", "versions", far, far)
    capsys.readouterr()
    run(code=2)
    said = capsys.readouterr().err
    assert "the last sweep was as of 9999-01-01T00:00:00Z, which is in the future" in said
    assert "ethogram sweep --reset-clock" in said
    run("--reset-clock", "--as-of", "2026-01-04T13:00:00Z")
    told = capsys.readouterr()
    assert "Forgot sweeps ahead of the clock" in told.err
    assert "Love bombing" in told.out
    run("--as-of", "9999-01-01T00:00:00Z", code=2)
    assert "is in the future: expected a time up to" in capsys.readouterr().err
    run("--as-of", "2026-01-04T14:00:00Z")
