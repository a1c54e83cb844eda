"""`ethogram watch`: what is reported where, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from jsonschema import Draft202012Validator

from ethogram.cli.main import main
from ethogram.schemas import schema
from settings_files import trusted_settings
from small import WARM, warm_messages, write_events, write_patterns
from waiting import PATIENCE_SECONDS, started

SAVE = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read())"


@pytest.fixture
def folder(tmp_path, monkeypatch, no_shipped_patterns) -> Path:
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM)
    write_events(tmp_path / "a.jsonl", warm_messages())
    trusted_settings(tmp_path, "patterns: [patterns]\n")
    return tmp_path


def test_once_reports_and_exits(folder, capsys):
    assert main(["watch", "a.jsonl", "--once"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("HIGH      Love bombing  ann → bo  2026-01-01 12:00")
    assert second.strip() == "ann was warm to bo 3 times, then pressed (0.80)."
    assert main(["watch", "a.jsonl", "--once", "--fail-on", "high"]) == 3


def test_json_is_one_detection_a_line_and_equals_analyze(folder, capsys):
    assert main(["watch", "a.jsonl", "--until-idle", "0.05s", "--every", "0.02s", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    record = json.loads(line)
    Draft202012Validator(schema("detection")).validate(record)
    assert record.pop("change") == "new"
    assert main(["analyze", "a.jsonl", "--json"]) == 0
    assert record == json.loads(capsys.readouterr().out.splitlines()[0])


def test_a_store_reports_nothing_twice(folder, capsys):
    assert main(["watch", "a.jsonl", "--once", "--store", "s.db"]) == 0
    assert "Love bombing" in capsys.readouterr().out
    assert main(["watch", "a.jsonl", "--once", "--store", "s.db"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["store", "detections", "--store", "s.db", "--subject", "ann", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pattern"] == "warm_then_cold"


def test_a_command_gets_the_detection_on_standard_input(folder, capsys):
    events = warm_messages("$(touch evil)`touch evil`; touch evil")
    write_events(folder / "a.jsonl", events)
    command = f'{sys.executable} -c "{SAVE}" got.jsonl'
    assert main(["watch", "a.jsonl", "--once", "--command", command]) == 0
    record = json.loads((folder / "got.jsonl").read_text())
    assert (record["record"], record["change"]) == ("detection", "new")
    assert record["subject"] == events[0]["subject"]
    assert not (folder / "evil").exists()


def test_a_failed_command_is_said_and_ends_nothing(folder, capsys):
    command = f'{sys.executable} -c "import sys; sys.exit(7)"'
    assert main(["watch", "a.jsonl", "--once", "--command", command]) == 0
    said = capsys.readouterr()
    assert "Love bombing" in said.out
    assert "exited with 7" in said.err


class _Hook(BaseHTTPRequestHandler):
    got: ClassVar[list[dict]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append(json.loads(body))
        self.send_response(302 if self.path == "/moved" else 204)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hook():
    server = HTTPServer(("127.0.0.1", 0), _Hook)
    _Hook.got = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_webhook_gets_the_detection(folder, hook, capsys):
    assert main(["watch", "a.jsonl", "--once", "--webhook", f"{hook}/found"]) == 0
    assert [record["subject"] for record in _Hook.got] == ["ann"]
    assert main(["watch", "a.jsonl", "--once", "--webhook", f"{hook}/moved"]) == 0
    assert "HTTP 302" in capsys.readouterr().err
    assert len(_Hook.got) == 2


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--webhook", "http://example.org/x"), "http and not on this machine"),
        (("--webhook", "https://me:secret@example.org"), "without user, password"),
        (("--webhook", "nowhere"), "expected an address"),
        (("--command", "no-such-program-here"), "no such program"),
        (("--command", "'"), "--command"),
        (("--every", "0s"), "--every"),
        (("--until-idle", "soon"), "--until-idle"),
        (("none.jsonl",), "no such file"),
        (("-",), "standard input cannot be followed"),
    ],
)
def test_bad_usage(folder, capsys, args, words):
    assert main(["watch", "a.jsonl", "--once", *args]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "secret" not in said


def test_neither_is_a_setting(folder, capsys):
    for name in ("webhook", "command"):
        trusted_settings(folder, f"patterns: [patterns]\n{name}: https://example.org\n")
        assert main(["watch", "a.jsonl", "--once"]) == 2
        assert f"unknown setting '{name}'" in capsys.readouterr().err


def test_ctrl_c_ends_it_with_0(folder):
    args = [sys.executable, "-m", "ethogram", "watch", "a.jsonl", "--json", "--every", "0.05s"]
    args += ["--patterns", "patterns", "--store", "s.db"]
    with started(args, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["subject"] == "ann"
        with (folder / "a.jsonl").open("a") as file:
            file.writelines(json.dumps(event) + "\n" for event in warm_messages("di", (5, 6, 7, 8)))
        assert json.loads(process.stdout.readline())["subject"] == "di"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert (process.wait(PATIENCE_SECONDS), rest) == (0, "")
    assert main(["watch", "a.jsonl", "--once", "--store", "s.db", "--json"]) == 0


PRESSING = """\
name: pressing
title: Pressing
description: A message presses.
shape: {threshold: {when: manipulation >= 0.3}}
confidence: manipulation
severity: medium
examples:
  fires: [{story: one, manipulation: [0.1, 0.9], at: 2}]
  quiet: [{story: none, manipulation: [0.1, 0.1]}, {story: calm, manipulation: [0, 0]}]
"""


def test_messages_are_scored_as_analyze_scores_them(folder, capsys):
    write_patterns(folder / "patterns", PRESSING)
    text = "If you really loved me you would stay home tonight. After all I did for you, you owe me that."
    write_events(folder / "m.jsonl", [{"subject": "luna", "kind": "message", "text": text}])
    assert main(["watch", "m.jsonl", "--once", "--patterns", "patterns/pressing.yaml"]) == 0
    assert capsys.readouterr().out == ""
    assert (
        main(["watch", "m.jsonl", "--once", "--patterns", "patterns/pressing.yaml", "--evaluator", "local"])
        == 0
    )
    assert capsys.readouterr().out.startswith("MEDIUM    Pressing  luna")
    assert main(["watch", "m.jsonl", "--once", "--budget", "1"]) == 2
    assert "--budget needs --evaluator" in capsys.readouterr().err
