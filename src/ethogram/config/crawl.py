"""The pattern files of a folder, listed within bounds: `patterns: ["/"]` must not walk the whole disk."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ..errors import BadPattern, Fault

SUFFIXES = (".yaml", ".yml")
NOT_PATTERNS = (".", "ethogram.")
"""Names in a folder of patterns that are something else: hidden files and folders, and settings."""
MAX_DEPTH = 8
MAX_ENTRIES = 10_000
MAX_FILES = 2_000
MAX_SECONDS = 5.0


def is_pattern_name(name: str) -> bool:
    """Whether a file of this name is read as a pattern."""
    return name.endswith(SUFFIXES) and not name.startswith(NOT_PATTERNS)


def pattern_files(path: Path) -> list[Path]:
    """The pattern files of a folder and the folders below it, sorted; a file stands for itself.

    Links to folders are not followed. Folders that cannot be listed are left out. BadPattern where a bound
    is exceeded.
    """
    if not path.is_dir():
        return [path]
    deadline = time.monotonic() + MAX_SECONDS
    waiting, found, entries = [(path, 0)], list[Path](), 0
    while waiting:
        folder, depth = waiting.pop()
        try:
            listed = os.scandir(folder)
        except OSError:
            continue
        with listed:
            for entry in listed:
                entries += 1
                if entries > MAX_ENTRIES:
                    raise _over(path, f"more than {MAX_ENTRIES:,} files and folders")
                if time.monotonic() > deadline:
                    raise _over(path, f"more than can be listed in {MAX_SECONDS:g} seconds")
                if entry.is_dir(follow_symlinks=False):
                    if entry.name.startswith("."):
                        continue
                    if depth == MAX_DEPTH:
                        raise _over(path, f"folders nested deeper than {MAX_DEPTH} levels")
                    waiting.append((Path(entry.path), depth + 1))
                elif is_pattern_name(entry.name):
                    found.append(Path(entry.path))
                    if len(found) > MAX_FILES:
                        raise _over(path, f"more than {MAX_FILES:,} pattern files")
    return sorted(found)


def _over(folder: Path, bound: str) -> BadPattern:
    return BadPattern([Fault(str(folder), 0, 0, f"holds {bound}: name a folder with pattern files only")])
