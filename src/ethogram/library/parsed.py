"""Parsed: the shipped pattern files as they were read last, kept in the user's cache folder.

Reading them takes a second, and nearly every command needs some. What is kept is used only while every file
it was made of, the code that reads them and the names that are known are the same; it is ours alone to write,
so whoever could change it could change the program itself. Where it cannot be kept, only time is lost.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..records import stable_hash
from ..shapes.vocabulary import Vocabulary
from .pattern_file import PatternFile

PACKAGE = Path(__file__).parents[1]
CODE = ("shapes", "library", "records", "errors.py", "tables")
"""What decides how a pattern file is read."""


def parsed(paths: Sequence[Path], vocabulary: Vocabulary) -> dict[str, PatternFile]:
    """Those of the shipped files that were kept, by path; none where anything has changed."""
    kept = _kept(_stamp(tuple(paths)))
    if kept is None or kept[0] != vocabulary:
        return {}
    return dict(kept[1])


def keep_parsed(paths: Sequence[Path], vocabulary: Vocabulary, files: Mapping[str, PatternFile]) -> None:
    """Keep shipped files for the next time, beside those that are kept already."""
    stamp = _stamp(tuple(paths))
    known = _kept(stamp)
    whole = {**(known[1] if known is not None and known[0] == vocabulary else {}), **files}
    with contextlib.suppress(OSError):
        place = _place(stamp)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=place.parent)
        with os.fdopen(handle, "wb") as file:
            pickle.dump((vocabulary, whole), file)
        Path(name).replace(place)
        _forget_others(place)
    _kept.cache_clear()


@lru_cache(maxsize=2)
def _kept(stamp: str) -> tuple[Vocabulary, dict[str, PatternFile]] | None:
    place = _place(stamp)
    try:
        with place.open("rb") as file:
            told = os.fstat(file.fileno())
            # Only what nobody else could have written: reading it can run anything.
            if hasattr(os, "getuid") and (told.st_uid != os.getuid() or told.st_mode & 0o022):
                return None
            found: Any = pickle.load(file)
    except Exception:  # whatever is wrong with it, it is only a copy
        return None
    return found if isinstance(found, tuple) else None


def _place(stamp: str) -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "ethogram" / f"patterns-{stamp}.pickle"


def _forget_others(place: Path) -> None:
    """Those of other versions, of which no more than a few are kept."""
    others = sorted(place.parent.glob("patterns-*.pickle"), key=lambda one: one.stat().st_mtime)
    for one in others[:-4]:
        one.unlink(missing_ok=True)


@lru_cache(maxsize=2)
def _stamp(paths: tuple[Path, ...]) -> str:
    code = (one for name in CODE for one in sorted((PACKAGE / name).rglob("*.*")) if one.suffix != ".pyc")
    return stable_hash("parsed", sys.version, [_told(one) for one in (*paths, *code, PACKAGE / "errors.py")])[
        :20
    ]


def _told(path: Path) -> tuple[str, int, int]:
    try:
        told = path.stat()
    except OSError:
        # Whoever reads it says so.
        return (str(path), -1, -1)
    return (str(path), told.st_mtime_ns, told.st_size)
