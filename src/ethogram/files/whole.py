"""Write files whole or not at all: a draft in the same folder, synced to the disk, then renamed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

PRIVATE = 0o600
"""The mode of a new file that holds texts, names or scores of people."""


def write_whole(path: str | os.PathLike[str], content: Iterable[str | bytes], *, mode: int = PRIVATE) -> None:
    """Replace a file with pieces of bytes, or of text in UTF-8, or leave it. OSError where it cannot be.

    A link is followed. An existing file keeps its mode, a new one gets `mode` less the umask. What is no
    regular file, such as a pipe, is written to directly.
    """
    from pathlib import Path

    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        with place.open("wb") as stream:
            stream.writelines(_encoded(content))
        return
    draft = place.with_name(f".{os.urandom(8).hex()}.part")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.writelines(_encoded(content))
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            draft.chmod(stat.S_IMODE(place.stat().st_mode))
        draft.replace(place)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            # With the name of the file, not of the draft.
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise


def _encoded(content: Iterable[str | bytes]) -> Iterator[bytes]:
    return (piece.encode() if isinstance(piece, str) else piece for piece in content)
