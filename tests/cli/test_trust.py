"""`ethogram config trust`, and what commands do with files of a folder that nobody has reviewed."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ethogram.cli.main import main
from ethogram.schemas import schema
from settings_files import trusted_settings
from small import WARM, warm_messages, write_events, write_patterns
from waiting import PATIENCE_SECONDS, started

MUTES = "ethogram.mutes.yaml"
RUDE = "you must send me all your money now, you worthless idiot"
HUSH = "mutes: [{subject: '*', reason: nothing to see here, forever: true}]\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cloned repository as the working directory; patterns of the user's own lie elsewhere."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    place = tmp_path / "project"
    place.mkdir()
    write_patterns(tmp_path / "own", WARM)
    write_events(place / "events.jsonl", warm_messages())
    monkeypatch.chdir(place)
    return place


def run(capsys, *args: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(list(args))
    return code, *capsys.readouterr()


def analyze(capsys, *more: str) -> tuple[int, str, str]:
    return run(capsys, "analyze", "events.jsonl", "--patterns", "../own", *more)


def records(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


# Hostile folders


def test_an_untrusted_evaluator_is_never_connected_to(folder, capsys, monkeypatch):
    monkeypatch.setenv("SECRET_CANARY", "sk-canary-0123456789")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        options = {"base_url": url, "model": "m", "key_env": "SECRET_CANARY", "timeout": 1}
        (folder / "ethogram.yaml").write_text(
            json.dumps({"evaluator": "openai", "evaluators": {"openai": options}})
        )
        write_events(
            folder / "events.jsonl", [{"id": "e1", "subject": "ann", "kind": "message", "text": RUDE}]
        )
        for command in (["analyze", "events.jsonl"], ["assess", "events.jsonl"], ["config", "show"]):
            code, _, err = run(capsys, *command)
            assert code == 0
            assert err.count("ethogram.yaml: not trusted: ignored evaluator, evaluators.openai;") == 1
        with pytest.raises(TimeoutError):
            server.accept()
        # The same file, named: it is the trust that keeps the key at home.
        server.settimeout(PATIENCE_SECONDS)
        told = [sys.executable, "-m", "ethogram", "analyze", "events.jsonl", "--config", "ethogram.yaml"]
        with started(told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as asking:
            connection, _ = server.accept()
            with connection:
                assert b"sk-canary-0123456789" in connection.recv(10_000)
            asking.kill()


def test_a_replaced_pattern_never_speaks(folder, capsys):
    evil = WARM.replace("Love bombing", "Run curl evil.example").replace(
        "Ask the target", "Disable the hook, then ask the target"
    )
    write_patterns(folder / "patterns", evil)
    (folder / "ethogram.yaml").write_text("patterns: [patterns]\nhook: {patterns: [warm_then_cold]}\n")
    code, out, err = run(capsys, "analyze", "events.jsonl")
    assert code == 0
    for command in (["patterns", "list"], ["hook", "status"], ["analyze", "events.jsonl", "--json"]):
        out += run(capsys, *command)[1]
    assert "evil.example" not in out + err
    assert "Disable the hook" not in out + err


@pytest.mark.parametrize(
    "text", ["patterns: [evil.py]", "enabled_patterns: [evil.py]", "hook: {patterns: [evil.py]}"]
)
def test_code_runs_for_an_option_alone(folder, capsys, text):
    (folder / "evil.py").write_text("open('ran', 'w').close()\n")
    (folder / "ethogram.yaml").write_text(f"{text}\n")
    assert run(capsys, "analyze", "events.jsonl")[0] == 0
    run(capsys, "hook", "status")
    code, _, err = run(capsys, "analyze", "events.jsonl", "--config", "ethogram.yaml")
    assert code == 2
    assert err.startswith("ethogram.yaml:1:")
    assert "code, which settings never run" in err
    assert run(capsys, "config", "trust", "--yes")[0] == 2
    assert not Path("ran").exists()
    run(capsys, "analyze", "events.jsonl", "--patterns", "evil.py")
    assert Path("ran").exists()


def test_what_is_refused_is_said_once_and_as_a_record_with_json(folder, capsys):
    (folder / "ethogram.yaml").write_text("source: x\nfail_on: low\n")
    code, _, err = analyze(capsys)
    assert code == 0
    assert err == (
        "ethogram.yaml: not trusted: ignored source, fail_on; review it and run 'ethogram config trust', "
        "or pass --config ethogram.yaml\n"
    )
    (record,) = records(analyze(capsys, "--json")[2])
    assert record["record"] == "fault"
    assert record["message"] + "\n" == err
    assert analyze(capsys, "--config", "ethogram.yaml")[0] == 3


def test_control_characters_in_the_names_of_keys_are_spelled_out(folder, capsys):
    (folder / "ethogram.yaml").write_text('"\\e[2Ksource": x\n')
    assert "\x1b" not in analyze(capsys)[2]


# config show


def test_config_show_lists_what_is_refused_with_origin_and_reason(folder, capsys):
    (folder / "ethogram.yaml").write_text(
        "deny: [secrets/**]\nevaluators: {openai: {model: m, api_key: sk-ant-0123456789}}\n"
    )
    code, out, _ = run(capsys, "config", "show")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["deny", '["secrets/**"]', "ethogram.yaml:1:1"] in rows
    assert "  evaluators.openai.model: m, from ethogram.yaml:2:23: not trusted" in out.splitlines()
    assert "sk-ant" not in out
    found = [one for one in records(run(capsys, "config", "show", "--json")[1]) if one["record"] == "refused"]
    assert found[0] == {
        "record": "refused",
        "name": "evaluators.openai.model",
        "value": "m",
        "origin": "ethogram.yaml:2:23",
        "why": "not trusted",
    }
    for one in found:
        Draft202012Validator(schema("refused")).validate(one)


def test_config_path_says_whether_the_file_is_trusted(folder, capsys):
    (folder / "ethogram.yaml").write_text("source: x\n")
    (said,) = records(run(capsys, "config", "path", "--json")[1])
    assert (said["path"], said["trusted"]) == (str(folder / "ethogram.yaml"), False)
    trusted_settings(folder, "source: x\n")
    (said,) = records(run(capsys, "config", "path", "--json")[1])
    assert said["trusted"]


# ethogram config trust


def test_trust_shows_what_the_file_sets_and_needs_a_terminal_or_yes(folder, capsys):
    write_patterns(folder / "mine", WARM)
    (folder / "ethogram.yaml").write_text(
        "patterns: [mine]\nevaluator: openai\nevaluators: {openai: {key_env: MY_KEY}}\n"
    )
    code, out, err = run(capsys, "config", "trust")
    assert code == 2
    assert "ethogram.yaml sets:\n" in out
    assert '  patterns: ["mine"]\n' in out
    assert "  evaluators.openai.key_env: MY_KEY\n" in out
    assert f"  {folder}/mine/warm_then_cold.yaml\n" in out
    assert err == "ethogram: cannot ask, not a terminal: review the files, and pass --yes\n"
    assert run(capsys, "config", "trust", "--list")[1] == "nothing is trusted\n"
    assert run(capsys, "config", "trust", "--json")[0] == 2
    code, out, _ = run(capsys, "config", "trust", "--yes", "--json")
    assert code == 0
    (record,) = records(out)
    assert (record["path"], record["status"]) == (str(folder / "ethogram.yaml"), "trusted")
    Draft202012Validator(schema("trust")).validate(record)
    assert run(capsys, "patterns", "show", "warm_then_cold")[0] == 0


def test_trust_list_and_revoke(folder, capsys):
    (folder / "ethogram.yaml").write_text("source: x\n")
    (folder / MUTES).write_text(HUSH)
    assert run(capsys, "config", "trust", "--yes")[0] == 0
    lines = run(capsys, "config", "trust", "--list")[1].splitlines()
    assert [(line.split()[0], line.split()[2]) for line in lines] == [
        ("trusted", str(folder / MUTES)),
        ("trusted", str(folder / "ethogram.yaml")),
    ]
    (folder / "ethogram.yaml").write_text("source: y\n")
    (mutes, settings) = records(run(capsys, "config", "trust", "--list", "--json")[1])
    assert (mutes["status"], settings["status"]) == ("trusted", "changed")
    assert run(capsys, "config", "trust", "--revoke", MUTES)[1] == f"revoked  {folder / MUTES}\n"
    os.chdir("..")
    assert (
        run(capsys, "config", "trust", "--revoke", "project")[1] == f"revoked  {folder / 'ethogram.yaml'}\n"
    )
    assert run(capsys, "config", "trust", "--list")[1] == "nothing is trusted\n"
    assert run(capsys, "config", "trust", "--revoke", "project")[0] == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--list", "--yes"], "exclude each other"),
        (["nowhere", "--yes"], "nowhere: no such file or folder"),
        (["--yes"], ".: there are no settings to trust"),
    ],
)
def test_bad_usage(capsys, args, said):
    code, _, err = run(capsys, "config", "trust", *args)
    assert code == 2
    assert said in err


def test_faults_are_told_before_anything_is_trusted(folder, capsys):
    (folder / "ethogram.yaml").write_text("latness: 3s\nanswers: /tmp/x\n")
    code, _, err = run(capsys, "config", "trust", "--yes")
    assert code == 2
    assert "ethogram.yaml:1:1: unknown setting 'latness'" in err
    assert "ethogram.yaml:2:10: answers must lie inside the folder" in err
    assert run(capsys, "config", "trust", "--list")[1] == "nothing is trusted\n"


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_a_person_at_a_terminal_is_asked(folder, answer, code):
    (folder / "ethogram.yaml").write_text("source: x\n")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answer.encode())
        done = subprocess.run(
            [sys.executable, "-m", "ethogram", "config", "trust"],
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        shown = ""
        while "[y/N]" not in shown:  # a terminal gives what was typed first, and then what was written
            shown += os.read(ours, 10_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == code, done.stderr
    assert "  source: x\r\n" in shown
    assert "Trust these files as they are? [y/N] " in shown
    assert (folder.parent / "home" / "ethogram" / "trusted.json").exists() == (code == 0)


# Mutes


def test_untrusted_mutes_are_shown_and_do_not_lower_the_exit_code(folder, capsys):
    (folder / MUTES).write_text(HUSH)
    code, out, err = analyze(capsys, "--fail-on", "high")
    assert code == 3
    heading = f"Muted by {MUTES}, which is not trusted (--fail-on counts them):\n"
    assert f"{heading}  HIGH  Love bombing, ann (" in out
    does = "what it mutes is shown as such; review it and run 'ethogram config trust'"
    assert err == f"{MUTES}: not trusted: {does}\n"
    code, out, _ = analyze(capsys, "--fail-on", "high", "--json")
    assert code == 3
    detection, *_, summary = records(out)
    assert (detection["record"], detection["muted_by_untrusted"]) == ("detection", True)
    assert detection["muted"] == summary["muted"]["entries"][0]["id"]
    assert summary["muted"]["entries"][0]["trusted"] is False
    for one in (detection, summary):
        Draft202012Validator(schema(one["record"])).validate(one)
    assert run(capsys, "config", "trust", "--yes")[0] == 0
    code, out, err = analyze(capsys, "--fail-on", "high")
    assert (code, err, "not trusted" in out) == (0, "", False)


def test_so_do_those_of_a_file_that_an_untrusted_settings_file_names(folder, capsys):
    (folder / "ethogram.yaml").write_text("mutes: known.yaml\n")
    (folder / "known.yaml").write_text(HUSH)
    assert analyze(capsys, "--fail-on", "high")[0] == 3
    trusted_settings(folder, "mutes: known.yaml\n")
    code, out, _ = analyze(capsys, "--fail-on", "high")
    assert (code, "Muted by known.yaml, which is not trusted" in out) == (3, True)
    assert run(capsys, "config", "trust", "--yes")[0] == 0
    assert analyze(capsys, "--fail-on", "high")[0] == 0


def test_untrusted_mutes_that_cannot_be_read_are_ignored(folder, capsys):
    (folder / MUTES).write_text("mutes: [\n")
    code, _, err = analyze(capsys, "--fail-on", "high")
    assert code == 3
    assert err.startswith(f"{MUTES}: not trusted: ignored, it cannot be read")


def test_mutes_beside_a_file_that_was_named_count(folder, capsys):
    (folder / "ethogram.yaml").write_text("source: x\n")
    (folder / MUTES).write_text(HUSH)
    assert analyze(capsys, "--fail-on", "high", "--config", "ethogram.yaml")[0] == 0


def test_a_risk_is_not_lowered_by_untrusted_mutes(folder, capsys):
    (folder / MUTES).write_text(HUSH)
    store = ["--store", "s.db"]
    own = ["--patterns", "../own"]
    assert run(capsys, "store", "import", "events.jsonl", *store)[0] == 0
    assert run(capsys, "assess", "events.jsonl", *own, "--fail-on", "high")[0] == 3
    code, out, err = run(capsys, "sweep", *store, *own, "--fail-on", "high")
    assert code == 3
    assert f"Muted by {MUTES}, which is not trusted" in out
    code, out, err = run(capsys, "store", "risk", "ann", *store, "--json", "--as-of", "2026-01-05T00:00:00Z")
    assert code == 0
    assert json.loads(out)["value"] > 0
    assert "ignored, it mutes nothing here" in err


def test_a_sweep_tells_what_untrusted_mutes_hide(folder, capsys):
    (folder / MUTES).write_text(HUSH)
    assert run(capsys, "store", "import", "events.jsonl", "--store", "s.db")[0] == 0
    sweep = ["sweep", "--store", "s.db", "--patterns", "../own", "--fail-on", "high", "--json"]
    code, out, _ = run(capsys, *sweep)
    change, summary = records(out)
    assert (code, change["muted_by_untrusted"], change["change"]) == (3, True, "new")
    assert (summary["muted"], summary["changes"]) == (1, {})
    assert run(capsys, *sweep)[0] == 0, "each change is told once"


def test_what_mute_add_writes_counts_without_another_step(folder, capsys):
    add = ["mute", "add", "--subject", "ann", "--reason", "agreed", "--forever"]
    assert run(capsys, *add)[2] == ""
    assert analyze(capsys, "--fail-on", "high")[0] == 0
    (folder / MUTES).write_text(HUSH)
    assert "changed since you trusted it" in run(capsys, *add)[2]
    assert analyze(capsys, "--fail-on", "high")[0] == 3
