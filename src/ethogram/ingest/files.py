"""Which files a call means, in the order of their names, and how each is opened."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from .adapter import HEAD
from .limits import Limits
from .streams import GZIP, head_before_damage, head_of, rewound, unpacked

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Found:
    """One file to read. `named` is true where the caller named it, not only a folder around it."""

    path: str
    named: bool
    size: int = 0

    @property
    def name(self) -> str:
        """The path as it can be printed: bytes that are no text are shown as escapes."""
        return os.fsencode(self.path).decode("utf-8", "backslashreplace")


def find(paths: Sequence[str | Path]) -> tuple[list[Found], list[str]]:
    """Every file meant, sorted by path and each once; and the paths where there is nothing."""
    meant: list[Found] = []
    missing: list[str] = []
    for given in paths:
        path = str(given)
        if path != STDIN and not _exists(path):
            missing.append(Found(path, named=True).name)
        else:
            meant.extend(_below(path))
    return _each_once(sorted(meant, key=lambda one: one.path)), missing


def _each_once(meant: list[Found]) -> list[Found]:
    """The files by real path, so that one named beside its own folder is not read twice."""
    found: dict[str, Found] = {}
    for one in meant:
        real = one.path if one.path == STDIN else os.path.realpath(one.path)
        first = found.setdefault(real, one)
        found[real] = replace(first, named=first.named or one.named)
    return list(found.values())


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a name too long, or with a null byte in it
        return False


def _below(path: str) -> Iterator[Found]:
    if path == STDIN or not Path(path).is_dir():
        yield Found(path, named=True, size=_size(path))
        return
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            full = os.path.join(folder, name)  # noqa: PTH118 (a Path would change './a' to 'a')
            # Only regular files: a named pipe in a folder would wait for ever.
            if not name.startswith(".") and Path(full).is_file():
                yield Found(full, named=False, size=_size(full))


def _size(path: str) -> int:
    if path == STDIN:
        return 0
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class Opened:
    """A file at its first byte, unpacked; `handle` is the file on disk, to see how far it was read.

    `packed` tells how many bytes of a compressed file were read; None where it is not compressed.
    """

    stream: BinaryIO
    head: bytes
    handle: BinaryIO
    packed: Callable[[], int] | None = None


@contextmanager
def opened(found: Found, stdin: BinaryIO | None, limits: Limits) -> Iterator[Opened]:
    """One file, closed again after use; standard input stays open."""
    given = stdin if stdin is not None else sys.stdin.buffer
    with nullcontext(given) if found.path == STDIN else open(found.path, "rb") as handle:
        head = head_of(handle, HEAD)
        stream, taken = rewound(handle, head), None
        if head.startswith(GZIP):
            packed, taken = unpacked(stream, limits)
            head = head_before_damage(packed, HEAD)
            stream = rewound(packed, head)
        yield Opened(stream, head, handle, taken)
