"""Functions of Python source that we wrote ourselves, from a program's tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any


def functions(source: str, names: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """The functions that a source defines, by name; they see `names` and each other.

    The source is never a user's text: source.py writes it from nodes, and what a user wrote (names of
    signals, categories) is only ever a value in `names`. Nothing of it runs here: the code of each
    function is taken out of the compiled module.

    >>> functions("def f(x):\\n    return x + K", {"K": 2})["f"](1)
    3
    """
    module = compile(source, "<ethogram stream>", "exec", dont_inherit=True)
    seen: dict[str, Any] = dict(names)
    found = {
        code.co_name: FunctionType(code, seen) for code in module.co_consts if isinstance(code, CodeType)
    }
    seen.update(found)
    return dict(found)
