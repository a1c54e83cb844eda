"""Rule: a regular expression that is compiled at first use.

Compiling all of them takes longer than all else a hook's process does, and one step needs few.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any


class Rule:
    """Text and flags of a regular expression; the methods are those of `re.Pattern`.

    >>> Rule("b+").sub("c", "abba"), Rule("B", re.I).search("abba").start()
    ('aca', 1)
    """

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    fullmatch: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]
    findall: Callable[..., list[Any]]
    split: Callable[..., list[Any]]
    sub: Callable[..., str]

    def __init__(self, text: str, flags: int = 0) -> None:
        self.text, self.flags = text, flags

    def __getattr__(self, name: str) -> Any:
        # Called only for missing attributes: from then on the methods are those of the compiled pattern.
        if name not in Rule.__annotations__:
            raise AttributeError(name)
        compiled = re.compile(self.text, self.flags)
        self.__dict__ |= {annotation: getattr(compiled, annotation) for annotation in Rule.__annotations__}
        return self.__dict__[name]
