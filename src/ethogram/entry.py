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
    import gc
    import os

    # NumPy starts its linear algebra with a thread for every core, and each of them spins for a tenth of a
    # second before it sleeps; no command multiplies matrices large enough to need them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Loading modules and patterns makes many objects and little garbage: with the default of 700, looking for
    # it takes a tenth of a short command's time.
    gc.set_threshold(10_000, 10, 10)
    from .cli.main import main as run

    code = run()
    gc.freeze()  # the process ends: do not look for garbage among all that was read
    return code
