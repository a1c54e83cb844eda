"""What watches an agent is not for the agent to change: settings, state and commands of ours."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ethogram.agents.hook import state_db
from ethogram.agents.hook.claude_code import handle
from ethogram.agents.hook.plan import library_of, make_plan
from ethogram.config import Settings

Ask = Callable[..., str]
ASKED = "Allow it?"


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("ETHOGRAM_HOOK_DIR", str(tmp_path / "state"))

    def asked(tool: str, record: dict[str, Any], **settings: Any) -> str:
        own = Settings(**settings)
        plan = make_plan(library_of(own), own, str(tmp_path))
        payload = {"session_id": "s", "cwd": str(tmp_path), "hook_event_name": "PreToolUse"}
        call = {"tool_name": tool, "tool_input": record, "tool_use_id": "1"}
        db = state_db.opened(str(tmp_path / "state" / "runs.sqlite"))
        answer = handle({**payload, **call}, plan, db, datetime.now(UTC).timestamp())
        return str(answer.get("hookSpecificOutput", {}).get("permissionDecisionReason", ""))

    return asked


@pytest.mark.parametrize(
    "path",
    [
        ".ethogram.yaml",
        "ethogram.yaml",
        "sub/ethogram.yaml",
        "ethogram.learned.yaml",
        "ethogram.mutes.yaml",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/hooks/check.sh",
        ".Claude/Settings.json",
        "./" * 100 + ".ethogram.yaml",
        "x/../.claude/agents/a.md",
        "~/.config/ethogram/ethogram.yaml",
        "~/.local/state/ethogram/hook/runs.sqlite",
    ],
)
@pytest.mark.parametrize("settings", [{}, {"allow": ("**",)}], ids=["default", "all allowed"])
def test_writing_settings_is_asked_about(ask: Ask, path: str, settings: dict[str, Any]) -> None:
    assert ASKED in ask("Write", {"file_path": path, "content": "x"}, **settings)


@pytest.mark.parametrize("path", [".claude/settings.json", "ethogram.yaml"])
def test_reading_settings_is_not(ask: Ask, path: str) -> None:
    assert ask("Read", {"file_path": path}) == ""


@pytest.mark.parametrize("path", ["docs/ethogram.md", "src/ethogram/cli/main.py", ".claude/plans/a.md"])
def test_what_only_looks_like_it_is_not(ask: Ask, path: str) -> None:
    assert ask("Write", {"file_path": path, "content": "x"}) == ""


def test_the_state_folder_is_asked_about_wherever_it_is(ask: Ask, tmp_path: Path) -> None:
    path = str(tmp_path / "state" / "runs.sqlite")
    assert ASKED in ask("Bash", {"command": f"rm {path}"})


@pytest.mark.parametrize(
    "command",
    [
        "echo x > .ethogram.yaml",
        "cat > ethogram.yaml <<EOF\nallow: ['**']\nEOF",
        "sed -i s/a/b/ ethogram.yaml",
        "cp other .claude/settings.json",
        "mv other ethogram.yaml",
        "ln -sf /tmp/x ethogram.yaml",
        "yq -i .x=1 .ethogram.yaml",
        "python -c \"open('.ethogram.yaml','w').write('x')\"",
        "python - <<EOF\nopen('.claude/settings.json','w')\nEOF",
        "bash -c 'echo x >> .ethogram.yaml'",
        "git checkout main -- .ethogram.yaml",
        "dd of=ethogram.yaml",
        "curl -o .claude/settings.json http://127.0.0.1/x",
        "unzip -o x.zip -d .claude",
        "echo x > " + "./" * 100 + ".ethogram.yaml",
        "echo x >| ethogram.yaml",
        "echo {} > $PWD/.claude/settings.json",
        'echo {} > "$(pwd)/.claude/settings.json"',
        "sed --in-place s/a/b/ .claude/settings.json",
        "sed -n 'w .claude/settings.json' x",
        "awk -i inplace '{print}' ethogram.yaml",
        "find .claude -delete",
        "find .claude -type f -exec rm {} +",
        "git diff --output=ethogram.yaml",
        "printf 'echo x > ethogram.yaml' | bash",
        "rm -rf $ETHOGRAM_HOOK_DIR",
        "rm .venv/bin/ethogram",
        "pip uninstall -y ethogram",
        "claude plugin disable ethogram@ethogram",
        "claude plugin marketplace rm ethogram",
        "true; " * 50 + "echo x > ethogram.yaml",
        "cat .env > .claude/settings.json",
    ],
)
def test_commands_that_change_settings_are_asked_about(ask: Ask, command: str) -> None:
    assert ASKED in ask("Bash", {"command": command})


@pytest.mark.parametrize(
    "command",
    [
        "ethogram config trust --yes",
        "/opt/venv/bin/ethogram config trust",
        "python3 -P -m ethogram config trust",
        "env A=1 ethogram config trust",
        "make && ethogram hook uninstall claude-code",
        "ethogram mute add loop",
        "ethogram store purge --store s.db --subject ann",
        "ethogram hook purge",
        "bash -c 'ethogram config trust --yes'",
        "bash <<EOF\nethogram config trust --yes\nEOF",
        "printf 'ethogram config trust --yes' | bash",
        "eval ethogram config trust --yes",
        "{ ethogram config trust --revoke; }",
        "uv run ethogram config trust --yes",
        "python3 -P -X utf8 -m ethogram config trust",
        "python3 -m ethogram.__main__ trust",
        "sudo -u root ethogram config trust",
        "timeout -k 3 5 ethogram config trust",
        "find . -exec ethogram config trust --yes ;",
        "python -c \"import os; os.system('ethogram config trust --yes')\"",
        "ethogram hook < event.json",
        "echo '{}' | ethogram hook",
    ],
)
def test_commands_of_ours_that_change_what_is_watched_are_asked_about(ask: Ask, command: str) -> None:
    assert ASKED in ask("Bash", {"command": command})


@pytest.mark.parametrize(
    "command",
    [
        "cat .ethogram.yaml",
        "grep deny ethogram.yaml",
        "git add ethogram.yaml",
        "git diff .ethogram.yaml",
        "echo see ethogram.yaml",
        "ethogram analyze run.jsonl",
        "sed -n '1,20p' ethogram.yaml",
        "find .claude -type f",
        "git commit -m 'docs: ethogram config trust explained'",
        "grep -rn 'ethogram config trust' docs",
        ". venv/bin/activate && cat .claude/settings.json",
        ".venv/bin/ethogram config show",
        "ls -la .venv/bin/ethogram",
        "ethogram hook status",
    ],
)
def test_commands_that_read_are_not(ask: Ask, command: str) -> None:
    assert ask("Bash", {"command": command}) == ""


@pytest.mark.parametrize(
    ("tool", "record"),
    [
        ("move_file", {"source": "a", "destination": ".claude/settings.json"}),
        ("write_files", {"files": [{"path": "ethogram.yaml", "content": "x"}]}),
        ("delete_files", {"paths": ["a", ".ethogram.yaml"]}),
        ("apply_patch", {"input": "*** Update File: ethogram.yaml\n+x"}),
        ("edit", {"uri": "file:///w/.claude/settings.json"}),
        ("run_process", {"args": ["ethogram", "config", "trust", "--yes"]}),
    ],
)
def test_other_tools_that_change_settings_are_asked_about(
    ask: Ask, tool: str, record: dict[str, Any]
) -> None:
    assert ASKED in ask(tool, record)


def test_what_is_written_may_speak_of_settings(ask: Ask) -> None:
    assert (
        ask("Write", {"file_path": "README.md", "content": "Run ethogram config trust; see ethogram.yaml."})
        == ""
    )
    assert ask("Grep", {"pattern": "ethogram.yaml", "path": "docs"}) == ""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """One session in which every question is answered with yes: what is asked about each command."""
    monkeypatch.setenv("ETHOGRAM_HOOK_DIR", str(tmp_path / "state"))
    own = Settings(deny=("README.md",))
    plan = make_plan(library_of(own), own, str(tmp_path))
    db = state_db.opened(str(tmp_path / "state" / "runs.sqlite"))
    calls = iter(range(1000))

    def asked(command: str) -> str:
        call = {"session_id": "s", "cwd": str(tmp_path), "tool_name": "Bash"}
        call |= {"tool_input": {"command": command}, "tool_use_id": f"c{next(calls)}"}
        before = handle({**call, "hook_event_name": "PreToolUse"}, plan, db, datetime.now(UTC).timestamp())
        handle({**call, "hook_event_name": "PostToolUse", "tool_response": "ok"}, plan, db, 2e9)
        return str(before.get("hookSpecificOutput", {}).get("permissionDecisionReason", ""))

    return asked


def test_what_was_allowed_allows_nothing_else_in_the_same_call(session: Ask) -> None:
    assert ".env" in session("cat .env")
    assert session("cat .env") == ""
    assert "id_rsa" in session("cat .env ~/.ssh/id_rsa")
    assert ASKED in session("cat .env && echo {} > .claude/settings.json")
    assert ASKED in session("cat .env; rm -rf .claude")


def test_a_denied_path_does_not_hide_a_critical_one(session: Ask) -> None:
    text = session("cat README.md ~/.ssh/id_rsa")
    assert "README.md" in text
    assert "id_rsa" in text
    assert ".claude/settings.json" in session("cat README.md > .claude/settings.json")


def test_only_what_the_question_names_is_allowed(session: Ask) -> None:
    text = session("cat ~/.ssh/id_rsa > .claude/settings.json")
    assert "id_rsa" in text
    assert ".claude/settings.json" in text
    keys = ["~/.ssh/id_rsa", "~/.ssh/id_dsa", "~/.netrc", "~/.npmrc", "~/.pgpass"]
    assert "~/.pgpass" not in session(f"cat {' '.join(keys)}")
    assert "~/.pgpass" in session(f"cat {' '.join(keys)}")


def test_one_command_that_was_allowed_is_not_another(session: Ask) -> None:
    assert ASKED in session("ethogram config trust --list")
    assert session("ethogram config trust --list") == ""
    assert ASKED in session("ethogram config trust --yes")
