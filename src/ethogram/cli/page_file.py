"""Where a page is written: one way for every command, and never over what is read."""

from __future__ import annotations

from collections.abc import Iterable


def check_page(path: str, read: Iterable[str]) -> None:
    """BadUsage where the page would be written over something that is read: both would be lost."""
    from pathlib import Path

    from ..errors import BadUsage

    page = Path(path) if path else None
    for one in read:
        if page is not None and page.exists() and Path(one).exists() and page.samefile(one):
            raise BadUsage(f"--html: {path!r:.200} is what is read; name another file for the page")


def write_page(path: str, content: str) -> None:
    """Write a page, whole or not at all; a folder that is not there is made. BadUsage where it cannot be.

    A new page, which may quote texts, is for its owner alone to read.
    """
    from pathlib import Path

    from ..errors import BadUsage
    from ..files import make_private_folder, write_whole

    try:
        make_private_folder(Path(path).parent)
        write_whole(path, [content])
    except OSError as error:
        raise BadUsage(f"--html: {path!r:.200} cannot be written: {error.strerror}") from None
