"""Where in a message a quote stands that a model copied from it.

White space of any kind and length is the same, and so are typographic and straight quotation marks; all
else, case included, must be equal. What is found is a slice of the message as it was written.
"""

from __future__ import annotations

import re
from functools import cached_property

from .prompt import MOST_TEXT

_STRAIGHT = str.maketrans("‘’‚‛“”„‟", "''''\"\"\"\"")
_SPACES = re.compile(r"\s+")


class Quoted:
    """A message in which quotes are looked for: the part of it that an evaluator was shown."""

    def __init__(self, text: str) -> None:
        self._text = text[:MOST_TEXT]

    def find(self, quote: str) -> tuple[int, int] | None:
        """The first place of a quote, from and up to; None where it is not there, or is only white space.

        >>> Quoted("She said:  “act\\n  now”!").find('"act now"')
        (11, 22)
        """
        wanted = even(quote).strip(" ")
        if not wanted:
            return None
        at = self._even.find(wanted)
        if at < 0:
            return None
        return self._places[at], self._places[at + len(wanted) - 1] + 1

    @cached_property
    def _even(self) -> str:
        return even(self._text)

    @cached_property
    def _places(self) -> list[int]:
        """Where each character of the even text stands in the message."""
        places: list[int] = []
        at = 0
        for match in _SPACES.finditer(self._text):
            places += range(at, match.start() + 1)
            at = match.end()
        return [*places, *range(at, len(self._text))]


def even(text: str) -> str:
    """A text as it is compared.

    >>> even("‘So\\t it  goes’")
    "'So it goes'"
    """
    return _SPACES.sub(" ", text.translate(_STRAIGHT))
