"""What a program gives a guard, checked: what is wrong is said, with what would be right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..config import Settings
from ..errors import BadUsage, did_you_mean
from .ladder import RUNGS
from .payload import TOO_DEEP, response_text

DEEPEST = 32


def checked(settings: Any) -> Settings:
    """The settings, or the defaults where none are given."""
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        right = "settings must be Settings, as ethogram.config.load_settings(...).settings gives"
        raise BadUsage(f"{right}; here is {type(settings).__name__}")
    return settings


def checked_rungs(rungs: Any) -> tuple[str, ...]:
    """Rungs of the ladder."""
    right = f"rungs must be a list of some of {', '.join(RUNGS)}, like ['nudge', 'ask']"
    if isinstance(rungs, str) or not isinstance(rungs, Sequence):
        raise BadUsage(f"{right}; here is {rungs!r}")
    for one in rungs:
        if one not in RUNGS:
            raise BadUsage(f"{right}; there is no {one!r}{did_you_mean(str(one), RUNGS)}")
    return tuple(rungs)


def checked_globs(name: str, given: Any) -> tuple[str, ...]:
    """Globs of paths."""
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    if not is_list or not all(isinstance(one, str) for one in given):
        raise BadUsage(f"{name} must be a list of globs, like ['src/**']; here is {given!r}")
    return tuple(given)


def check_texts(**given: Any) -> None:
    """Refuse what is neither a text nor None."""
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise BadUsage(f"{name} must be a text; here is {type(value).__name__}")


def check_step(tool: Any, arguments: Any, error: Any, exit_code: Any, call_id: Any) -> None:
    """Refuse what is no step."""
    if not isinstance(tool, str) or not tool:
        raise BadUsage(f"tool must be the name of a tool, like 'bash'; here is {tool!r}")
    if arguments is not None and not isinstance(arguments, Mapping):
        right = "arguments must be a mapping, like {'command': 'make test'}"
        raise BadUsage(f"{right}; here is {type(arguments).__name__}")
    if error is not None and not isinstance(error, str | bool | BaseException):
        right = "error must be a text, an exception, true, or None where all went well"
        raise BadUsage(f"{right}; here is {type(error).__name__}")
    if exit_code is not None and (isinstance(exit_code, bool) or not isinstance(exit_code, int)):
        raise BadUsage(f"exit_code must be a whole number, like 1; here is {exit_code!r}")
    check_texts(call_id=call_id)


def error_text(error: str | bool | BaseException, result: Any) -> str:
    """What went wrong, in words; what came out tells it where nothing else does.

    >>> error_text(KeyError("a"), None), error_text(True, {"stderr": "not found"})
    ("KeyError: 'a'", 'not found')
    """
    if isinstance(error, BaseException):
        return f"{type(error).__name__}: {error}"
    return error if isinstance(error, str) else response_text(result)


def plain(value: Any, deeper: int = DEEPEST) -> Any:
    """A value as JSON data: frameworks give messages, tuples and objects of their own.

    >>> plain({1: ("a", {"b"}), "at": None})
    {'1': ['a', ['b']], 'at': None}
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping) and deeper:
        return {str(name): plain(one, deeper - 1) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and deeper:
        return [plain(one, deeper - 1) for one in value]
    try:
        return str(value)
    except RecursionError:
        return TOO_DEEP
