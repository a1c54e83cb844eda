"""Regular expressions for the image: compiled when it is written, since that takes half the time of a start.

What `re` makes of a pattern is a list of numbers, which can be kept like any other; it is good for the very
Python that made it, and so is the image. Where `re` is built otherwise than expected, nothing is kept, and
patterns are compiled as usual.
"""

from __future__ import annotations

import marshal
import subprocess
import sys
from typing import Any

Kept = dict[tuple[str, int], tuple[Any, ...]]

_RECORD = """
import marshal, re, sys
from re import _compiler
used, made = set(), _compiler.compile
def noted(pattern, flags=0):
    if type(pattern) is str:
        used.add((pattern, int(flags)))
    return made(pattern, flags)
_compiler.compile = noted
from ethogram.hook import keep, start
modules = marshal.loads(sys.stdin.buffer.read())
for name in ("dataclasses", "typing"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, start.Finder(modules))
from ethogram.hook import answer, plan
made_of = answer.plan_of(plan)
import sqlite3
db = sqlite3.connect(":memory:", isolation_level=None)
db.executescript(answer.keep._TABLES)
told = {"session_id": "s", "cwd": "/w"}
calls = [
    ("Bash", {"command": "cd a && cat b.py | grep x > out.txt; make test"}, {"stdout": "ok 1"}),
    ("Bash", {"command": "pytest -q tests/a.py"}, {"stdout": "1 failed, 2 passed\\nassert 1 == 2"}),
    ("Read", {"file_path": "/w/src/a.py"}, {"file": {"content": "import os\\nx = 1"}}),
    ("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}, {"filePath": "src/a.py"}),
    ("Bash", {"command": "curl -H 'Authorization: Bearer abc123def456' https://x.org/a?b=1"}, None),
    ("Grep", {"pattern": "def x", "path": "src"}, "src/a.py:1:def x"),
]
said = "Fix src/a.py, do not touch b/."
answer.handle({**told, "hook_event_name": "UserPromptSubmit", "prompt": said}, made_of, db, 1.0)
error = (
    "Exit code 7\\nTraceback (most recent call last):\\n  File 'x.py', line 3\\n"
    "ValueError: at 10.0.0.1 0x7f12"
)
for n, (tool, given, response) in enumerate(calls * 2):
    call = {**told, "tool_name": tool, "tool_input": given, "tool_use_id": str(n)}
    answer.handle({**call, "hook_event_name": "PreToolUse"}, made_of, db, 2.0 + n)
    if response is None:
        call |= {"hook_event_name": "PostToolUseFailure", "error": error}
    else:
        call |= {"hook_event_name": "PostToolUse", "tool_response": response}
    answer.handle(call, made_of, db, 2.5 + n)
sys.stdout.buffer.write(marshal.dumps(sorted(used)))
"""


def compiled(modules: dict[str, Any]) -> Kept:
    """The patterns that the modules of an image compile as they go about their work, with what `re` makes of
    each; empty where that cannot be had."""
    done = subprocess.run(
        [sys.executable, "-c", _RECORD], input=marshal.dumps(modules), capture_output=True, check=False
    )
    if done.returncode:
        return {}
    try:
        return {key: _made(*key) for key in marshal.loads(done.stdout)}
    except (AttributeError, ImportError, TypeError, ValueError):
        return {}


def _made(pattern: str, flags: int) -> tuple[Any, ...]:
    """What `_sre.compile` is given for a pattern."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(pattern, flags)
    code = [int(one) for one in _compiler._code(parsed, flags)]
    named = parsed.state.groupdict
    groups = [None] * parsed.state.groups
    for name, number in named.items():
        groups[number] = name
    return (int(flags | parsed.state.flags), code, parsed.state.groups - 1, dict(named), tuple(groups))
