"""`ethogram`: finds the commands, runs one, and turns whatever happens into an exit code."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Annotated

import typer

import ethogram

from .. import cli
from .errors import begin, tell
from .output import CannotWrite, flush, make_streams_safe, write_line


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code (see cli/errors.py). `argv` defaults to the command line's."""
    return run(build_app, "ethogram", list(sys.argv[1:] if argv is None else argv))


def run(build: Callable[[], typer.Typer], name: str, args: list[str]) -> int:
    """Run one command of the app that `build` makes, called `name` in its help; the exit code."""
    try:
        make_streams_safe()
        begin()
        # Not app(): that would decide itself how errors look and what they exit with.
        command = typer.main.get_command(build())
        with command.make_context(name, args) as context:
            command.invoke(context)
        flush()
    except BaseException as error:
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        return _flushed(tell(error, as_json="--json" in args))
    return 0


def build_app() -> typer.Typer:
    """The app with every command that a file in this folder registers."""
    # Plain help and plain errors: the same text on a terminal, in a pipe and in a log.
    app = typer.Typer(
        name="ethogram",
        help="Finds behaviour over time that no single message or action shows.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        no_args_is_help=True,
    )
    app.callback()(_options)
    for module in _command_modules():
        module.register(app)
    return app


def _command_modules() -> Iterator[ModuleType]:
    for found in sorted(pkgutil.iter_modules(cli.__path__), key=lambda one: one.name):
        module = importlib.import_module(f"{cli.__name__}.{found.name}")
        if hasattr(module, "register"):
            yield module


def _show_version(asked: bool) -> None:
    if asked:
        write_line(f"ethogram {ethogram.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Finds behaviour over time that no single message or action shows."""


def _flushed(code: int) -> int:
    """The exit code, once what was written before the error has gone out too."""
    try:
        if sys.stdout is not None:
            flush()
    except (BrokenPipeError, CannotWrite) as error:
        return tell(error, as_json=False)
    return code
