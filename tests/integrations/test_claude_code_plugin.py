"""The plugin for Claude Code: its files, its script, and the real program with it and a scripted model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ethogram
from claude_program import program, scripted
from ethogram.agents.hook.location import EVENTS, TOOL_EVENTS
from recipes import NAMED, STUCK, TASK

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "ethogram"
SCRIPT = PLUGIN / "hooks" / "ethogram.sh"
HINT = (
    "ethogram is not on PATH, so this session is not watched. "
    "Install it as docs/install.md of its repository says."
)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_plugin_has_the_version_of_the_package_and_is_in_the_marketplace():
    manifest = read(PLUGIN / ".claude-plugin" / "plugin.json")
    assert manifest["version"] == ethogram.__version__
    (entry,) = read(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    assert (ROOT / entry["source"]).resolve() == PLUGIN
    assert (entry["name"], entry["description"]) == (manifest["name"], manifest["description"])


def test_every_event_that_the_hook_answers_is_passed_to_it():
    hooks = read(PLUGIN / "hooks" / "hooks.json")["hooks"]
    assert set(hooks) == {"SessionStart", *EVENTS}
    for event, ((group,)) in hooks.items():
        (handler,) = group["hooks"]
        assert handler["command"].startswith('sh "${CLAUDE_PLUGIN_ROOT}/hooks/ethogram.sh"')
        assert handler["command"].endswith(" check") == (event == "SessionStart")
        assert (group.get("matcher") == "*") == (event in TOOL_EVENTS)


def test_each_skill_says_when_to_use_it_and_may_only_run_ethogram():
    for name in ("why", "report"):
        lines = (PLUGIN / "skills" / name / "SKILL.md").read_text(encoding="utf-8").splitlines()
        assert lines[:2] == ["---", f"name: {name}"]
        assert "Use when" in lines[2]
        tools = lines[3].removeprefix("allowed-tools: ").split(", ")
        assert all(tool.startswith("Bash(ethogram ") for tool in tools)


def run_script(path: str, *args: str, payload: str = "{}") -> subprocess.CompletedProcess[str]:
    command = [shutil.which("sh") or "sh", str(SCRIPT), *args]
    return subprocess.run(command, input=payload, env={"PATH": path}, capture_output=True, text=True)


@pytest.mark.parametrize(("args", "said"), [(["check"], {"systemMessage": HINT}), ([], None)])
def test_without_ethogram_a_session_starts_with_a_hint_and_goes_on(tmp_path, args, said):
    done = run_script(str(tmp_path), *args)
    assert (done.returncode, done.stderr) == (0, "")
    assert (json.loads(done.stdout) if done.stdout else None) == said


def test_the_script_passes_the_event_on_and_hides_a_failure(tmp_path):
    program = tmp_path / "ethogram"
    program.write_text('#!/bin/sh\necho "$1: $(cat)"\nexit 3\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), "/usr/bin", "/bin"])
    done = run_script(path, payload='{"a": 1}')
    assert (done.returncode, done.stdout) == (0, 'hook: {"a": 1}\n')
    assert run_script(path, "check").stdout == ""


class Home:
    """An empty home in which the real program runs; nothing of whoever runs the tests is in it."""

    def __init__(self, folder: Path, *, has_ethogram: bool = True) -> None:
        self.project = folder / "project"
        self.project.mkdir()
        own = [str(Path(sys.executable).parent)] if has_ethogram else []
        self.variables = {"HOME": str(folder), "PATH": os.pathsep.join([*own, "/usr/bin", "/bin"])}

    def claude(self, *args: str, **variables: str) -> str:
        done = subprocess.run(
            [str(program()), *args],
            cwd=self.project,
            env={**self.variables, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def install(self) -> None:
        self.claude("plugin", "marketplace", "add", str(ROOT))
        self.claude("plugin", "install", "ethogram@ethogram")

    def ask(
        self, prompt: str, command: str = STUCK, allowed: str = ""
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """The records of a session, and what the model read each time."""
        how = ("--output-format", "stream-json", "--verbose", "--include-hook-events")
        more = ("--allowedTools", allowed) if allowed else ()
        with scripted(command) as model:
            output = self.claude("-p", prompt, *how, *more, **model.environment)
        return [json.loads(line) for line in output.splitlines()], model.read


@pytest.mark.long
@pytest.mark.parametrize("folder", [ROOT, PLUGIN], ids=["marketplace", "plugin"])
def test_the_program_finds_nothing_to_warn_of(tmp_path, folder):
    assert "Validation passed" in Home(tmp_path).claude("plugin", "validate", "--strict", str(folder))


@pytest.mark.long
def test_an_installed_plugin_tells_the_model_what_repeats_and_counts_it_once(tmp_path):
    home = Home(tmp_path)
    home.install()
    # The hook in the settings as well: each event then comes twice.
    own = str(Path(sys.executable).with_name("ethogram"))
    subprocess.run([own, "hook", "install", "claude-code", "--user"], env=home.variables, check=True)
    _, read = home.ask(TASK, allowed="Bash(no-such-tool *)")
    assert [NAMED in item for item in read] == [False, False, False, True, True, True]
    assert json.dumps(f'Ran "{STUCK}" {NAMED}')[1:-1] in read[3]
    report = subprocess.run([own, "hook", "report"], env=home.variables, capture_output=True, text=True)
    assert report.stdout.count("nudge") == 2  # the intervention, and its row in the counts
    status = subprocess.run([own, "hook", "status"], env=home.variables, capture_output=True, text=True)
    assert "User: installed, and installed as the plugin ethogram@ethogram" in status.stdout


@pytest.mark.long
def test_the_skills_reach_the_model_and_may_run_what_they_name(tmp_path):
    home = Home(tmp_path)
    home.install()
    records, read = home.ask("/ethogram:why", "ethogram hook report --json")
    session = next(item["session_id"] for item in records if "session_id" in item)
    assert json.dumps(f'ethogram hook report --session "{session}" --json')[1:-1] in read[0]
    assert "hook_report" in read[1]
    home.ask(TASK, allowed="Bash(no-such-tool *)")
    _, read = home.ask("/ethogram:report", "ethogram analyze ~/.claude/projects")
    assert f"`Bash {STUCK}` failed 5 times with the same error" in read[1]


@pytest.mark.long
def test_without_ethogram_the_program_shows_the_hint_and_the_session_runs(tmp_path):
    home = Home(tmp_path, has_ethogram=False)
    home.install()
    records, read = home.ask(TASK, allowed="Bash(no-such-tool *)")
    answers = [item for item in records if item.get("subtype") == "hook_response"]
    assert all(item["outcome"] == "success" for item in answers)
    assert [HINT in item["output"] for item in answers if item["hook_event"] == "SessionStart"] == [True]
    assert records[-1]["subtype"] == "success"
    assert not any("[ethogram]" in item for item in read)
