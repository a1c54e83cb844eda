"""`ethogram`: build the app, run one command, and turn whatever happens into an exit code."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Annotated

import typer
import typer.completion
from typer._completion_classes import completion_init

import ethogram

from .. import cli
from .errors import begin, report_error
from .help import Group
from .output import CannotWrite, flush, make_streams_safe, write_line

HELP = "Detect behaviour patterns over time in agent runs, chats and usage."


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
        if instruction := os.environ.get(COMPLETE):
            completion_init()
            return typer.completion.shell_complete(command, {}, name, COMPLETE, instruction)
        with command.make_context(name, args) as context:
            command.invoke(context)
        flush()
    except BaseException as error:
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        return _flushed(report_error(error, as_json="--json" in args))
    return 0


def build_app() -> typer.Typer:
    """The app with every command that a file in this folder registers."""
    # Plain help and plain errors: the same text on a terminal, in a pipe and in a log.
    app = typer.Typer(
        name="ethogram",
        help=HELP,
        cls=Group,
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
    for info in sorted(pkgutil.iter_modules(cli.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{cli.__name__}.{info.name}")
        if hasattr(module, "register"):
            yield module


COMPLETE = "_ETHOGRAM_COMPLETE"
"""The variable by which a shell asks for completions."""


def _show_version(chosen: bool) -> None:
    if chosen:
        write_line(f"ethogram {ethogram.__version__}")
        raise typer.Exit


def _install_completion(context: typer.Context, param: typer.CallbackParam, chosen: bool) -> None:
    completion_init()
    typer.completion.install_callback(context, param, chosen and _shell())


def _show_completion(context: typer.Context, param: typer.CallbackParam, chosen: bool) -> None:
    completion_init()
    typer.completion.show_callback(context, param, chosen and _shell())


def _shell() -> str:
    """The name of the shell that runs us; that of $SHELL where none does, as under a supervisor."""
    from typer._completion_shared import _get_shell_name

    from ..errors import BadUsage

    if shell := _get_shell_name() or os.path.basename(os.environ.get("SHELL", "")):  # noqa: PTH119
        return shell
    raise BadUsage("no shell was detected: set SHELL, like SHELL=/bin/bash")


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    install_completion: Annotated[
        bool,
        typer.Option("--install-completion", callback=_install_completion, help="Install shell completion."),
    ] = False,
    show_completion: Annotated[
        bool,
        typer.Option("--show-completion", callback=_show_completion, help="Print the completion script."),
    ] = False,
) -> None:
    """Detect behaviour patterns over time in agent runs, chats and usage."""


def _flushed(code: int) -> int:
    """The exit code, once what was written before the error has gone out too."""
    try:
        if sys.stdout is not None:
            flush()
    except (BrokenPipeError, CannotWrite) as error:
        return report_error(error, as_json=False)
    return code
