"""The front door of the command line: a hook's process goes straight through, all else to the commands.

A coding agent starts `ethogram hook` for every event, so nothing that is slow to load may stand in its way.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run what the command line asks for; the exit code."""
    if sys.argv[1:] == ["hook"] and (sys.stdin is None or not sys.stdin.isatty()):
        from .agents.hook.main import main as answer

        return answer()
    from .cli.main import main as run

    return run()
