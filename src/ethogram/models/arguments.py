"""The path and the command in the arguments of a tool call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PATHS = ("path", "file_path", "filepath", "filename", "file_name", "file", "notebook_path", "target_file")
FOLDERS = ("directory", "dir", "folder", "dir_path", "cwd_path")
COMMANDS = ("command", "cmd", "bash_command", "shell_command", "script", "code")
_PATH_NAMES = frozenset((*PATHS, *FOLDERS))
EDITOR = frozenset(
    ("view", "create", "str_replace", "insert", "undo_edit", "delete", "rename", "write", "edit")
)
"""Commands of editors such as str_replace_editor, which no shell runs."""


def path_in(arguments: Mapping[str, Any]) -> str | None:
    """The file or folder that arguments name.

    >>> path_in({"file_path": "a.py"}), path_in({"command": "sed -i s/a/b/ x"})
    ('a.py', None)
    """
    if _PATH_NAMES.isdisjoint(arguments):  # as mostly, and quicker than to try each
        return None
    values = (arguments.get(key) for key in (*PATHS, *FOLDERS))
    return next((item for item in values if isinstance(item, str) and item and "\n" not in item), None)


def command_in(arguments: Mapping[str, Any]) -> str | None:
    """The command or code that arguments hold; a list of words is joined.

    >>> command_in({"cmd": ["ls", "-l"]}), command_in({"command": "view", "path": "a.py"})
    ('ls -l', None)
    """
    for key in COMMANDS:
        argument = arguments.get(key)
        if isinstance(argument, list) and argument and all(isinstance(item, str) for item in argument):
            shell = len(argument) == 3 and argument[1] in ("-c", "-lc")
            argument = argument[2] if shell else " ".join(argument)
        if isinstance(argument, str) and argument.strip() and not (argument in EDITOR and len(arguments) > 1):
            return argument
    return None
