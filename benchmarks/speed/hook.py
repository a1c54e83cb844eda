"""`speed hook`: from the start of a hook's process to its answer, beside an empty Python process and
beside the same answer with everything imported in the usual way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ethogram.agents.hook import state_db
from ethogram.agents.hook.location import DIR_VARIABLE
from ethogram.agents.hook.plan import prepare
from ethogram.agents.hook.replay import in_process

STARTS = 50
EVENTS = 5_000
BARS = (150.0, 60.0)
"""Milliseconds, ninety-five of a hundred starts: what must hold, and what is wanted."""
USUAL = (
    "import json,sys,time\n"
    "from ethogram.agents.hook import state_db\n"
    "from ethogram.agents.hook.location import state_path\n"
    "from ethogram.agents.hook.replay import in_process\n"
    "told = json.load(sys.stdin)\n"
    "in_process(state_db.opened(state_path()), told['cwd'])(told)\n"
)


def measure(starts: int = STARTS, events: int = EVENTS) -> Iterator[dict[str, Any]]:
    """Timings of each candidate, in milliseconds, and whether the bars are met."""
    before = os.environ.get(DIR_VARIABLE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[DIR_VARIABLE] = str(Path(folder, "state"))
        try:
            yield from _measured(folder, starts, events)
        finally:
            if before is None:
                del os.environ[DIR_VARIABLE]
            else:
                os.environ[DIR_VARIABLE] = before


def _measured(folder: str, starts: int, events: int) -> Iterator[dict[str, Any]]:
    # A plan is there after the install; and a package that is installed has its modules compiled.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    prepare(folder)
    hook, told = [sys.executable, "-P", "-m", "ethogram", "hook"], _payload(folder, 0)
    subprocess.run(hook, input=json.dumps(told).encode(), check=True, env=environ, capture_output=True)
    yield _timing("an empty Python process", [sys.executable, "-P", "-c", "pass"], told, environ, starts)
    yield _timing(
        "the usual imports", [sys.executable, "-P", "-c", USUAL], told, environ, max(3, starts // 10)
    )
    fresh = _timing("hook, a new run", hook, told, environ, starts)
    yield fresh
    size = _fill(folder, events)
    full = _timing(f"hook, after {events:,} events", hook, told, environ, starts)
    yield full | {"state_bytes": size}
    worst = max(fresh["p95"], full["p95"])
    told = {"record": "ratio", "what": "start to answer", "ratio": worst, "bar": BARS[0], "goal": BARS[1]}
    yield told | {"bar_holds": worst <= BARS[0], "goal_reached": worst <= BARS[1]}


def _payload(folder: str, number: int) -> dict[str, Any]:
    return {
        "session_id": "bench",
        "cwd": folder,
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": f"call-{number}",
        "tool_input": {"command": f"python tools/check.py --part {number % 97}"},
        "tool_response": {
            "stdout": f"part {number} of the work is done, {number * 7919 % 1000} left",
            "stderr": "",
        },
    }


def _fill(folder: str, events: int) -> int:
    """Tell the hook's state so many events, and say how many bytes it keeps of the run."""
    from ethogram.agents.hook.location import state_path

    db = state_db.opened(state_path())
    tell = in_process(db, folder)
    for number in range(events // 2):  # each is a call and a result
        tell(_payload(folder, number))
    size = db.execute("select max(length(state)) from run").fetchone()[0]
    db.close()
    return int(size)


def _timing(
    name: str, command: Sequence[str], record: Mapping[str, Any], environ: Mapping[str, str], starts: int
) -> dict[str, Any]:
    taken = []
    for number in range(starts):
        text = json.dumps({**record, "tool_use_id": f"start-{name}-{number}"}).encode()
        began = time.perf_counter()
        subprocess.run(command, input=text, capture_output=True, check=True, env=dict(environ))
        taken.append(1000 * (time.perf_counter() - began))
    taken.sort()
    middle, late = taken[len(taken) // 2], taken[min(len(taken) - 1, int(0.95 * len(taken)))]
    return {"record": "start", "name": name, "starts": starts, "p50": round(middle, 1), "p95": round(late, 1)}
