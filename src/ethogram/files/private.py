"""Files and folders that only their owner may read."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def make_private_file(path: str | os.PathLike[str]) -> None:
    """Make an empty file with mode 0600; an existing one stays as it is. OSError where it cannot be made.

    SQLite gives the files that it puts beside a database the mode of the database.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def make_private_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder and its missing parents with mode 0700; existing ones stay as they are."""
    if not os.path.isdir(path):
        if parent := os.path.dirname(path):
            make_private_folder(parent)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise


def user_folder() -> Path | None:
    """The user's configuration folder, $XDG_CONFIG_HOME/ethogram or ~/.config/ethogram; None without a home.

    A relative path does not count: it would lead into the working directory.
    """
    from pathlib import Path  # hooks do without it

    for base in (os.environ.get("XDG_CONFIG_HOME", ""), os.path.expanduser("~/.config")):
        if os.path.isabs(base):
            return Path(base, "ethogram")
    return None
