"""Target: a file that a command is asked to write, looked at before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ethogram.errors import BadUsage

PRIVATE = 0o600
"""The mode of a new file: names and scores are nobody else's business."""


class Target:
    """Where records go, one a line: all of them, or the file is as it was before.

    A link is followed and a file keeps its mode. What is no file, such as a pipe, is written to as it is.
    """

    def __init__(self, option: str, path: str, *, inputs: Sequence[str] = ()) -> None:
        self.option, self.given = option, path
        if path == "-":
            raise BadUsage(f"{option} takes a file; to standard output goes what --json says")
        self._path = Path(os.path.realpath(path))
        if any(self.is_same(other) for other in inputs if other != "-"):
            raise BadUsage(f"{option}: {path!r:.200} is among the input; write somewhere else")
        if self._path.is_dir() or not self._path.parent.is_dir():
            what = "is a folder" if self._path.is_dir() else "is in a folder that is not there"
            raise BadUsage(f"{option}: {path!r:.200} {what}; name a file")
        if not os.access(self._path if self._path.exists() else self._path.parent, os.W_OK):
            raise BadUsage(f"{option}: {path!r:.200} cannot be written to")

    def is_same(self, other: str) -> bool:
        """Whether another path leads to the same place, or to a folder it is in."""
        place = Path(os.path.realpath(other))
        return place == self._path or (place in self._path.parents and self._path.exists())

    def write(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write all of them."""
        import json

        lines = (json.dumps(one) + "\n" for one in records)
        try:
            if self._path.exists() and not self._path.is_file():
                with self._path.open("w", encoding="ascii") as pipe:
                    pipe.writelines(lines)
                return
            self._write(lines)
        except OSError as error:
            raise BadUsage(
                f"{self.option}: {self.given!r:.200} cannot be written: {error.strerror or error}"
            ) from None

    def _write(self, lines: Iterable[str]) -> None:
        mode = self._path.stat().st_mode & 0o777 if self._path.exists() else PRIVATE
        draft = self._path.with_name(f"{self._path.name}.part")
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
                file.writelines(lines)
            draft.chmod(mode)
            draft.replace(self._path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
