"""Files: written whole or not at all, private where they hold texts; SQLite files told apart untouched."""

from __future__ import annotations

from .database import Head, check_columns, check_whole, columns_of, complaint, read_head, telling
from .private import make_private_file, make_private_folder
from .whole import PRIVATE, write_whole

__all__ = [
    "PRIVATE",
    "Head",
    "check_columns",
    "check_whole",
    "columns_of",
    "complaint",
    "make_private_file",
    "make_private_folder",
    "read_head",
    "telling",
    "write_whole",
]
