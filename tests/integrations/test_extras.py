"""Integrations without their package say which command installs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ethogram.integrations.guards import MAX_RUNS, Guards

EXTRAS = {
    "langchain": ("langchain", "langchain", "langchain"),
    "openai_agents": ("agents", "openai-agents", "openai-agents"),
    "claude_agent": ("claude_agent_sdk", "claude-agent-sdk", "claude-agent"),
}


@pytest.mark.parametrize("module", EXTRAS)
def test_a_missing_package_is_named_with_the_command_that_installs_it(module):
    package, name, extra = EXTRAS[module]
    code = f"import sys; sys.modules[{package!r}] = None; import ethogram.integrations.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ethogram.errors.MissingExtra: Ethogram")
    assert last.endswith(f" needs the package '{name}': pip install -e '.[{extra}]' in the clone of ethogram")


def test_the_runs_not_seen_for_longest_are_forgotten():
    guards = Guards(rungs=["nudge"])
    first, second = guards[0], guards[1]
    for n in range(2, MAX_RUNS):
        assert guards[n]
    assert guards[0] is first
    assert guards[MAX_RUNS]
    assert guards[0] is first
    assert guards[1] is not second
