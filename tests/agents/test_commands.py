"""`ethogram hook`: what the commands change, say and exit with."""

from __future__ import annotations

import functools
import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ethogram.agents.hook import location, state_db, status
from ethogram.agents.hook import plan as plan_module
from ethogram.agents.hook.install import EVENTS
from ethogram.agents.hook.status import WatchedPatterns, outcomes, steps_until, watching
from ethogram.agents.status import Advice, Settled
from ethogram.cli.main import main
from ethogram.config import Loaded
from ethogram.files import sqlite
from ethogram.files.sqlite import transaction
from ethogram.schemas import schema
from settings_files import trusted_settings

DAY = 86_400.0
SECRET = "the words of an agent that nobody else should read"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ETHOGRAM_HOOK_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "ETHOGRAM_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def quick(monkeypatch) -> list[str]:
    """Installs without the plan, which takes a second; the folders it would have been made for."""
    made: list[str] = []
    monkeypatch.setattr(plan_module, "prepare", made.append)
    monkeypatch.setattr(status, "watching", watching_once)
    return made


@functools.cache
def _watching() -> tuple[Loaded, WatchedPatterns]:
    return watching(".")


def watching_once(folder: str) -> tuple[Loaded, WatchedPatterns]:
    """What is watched where nothing is set, looked up once."""
    return watching(folder) if Path(folder, ".ethogram.yaml").exists() else _watching()


def run(capsys, *args: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["hook", *args]) == code
    told = capsys.readouterr()
    return told.err if code else told.out


def records(text: str) -> list[dict]:
    found = [json.loads(line) for line in text.splitlines()]
    for item in found:
        Draft202012Validator(schema(item["record"])).validate(item)
    return found


def advice(step: int, rung: str = "nudge", pattern: str = "loop", text: str = "say") -> Advice:
    return Advice(rung, pattern, "high", text, step)


def remember(
    session: str, at: float, *told: tuple[Advice, str, int], state: str = "", agent: str = "agent"
) -> None:
    """A run in the state file, with what was said in it and what came of that."""
    with closing(state_db.opened(location.state_path())) as db, transaction(db):
        state_db.save(db, session, agent, at, {"note": state})
        for item, effect, after in told:
            state_db.save_advice(db, session, agent, at, item)
            if effect != "open":
                state_db.settle(db, session, agent, Settled(item.pattern, item.step, effect, after))


def bytes_in_state() -> bytes:
    files = (path for path in Path(location.state_dir()).rglob("*") if path.is_file())
    return b"".join(file.read_bytes() for file in files)


# install, uninstall


def test_an_install_shows_the_change_writes_it_and_says_what_is_watched(folder, quick, capsys):
    text = run(capsys, "install", "claude-code")
    path = folder / ".claude" / "settings.json"
    assert list(json.loads(path.read_text())["hooks"]) == list(EVENTS)
    assert text.startswith(f"--- /dev/null\n+++ {path}\n@@ ")
    assert f"\nInstalled in {path}" in text
    assert "\nWatched here: " in text
    assert "loop" in text
    assert "\nInterventions on: nudge, remind, ask; off: stop\n" in text
    assert "\nNothing leaves this machine: " in text
    assert quick == [str(folder)]
    text = run(capsys, "install", "claude-code")
    assert text.startswith(f"The hook is already installed in {path}.\n")
    text = run(capsys, "uninstall", "claude-code")
    assert "\n+++ /dev/null\n" in text
    assert list(folder.iterdir()) == []
    assert run(capsys, "uninstall", "claude-code") == f"There is no hook of ours in {path}.\n"


def test_a_dry_run_writes_nothing_at_all(folder, quick, capsys):
    text = run(capsys, "install", "claude-code", "--dry-run")
    assert '+            "timeout": 10' in text
    assert text.endswith("Nothing was written (--dry-run).\n")
    assert list(folder.iterdir()) == []
    assert not Path(location.state_dir()).exists()
    assert quick == []
    run(capsys, "install", "claude-code")
    before = bytes_in_state(), (folder / ".claude" / "settings.json").read_bytes()
    assert "Nothing was written" in run(capsys, "uninstall", "claude-code", "--dry-run")
    assert (bytes_in_state(), (folder / ".claude" / "settings.json").read_bytes()) == before


def test_the_person_s_own_settings_and_those_of_the_project_are_two_places(folder, quick, capsys):
    run(capsys, "install", "claude-code", "--user")
    assert Path(os.environ["HOME"], ".claude", "settings.json").exists()
    assert list(folder.iterdir()) == []
    assert run(capsys, "uninstall", "claude-code", "--project").endswith("; --user has one.\n")
    run(capsys, "uninstall", "claude-code", "--user")
    assert not Path(os.environ["HOME"]).exists()


def test_settings_that_cannot_be_used_are_told_and_nothing_is_written(folder, quick, capsys):
    trusted_settings(folder, "hook: {rungs: [nudge, shout], cooldown: 3}\n", ".ethogram.yaml")
    text = run(capsys, "install", "claude-code", code=2)
    assert ".ethogram.yaml:1:" in text
    assert "'cool_down'" in text
    assert len(text.splitlines()) == 2
    assert [path.name for path in folder.iterdir()] == [".ethogram.yaml"]
    assert not Path(location.state_dir()).exists()


def test_a_settings_file_of_the_agent_that_is_no_json_is_left_alone(folder, quick, capsys):
    (folder / ".claude").mkdir()
    path = folder / ".claude" / "settings.json"
    path.write_text('{"a": 1,}')
    for command in ("install", "uninstall"):
        assert run(capsys, command, "claude-code", code=2).startswith(f"{path}:1:")
    assert path.read_text() == '{"a": 1,}'


def test_another_agent_is_bad_usage(folder, capsys):
    text = run(capsys, "install", "claude_code", code=2)
    assert text == "ethogram: unknown agent 'claude_code'; did you mean 'claude-code'?\n"


def test_the_group_alone_shows_help(folder, capsys):
    text = run(capsys, code=2)
    assert text.startswith("Usage: ethogram hook")
    assert all(f"  {name} " in text for name in ("install", "uninstall", "status", "report", "purge"))


# status


def test_the_status_of_nothing(folder, quick, capsys):
    (told,) = records(run(capsys, "status", "--json"))
    assert [item["installed"] for item in told["installed"]] == ["no", "no"]
    assert told["installed"][0]["missing"] == list(EVENTS)
    assert told["plan"]["state"] == "none"
    assert (told["state"]["bytes"], told["state"]["last_event"]) == (0, None)
    assert told["faults"] == {"path": location.log_path(), "count": 0, "newest": None}
    assert not Path(location.state_dir()).exists()
    text = run(capsys, "status")
    assert text.startswith(f"Project: not installed ({folder}/.claude/settings.json)\nUser: not installed (")
    assert "State: none yet" in text
    assert text.endswith("Internal errors: none\n")


def test_the_status_of_a_plugin_that_is_on(folder, quick, capsys):
    path = folder / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"enabledPlugins": {"other@x": True, "ethogram@ethogram": True}}))
    (told,) = records(run(capsys, "status", "--json"))
    assert [item["plugin"] for item in told["installed"]] == ["ethogram@ethogram", None]
    named = f"installed as the plugin ethogram@ethogram ({path})\n"
    assert run(capsys, "status").startswith(f"Project: {named}")
    run(capsys, "install", "claude-code")
    assert run(capsys, "status").startswith(f"Project: installed, and {named}")
    path.write_text(json.dumps({"enabledPlugins": {"ethogram@ethogram": False}}))
    assert run(capsys, "status").startswith("Project: not installed")


def test_the_status_of_a_hook_that_works(folder, capsys):
    settings = "hook: {rungs: [nudge, stop], off: [nudge, loop, WebSearch], most: 2}\n"
    trusted_settings(folder, settings, ".ethogram.yaml")
    run(capsys, "install", "claude-code")
    remember("s", 1_700_000_000.0, (advice(3), "open", 0))
    Path(location.log_path()).write_text("2026-01-01T00:00:00Z A at b:1\n2026-01-02T00:00:00Z C at d:2\n")
    (told,) = records(run(capsys, "status", "--json"))
    first = told["installed"][0]
    assert (first["installed"], first["executable"], first["missing"]) == ("yes", True, [])
    assert first["command"].endswith("ethogram hook")
    assert "loop" not in told["watched"]
    assert {item["rung"]: item["on"] for item in told["ladder"]["rungs"]} == {
        "nudge": False, "remind": False, "ask": False, "stop": True}  # fmt: skip
    assert told["ladder"]["most"] == 2
    assert told["settings"] == {"path": str(folder / ".ethogram.yaml"), "faults": [], "warnings": []}
    assert told["plan"]["state"] == "current"
    assert (told["state"]["runs"], told["state"]["said"]) == (1, 1)
    assert told["state"]["last_event"] == "2023-11-14T22:13:20Z"
    assert told["faults"]["count"] == 2
    assert told["faults"]["newest"] == "2026-01-02T00:00:00Z C at d:2"
    text = run(capsys, "status")
    assert "Interventions on: stop; off: nudge, remind, ask\n  also turned off: loop, WebSearch\n" in text
    assert "1 run, 1 intervention, last event 2023-11-14T22:13:20Z\n" in text
    (folder / ".ethogram.yaml").write_text("hook: {most: 3}\n")
    assert records(run(capsys, "status", "--json"))[0]["plan"]["state"] == "old"


def test_the_status_of_all_that_can_be_wrong(folder, capsys):
    trusted_settings(folder, "hook: {most: many}\n", ".ethogram.yaml")
    group = {"hooks": [{"type": "command", "command": "'/not there/ethogram' hook"}]}
    (folder / ".claude").mkdir()
    told = {"disableAllHooks": True, "hooks": {"Stop": [group]}}
    (folder / ".claude" / "settings.json").write_text(json.dumps(told))
    user = Path(os.environ["HOME"], ".claude", "settings.json")
    user.parent.mkdir(parents=True)
    user.write_text("{")
    Path(location.state_dir()).mkdir()
    Path(location.state_path()).write_bytes(b"no database at all" * 100)
    (told,) = records(run(capsys, "status", "--json"))
    project, own = told["installed"]
    assert (project["installed"], project["executable"], project["disabled"]) == ("partly", False, True)
    assert set(project["missing"]) == set(EVENTS) - {"Stop"}
    assert own["installed"] == "unknown"
    assert own["fault"]["line"] == 1
    assert told["watched"] is None
    assert told["settings"]["faults"][0]["line"] == 1
    assert told["state"]["fault"] == "file is not a database"
    text = run(capsys, "status")
    assert "there is no such program" in text
    assert "disableAllHooks" in text
    assert "nothing, since the settings cannot be used" in text
    assert "cannot be used: " in text
    assert "sets it aside" in text


def test_the_status_where_nothing_can_be_kept(folder, quick, capsys):
    Path(location.state_dir()).write_text("a file where the folder should be")
    (told,) = records(run(capsys, "status", "--json"))
    assert told["state"]["folder_fault"] == f"{location.state_dir()} is not a folder"
    assert "cannot be written: " in run(capsys, "status")


# report


def test_a_report_of_nothing_says_so(folder, capsys):
    assert run(capsys, "report") == "No interventions yet; 0 runs recorded.\n"
    (told,) = records(run(capsys, "report", "--json"))
    assert told == {"record": "hook_report", "runs": 0, "given": 0, "effects": []}


def test_a_report_counts_by_pattern_and_rung(folder, capsys):
    now = time.time()
    # Two loops: one that stopped after a nudge, one that went on and stopped six steps later when reminded.
    remember("s1", now, (advice(10), "stopped", 5))
    remember("s2", now, (advice(4), "went_on", 2), (advice(10, "remind"), "stopped", 5))
    remember("s3", now - 8 * DAY, (advice(7, pattern="scope_creep", rung="ask"), "open", 0))
    *said, told = records(run(capsys, "report", "--json"))
    assert [item["session"] for item in said] == ["s1", "s2", "s2", "s3"]
    assert [item["effect_after_steps"] for item in said] == [5, 2, 5, None]
    nudge, remind, ask = told["effects"]
    assert (nudge["pattern"], nudge["rung"], nudge["given"]) == ("loop", "nudge", 2)
    assert (nudge["stopped"], nudge["went_on"], nudge["ended"], nudge["open"]) == (1, 1, 0, 0)
    # Wilson's interval of 1 in 2: 0.5 plus and minus z / (2 sqrt(2 + z * z)), z = 1.96.
    assert (nudge["share_stopped"], nudge["low"], nudge["high"]) == (0.5, 0.0945, 0.9055)
    assert (nudge["median_steps_to_stop"], nudge["median_steps_to_return"]) == (0, 2)
    assert (remind["rung"], remind["median_steps_to_stop"]) == ("remind", 6)
    assert (ask["open"], ask["share_stopped"], ask["median_steps_to_stop"]) == (1, None, None)
    text = run(capsys, "report")
    assert "s2 agent step 4: nudge, loop (high): went on after 2 steps\n  say\n" in text
    counts = "given 2, stopped 1, went on 1, allowed 0, declined 0, ended 0, open 0"
    assert f"  loop, nudge: {counts}; 50% stopped (9% to 91%)" in text
    assert records(run(capsys, "report", "--json", "--since", "7d"))[-1]["given"] == 3
    assert records(run(capsys, "report", "--json", "--session", "s2"))[-1]["given"] == 2
    assert run(capsys, "report", "--session", "s9") == "No interventions there; 3 runs recorded.\n"
    assert "--since: 'soon' is not a duration" in run(capsys, "report", "--since", "soon", code=2)


def test_what_stopped_begins_anew_when_it_comes_again():
    told = {"session": "s", "agent": "agent", "pattern": "p", "rung": "nudge", "after": 5}
    steps, results = (3, 9, 40, 46), ("went_on", "stopped", "went_on", "stopped")
    said = [{**told, "step": step, "effect": effect} for step, effect in zip(steps, results, strict=True)]
    assert steps_until(said) == {1: 6, 3: 6}
    assert outcomes(said)[0].median_steps_to_stop == 6
    others = [{**item, "session": f"s{n}"} for n, item in enumerate(said)]
    assert steps_until(others) == {1: 0, 3: 0}


def test_a_report_from_a_file_that_cannot_be_read(folder, capsys):
    Path(location.state_dir()).mkdir()
    Path(location.state_path()).write_bytes(b"no database at all" * 100)
    assert "cannot be read (file is not a database)" in run(capsys, "report", code=2)


# purge


def test_a_purge_leaves_no_byte_of_a_session_and_all_of_the_others(folder, capsys):
    for n in range(30):
        remember(
            f"s{n}",
            time.time(),
            (advice(1, text=f"{SECRET} {n:03}"), "open", 0),
            state=f"{SECRET} s{n:03} " * 50,
        )
    assert f"{SECRET} 007".encode() in bytes_in_state()
    text = run(capsys, "purge", "--session", "s7", "--yes")
    assert text == "Removed permanently: 1 run, 1 intervention.\n"
    left = bytes_in_state()
    assert f"{SECRET} 007".encode() not in left
    assert f"{SECRET} s007".encode() not in left
    assert f"{SECRET} 008".encode() in left
    assert records(run(capsys, "report", "--json"))[-1]["given"] == 29


def test_a_purge_while_a_hook_has_the_file_open_leaves_nothing_in_its_log(folder, capsys):
    with closing(state_db.opened(location.state_path())) as other:
        remember("s", time.time(), (advice(1, text=SECRET), "open", 0), state=SECRET * 100)
        other.execute("select * from said").fetchall()
        assert SECRET.encode() in Path(location.state_path() + "-wal").read_bytes()
        assert "Another program" not in run(capsys, "purge", "--yes")
        assert SECRET.encode() not in bytes_in_state()
        assert other.execute("select count(*) from said").fetchone() == (0,)


def test_a_purge_that_a_reader_hinders_says_so(folder, capsys, monkeypatch):
    monkeypatch.setattr(status, "WAIT", 0.1)
    monkeypatch.setattr(sqlite, "PATIENCE", 20)
    remember("s", time.time(), (advice(1, text=SECRET), "open", 0))
    with closing(sqlite3.connect(location.state_path(), isolation_level=None)) as other:
        other.execute("begin")
        other.execute("select * from said").fetchall()
        assert "run purge again" in run(capsys, "purge", "--yes")
        other.execute("commit")
        other.execute("begin immediate")
        assert "another program is writing to it; try again" in run(capsys, "purge", "--yes", code=2)
    run(capsys, "purge", "--yes")
    assert SECRET.encode() not in bytes_in_state()


def test_a_purge_of_what_is_old(folder, capsys):
    remember("old", time.time() - 40 * DAY, (advice(1, text=SECRET), "open", 0))
    remember("new", time.time() - 20 * DAY, (advice(1), "open", 0))
    assert run(capsys, "purge", "--before", "30d", "--yes") == "Removed permanently: 1 run, 1 intervention.\n"
    assert SECRET.encode() not in bytes_in_state()
    assert records(run(capsys, "report", "--json"))[0]["session"] == "new"
    assert "--before: 'x' is not a duration" in run(capsys, "purge", "--before", "x", "--yes", code=2)


def test_a_purge_of_everything_takes_plans_logs_and_what_was_set_aside(folder, quick, capsys):
    run(capsys, "install", "claude-code")
    remember("s", time.time(), (advice(1, text=SECRET), "open", 0))
    state = Path(location.state_dir())
    (state / "plans").mkdir()
    for name in ("plans/a.json", "faults.log", "faults.log.old", "runs.sqlite.unreadable"):
        (state / name).write_text(SECRET)
    assert run(capsys, "purge", "--session", "x", "--yes").startswith(
        "Removed permanently: 0 runs, 0 interventions, 1 file.\n"
    )
    assert run(capsys, "purge", "--yes").startswith("Removed permanently: 1 run, 1 intervention, 3 files.\n")
    assert SECRET.encode() not in bytes_in_state()
    # How to undo the install says nothing of runs, and is still needed.
    run(capsys, "uninstall", "claude-code")
    assert list(folder.iterdir()) == []


def test_a_file_that_cannot_be_read_goes_as_a_whole(folder, capsys):
    Path(location.state_dir()).mkdir()
    Path(location.state_path()).write_bytes(SECRET.encode() * 100)
    assert "1 file" in run(capsys, "purge", "--session", "s", "--yes")
    assert not Path(location.state_path()).exists()
    assert run(capsys, "purge", "--yes") == "Removed permanently: 0 runs, 0 interventions.\n"


def test_a_purge_asks_on_a_terminal_and_nowhere_else(folder, capsys, monkeypatch):
    remember("s", time.time(), (advice(1, text=SECRET), "open", 0))
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert "pass --yes" in run(capsys, "purge", code=2)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    texts: list[str] = []
    monkeypatch.setattr("click.confirm", lambda text: bool(texts.append(text)))
    assert run(capsys, "purge", "--session", "s") == "Nothing was removed.\n"
    assert texts[0].endswith("(of session s)?")
    assert SECRET.encode() in bytes_in_state()
    monkeypatch.setattr("click.confirm", lambda text: True)
    run(capsys, "purge")
    assert SECRET.encode() not in bytes_in_state()


def test_settings_that_are_not_trusted_are_named(folder, quick, capsys):
    (folder / ".ethogram.yaml").write_text("deny: [private/**]\nhook: {critical: off}\n", encoding="utf-8")
    record = records(run(capsys, "status", "--json"))[0]
    (warning,) = record["settings"]["warnings"]
    assert "not trusted: ignored hook.critical" in warning
    assert "not trusted: ignored hook.critical" in run(capsys, "status")
    main(["hook", "install", "claude-code"])
    assert "not trusted: ignored hook.critical" in capsys.readouterr().err


@pytest.mark.parametrize("linked", [".claude", ".claude/settings.json"])
def test_an_install_never_writes_through_a_link_out_of_the_project(folder, quick, tmp_path, capsys, linked):
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / linked).parent.mkdir(exist_ok=True)
    (folder / linked).symlink_to(outside if linked == ".claude" else outside / "settings.json")
    assert main(["hook", "install", "claude-code"]) == 2
    assert "outside this folder" in capsys.readouterr().err
    assert list(outside.iterdir()) == []
