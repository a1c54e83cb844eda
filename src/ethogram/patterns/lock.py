"""The lock: for each pattern a hash of what it detects, and one of the whole file.

A changed pattern shows as a changed line in a review, with separate hashes for meaning and wording.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import BadPattern, Fault
from ..files import write_whole
from .listing import LockChange
from .pattern_file import PatternFile

FILE = "patterns.lock.json"
FORMAT = 1
NEW, GONE = "is new", "is gone"
MEANING, WORDS = "meaning changed", "only words changed"

Hashes = Mapping[str, Mapping[str, str]]
"""Name to {"shape": hash, "file": hash}."""


def hashes_of(files: Iterable[PatternFile]) -> Hashes:
    """The hashes of these patterns, in order of names."""
    hashes = {file.name: {"shape": file.shape_hash, "file": file.file_hash} for file in files}
    return dict(sorted(hashes.items()))


def inside(files: Iterable[PatternFile], folder: Path) -> list[PatternFile]:
    """Those whose file lies in the folder or below it."""
    root = folder.resolve()
    return [file for file in files if Path(file.path).resolve().is_relative_to(root)]


def changes(locked: Hashes, current: Hashes) -> list[LockChange]:
    """What differs, in order of names; [] where the lock is current."""
    names = {name: _change(locked.get(name), current.get(name)) for name in sorted({*locked, *current})}
    return [LockChange(name, change) for name, change in names.items() if change]


def _change(before: Mapping[str, str] | None, now: Mapping[str, str] | None) -> str:
    if before is None or now is None:
        return NEW if before is None else GONE
    if before["shape"] != now["shape"]:
        return MEANING
    return WORDS if before["file"] != now["file"] else ""


def lock_text(hashes: Hashes) -> str:
    """The lock as it is written.

    >>> print(lock_text({"b": {"shape": "1", "file": "2"}, "a": {"shape": "3", "file": "4"}}), end="")
    {
      "format": 1,
      "patterns": {
        "a": {"file": "4", "shape": "3"},
        "b": {"file": "2", "shape": "1"}
      }
    }
    """
    # One line per pattern: two people who change two patterns do not meet in a merge.
    lines = [f"    {json.dumps(name)}: {json.dumps(hashes[name], sort_keys=True)}" for name in sorted(hashes)]
    inner = "{\n" + ",\n".join(lines) + "\n  }" if lines else "{}"
    return f'{{\n  "format": {FORMAT},\n  "patterns": {inner}\n}}\n'


def read_lock(path: Path) -> Hashes | None:
    """The hashes in a lock file; None without a file, BadPattern where it is invalid."""
    if not path.exists():
        return None
    try:
        data = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        data = None
    if not _is_lock(data):
        message = f"is not a lock of format {FORMAT}; remove it and write it anew"
        raise BadPattern([Fault(str(path), 0, 0, message)])
    patterns: Hashes = data["patterns"]
    return patterns


def write_lock(path: Path, hashes: Hashes) -> None:
    """Write the lock, whole or not at all."""
    write_whole(path, [lock_text(hashes)], mode=0o666)


def _is_lock(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        return False
    patterns = value.get("patterns")
    return isinstance(patterns, dict) and all(
        isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("shape", "file"))
        for entry in patterns.values()
    )
