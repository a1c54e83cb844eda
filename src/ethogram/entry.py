"""The front door of the command line: a hook's process goes straight through, all else to the commands.

A coding agent starts `ethogram hook` for every event, so nothing that is slow to load may stand in its way.
"""

import sys


def main() -> int:
    """Run what the command line asks for; the exit code."""
    if sys.argv[1:] == ["hook"] and (sys.stdin is None or not sys.stdin.isatty()):
        from ethogram.hook.start import main as answer

        return answer()
    from ethogram.cli.main import main as run

    return run()
