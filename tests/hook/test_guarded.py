"""What watches an agent is not for the agent to change: settings, state and commands of ours."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ethogram.config import Settings
from ethogram.hook import keep
from ethogram.hook.answer import handle
from ethogram.hook.planning import choose, library_of, plan_of

Ask = Callable[..., str]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("ETHOGRAM_HOOK_DIR", str(tmp_path / "state"))

    def asked(tool: str, given: dict[str, Any], **settings: Any) -> str:
        own = Settings(**settings)
        plan = plan_of(choose(library_of(own)), own, str(tmp_path))
        payload = {"session_id": "s", "cwd": str(tmp_path), "hook_event_name": "PreToolUse"}
        call = {"tool_name": tool, "tool_input": given, "tool_use_id": "1"}
        db = keep.opened(str(tmp_path / "state" / "runs.sqlite"))
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
    assert "nobody should touch unasked" in ask("Write", {"file_path": path, "content": "x"}, **settings)


@pytest.mark.parametrize("path", [".claude/settings.json", "ethogram.yaml"])
def test_reading_settings_is_not(ask: Ask, path: str) -> None:
    assert ask("Read", {"file_path": path}) == ""


@pytest.mark.parametrize("path", ["docs/ethogram.md", "src/ethogram/cli/main.py", ".claude/plans/a.md"])
def test_what_only_looks_like_it_is_not(ask: Ask, path: str) -> None:
    assert ask("Write", {"file_path": path, "content": "x"}) == ""


def test_the_state_folder_is_asked_about_wherever_it_is(ask: Ask, tmp_path: Path) -> None:
    path = str(tmp_path / "state" / "runs.sqlite")
    assert "nobody should touch unasked" in ask("Bash", {"command": f"rm {path}"})


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
    ],
)
def test_commands_that_change_settings_are_asked_about(ask: Ask, command: str) -> None:
    assert "nobody should touch unasked" in ask("Bash", {"command": command})


@pytest.mark.parametrize(
    "command",
    [
        "ethogram trust --yes",
        "/opt/venv/bin/ethogram trust",
        "python3 -P -m ethogram trust",
        "env A=1 ethogram trust",
        "make && ethogram hook uninstall claude-code",
        "ethogram mute add loop",
        "ethogram hook purge",
    ],
)
def test_commands_of_ours_that_change_what_is_watched_are_asked_about(ask: Ask, command: str) -> None:
    assert "changes what ethogram watches" in ask("Bash", {"command": command})


@pytest.mark.parametrize(
    "command",
    [
        "cat .ethogram.yaml",
        "grep deny ethogram.yaml",
        "git add ethogram.yaml",
        "git diff .ethogram.yaml",
        "echo see ethogram.yaml",
        "ethogram analyze run.jsonl",
        "ethogram hook status",
    ],
)
def test_commands_that_read_are_not(ask: Ask, command: str) -> None:
    assert ask("Bash", {"command": command}) == ""
