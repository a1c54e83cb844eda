"""Exit codes, and errors for people and as JSON.

| code | means |
| --- | --- |
| 0 | fine |
| 1 | internal error, or no room for the output |
| 2 | bad input or bad usage |
| 3 | detections at or above `--fail-on` |
| 130, 141 | interrupted; the reader of the output left |
"""

from __future__ import annotations

import errno
import os
import sys

import click

from ..errors import BadInput, EthogramError, Fault, joined
from ..report.wording import printable
from .output import CannotWrite, drop, write_json, write_line, write_text

INTERNAL, BAD, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141
DEBUG = "ETHOGRAM_DEBUG"
_warned: set[str] = set()
"""Warnings of this command so far."""
_SPARK = "run ethogram spark analyze, which gives the same detections (docs/scaling.md)"
REMOVED = {
    "ethogram bucket": _SPARK,
    "ethogram merge": _SPARK,
    "ethogram analyze --bucket": _SPARK,
    "ethogram sweep --inside": "leave it out; sweep reads the events and finds the same",
    "ethogram patterns show --cypher": "run ethogram sweep --store neo4j://..., which adds EXHIBITS_PATTERN",
}
"""Options and commands that are gone, by their full name, and what to use instead."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def begin() -> None:
    """Forget the warnings of an earlier command in this process."""
    _warned.clear()


def warn(message: str, *, as_json: bool = False) -> None:
    """Write a warning to standard error, each one once per command."""
    if message not in _warned:
        _warned.add(message)
        if as_json:
            write_json(Fault("", 0, 0, message).to_dict(), to=sys.stderr)
        else:
            write_line(printable(message), to=sys.stderr)


def report_error(error: BaseException, *, as_json: bool) -> int:
    """Write what went wrong to standard error; return the exit code."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        drop(sys.stdout)
        return PIPE_CLOSED
    if isinstance(error, OSError) and not _names_a_file(error) and error.errno in NO_ROOM:
        error = CannotWrite(error.strerror or str(error))
    if isinstance(error, CannotWrite):
        drop(sys.stdout)
    try:
        return _report(error, as_json=as_json)
    except (OSError, CannotWrite):
        drop(sys.stderr)
        return _code(error)


def _report(error: BaseException, *, as_json: bool) -> int:
    if isinstance(error, KeyboardInterrupt | click.Abort):
        write_line("ethogram: interrupted", to=sys.stderr)
        return _code(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # a group called without a command
        write_line(str(error), to=sys.stderr)
        return BAD
    write_faults(error, as_json=as_json)
    if os.environ.get(DEBUG) and not isinstance(error, EthogramError | click.ClickException):
        import traceback

        write_text("".join(traceback.format_exception(error)), to=sys.stderr)
    return _code(error)


def _code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    if isinstance(error, EthogramError | click.ClickException):
        return error.exit_code
    return BAD if _names_a_file(error) or _is_no_text(error) else INTERNAL


def faults_of(error: BaseException) -> list[Fault]:
    """Everything an error reports, as faults.

    >>> [str(fault) for fault in faults_of(EthogramError("no such thing"))]
    ['no such thing']
    """
    if isinstance(error, BadInput):
        more = [Fault("", 0, 0, f"... and {error.more} more")] if error.more > 0 else []
        return [*error.faults, *more]
    if isinstance(error, EthogramError):
        return [Fault("", 0, 0, str(error))]
    if isinstance(error, click.ClickException):
        return [Fault("", 0, 0, _usage(error))]
    if isinstance(error, OSError) and _names_a_file(error):
        return [Fault(os.fsdecode(error.filename), 0, 0, error.strerror or str(error))]
    if _is_no_text(error):
        return [Fault("", 0, 0, "an argument has bytes that are no UTF-8; give it as UTF-8")]
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "" if os.environ.get(DEBUG) else f" (set {DEBUG}=1 for the traceback)"
    return [Fault("", 0, 0, f"internal error: {what}{hint}")]


def write_faults(error: BaseException, *, as_json: bool, prefix: str = "ethogram: ") -> None:
    """Write the faults of an error to standard error; `prefix` is for those of no file."""
    faults = faults_of(error)
    for fault in faults if as_json else joined(faults):
        if as_json:
            write_json(fault.to_dict(), to=sys.stderr)
        else:
            write_line(printable(str(fault) if fault.path else f"{prefix}{fault}"), to=sys.stderr)


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption):
        near = ", ".join(sorted(error.possibilities or ()))
        message = f"No such option: {error.option_name}" + (f" (Possible options: {near})" if near else "")
        message = removed(context, error.option_name) or message
    return message if context is None else f"{message}; see {context.command_path} --help"


def removed(context: click.Context | None, name: str) -> str:
    """What to use instead of an option or command that is gone; '' for others."""
    full = name if context is None else f"{context.command_path} {name}"
    return f"{full} was removed: {REMOVED[full]}" if full in REMOVED else ""


def _names_a_file(error: BaseException) -> bool:
    return isinstance(error, OSError) and isinstance(error.filename, str | bytes)


def _is_no_text(error: BaseException) -> bool:
    """Whether bytes of the command line, which Python holds as surrogates, were used as text."""
    return isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed"
