"""Files: written whole or not at all, private where they hold texts; SQLite files are in `files.sqlite`."""

from __future__ import annotations

from .private import make_private_file, make_private_folder, user_folder
from .text import read_text
from .whole import PRIVATE, write_whole

__all__ = ["PRIVATE", "make_private_file", "make_private_folder", "read_text", "user_folder", "write_whole"]
