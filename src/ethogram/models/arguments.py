"""What the arguments of a tool call name: a path, a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PATHS = ("path", "file_path", "filepath", "filename", "file_name", "file", "notebook_path", "target_file")
FOLDERS = ("directory", "dir", "folder", "dir_path", "cwd_path")
COMMANDS = ("command", "cmd", "bash_command", "shell_command", "script", "code")
EDITOR = frozenset(
    ("view", "create", "str_replace", "insert", "undo_edit", "delete", "rename", "write", "edit")
)
"""What editors such as str_replace_editor call a command; no shell runs these."""


def path_in(arguments: Mapping[str, Any]) -> str | None:
    """The file or folder that arguments name.

    >>> path_in({"file_path": "a.py"}), path_in({"command": "sed -i s/a/b/ x"})
    ('a.py', None)
    """
    found = (arguments.get(key) for key in (*PATHS, *FOLDERS))
    return next((one for one in found if isinstance(one, str) and one and "\n" not in one), None)


def command_in(arguments: Mapping[str, Any]) -> str | None:
    """The command or code that arguments hold; a list of words is joined.

    >>> command_in({"cmd": ["ls", "-l"]}), command_in({"command": "view", "path": "a.py"})
    ('ls -l', None)
    """
    for key in COMMANDS:
        told = arguments.get(key)
        if isinstance(told, list) and told and all(isinstance(one, str) for one in told):
            shell = len(told) == 3 and told[1] in ("-c", "-lc")
            told = told[2] if shell else " ".join(told)
        if isinstance(told, str) and told.strip() and not (told in EDITOR and len(arguments) > 1):
            return told
    return None
