"""Shell completion for bash, zsh and fish: print the script, or install it for the user."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from ..errors import BadUsage
from .output import write_line

FILES = {
    "bash": (".bash_completions/ethogram.sh", ".bashrc", "source '{}'"),
    "zsh": (".zfunc/_ethogram", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/ethogram.fish", "", ""),
}
"""Shell -> script, settings file and its line that loads the script; both paths under the home folder."""


def show(app: click.Command) -> None:
    """Print the script for the current shell."""
    write_line(_script(app, _shell()))


def install(app: click.Command) -> None:
    """Write the script for the current shell, and load it in the settings of that shell."""
    shell = _shell()
    script, settings, line = FILES[shell]
    path = Path.home() / script
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_script(app, shell) + "\n", encoding="utf-8")
    if settings:
        file, line = Path.home() / settings, line.format(path)
        if line not in (file.read_text(encoding="utf-8") if file.exists() else ""):
            with file.open("a", encoding="utf-8") as out:
                out.write(f"\n{line}\n")
    write_line(f"{shell} completion installed in {path}; it works in new terminals")


def _script(app: click.Command, shell: str) -> str:
    completion = get_completion_class(shell)
    assert completion is not None  # click has all three
    return completion(app, {}, "ethogram", "_ETHOGRAM_COMPLETE").source()


def _shell() -> str:
    """The shell that started this process, or else that of $SHELL, as under a supervisor."""
    parent = ""
    with suppress(OSError):  # where there is no ps
        line = ["ps", "-o", "comm=", "-p", str(os.getppid())]
        parent = subprocess.run(line, capture_output=True, text=True, check=False).stdout
    for program in (parent, os.environ.get("SHELL", "")):
        if (name := Path(program.strip()).name.lstrip("-")) in FILES:
            return name
    raise BadUsage(f"no supported shell was detected: set SHELL to one of {', '.join(FILES)}")
